"""The contract of a schedule primitive: a frozen value whose fields are TVM's own arguments.

A step says *what* with references; the live schedule (`explorer.engine.live.Live`) resolves them,
calls the method of TVM's Schedule named like the class tag, and notes the Python line it was.
The same class therefore serves clicking, replaying, importing a trace and exporting a script.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import msgspec

from explorer.errors import StepRefused
from explorer.model.nest import Function, Node
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives.fields import Field

MENUS = (
    "Bind to the GPU",
    "Shape the loop",
    "Run it differently",
    "Move the block",
    "Cache",
    "Reduction",
    "Annotate",
    "Layout",
    "Tensorize",
    "",
)
"""Menu headings in the order they are shown; "" hides a primitive from menus (imports only)."""


class Resolver(Protocol):
    """What a step may ask of the live schedule.  Random variables are opaque here."""

    def block(self, ref: BlockRef) -> Any:
        """The block variable for `ref`; refuses when it is gone."""

    def loop(self, ref: LoopRef) -> Any:
        """The loop variable for `ref`; refuses when it is gone or another loop is there."""

    def index_map(self, text: str, block: BlockRef) -> Any:
        """The index map a lambda says, over the index type of `block`; refuses other text."""

    def call(self, method: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call `sch.<method>`, note the line, and return the variables it made."""

    def iterators(self, ref: BlockRef) -> int:
        """How many iterators a block has; refuses when it is gone."""

    def constant_extent(self, ref: LoopRef, why: str) -> None:
        """Refuse a loop whose extent is not a number, for the reason `why`."""

    def need_intrinsics(self) -> None:
        """Make TVM's CUDA tensor instructions known; free after the first time."""

    def whole(self, strategy: str, function: str, target: str, rule: str) -> None:
        """Run a strategy's whole pass on one function; refuses where the pass does."""

    def transform(self, label: str, fn: Callable[[Any], Any], lines: list[str]) -> None:
        """Replace the whole module by `fn` of it; `lines` are the Python that does the same."""


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """Something that can be done with a selected node: a ready step, or one that needs values.

    `key` is the single letter that does it from the graph; `group` is the menu heading.
    `step` is None when the form of `op` must be filled first; `known` holds the fields already set.
    """

    op: str
    label: str
    group: str
    step: Any = None
    known: dict[str, Any] = {}
    key: str = ""
    refusal: str = ""
    """Set when it is known not to apply: the control is shown disabled with this sentence."""


class Step(msgspec.Struct, frozen=True, tag_field="op"):
    """Base of all primitives.  The class tag is the name of the TVM Schedule method.

    Subclasses list their fields in the order of TVM's signature, under TVM's names, with TVM's
    defaults; defaults are left out of the rendered line.
    """

    MENU: ClassVar[str] = ""
    """Menu heading in the user interface, one of `MENUS`."""

    BY_NAME: ClassVar[frozenset[str]] = frozenset()
    """Required fields that read better as keywords, e.g. {"factors"}."""

    STARRED: ClassVar[str] = ""
    """The field whose items TVM takes as separate arguments, e.g. "loops" of fuse."""

    form: ClassVar[tuple[Field, ...]] = ()
    """How each field is shown and read, in field order; the UI, the CLI and the docs use it."""

    @classmethod
    def op(cls) -> str:
        """The tag: the name of the schedule method."""
        return str(cls.__struct_config__.tag)

    def refs(self) -> tuple[BlockRef | LoopRef, ...]:
        """Every block and loop the step touches, in field order."""
        found: list[BlockRef | LoopRef] = []
        for name in self.__struct_fields__:
            value = getattr(self, name)
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, (BlockRef, LoopRef)):
                    found.append(item)
        return tuple(found)

    def func(self) -> str:
        """The function the step works on ("" when it has no reference)."""
        for ref in self.refs():
            return ref.func if isinstance(ref, BlockRef) else ref.block.func
        return str(getattr(self, "function", ""))

    def apply(self, live: Resolver) -> tuple[Any, ...]:
        """Resolve the references and call the method; returns the variables TVM made.

        Raises StepRefused when a reference is gone or TVM refuses.
        """
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for name, default in zip(self.__struct_fields__, defaults_of(type(self)), strict=True):
            value = getattr(self, name)
            if default is not msgspec.NODEFAULT and value == default:
                continue
            resolved = self.argument(live, name, value)
            if name == self.STARRED:
                args.extend(resolved)
            elif default is msgspec.NODEFAULT and not kwargs and name not in self.BY_NAME:
                args.append(resolved)
            else:
                kwargs[name] = resolved
        return live.call(self.op(), *args, **kwargs)

    def argument(self, live: Resolver, name: str, value: Any) -> Any:
        """The value of field `name` as TVM takes it: references become variables."""
        return _resolve(live, value)

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """What this primitive could do with `node`, from the nest alone (no TVM)."""
        return []


def defaults_of(cls: type[Step]) -> list[Any]:
    """Default of each field, NODEFAULT where it is required."""
    missing = len(cls.__struct_fields__) - len(cls.__struct_defaults__)
    return [msgspec.NODEFAULT] * missing + list(cls.__struct_defaults__)


def _resolve(live: Resolver, value: Any) -> Any:
    if isinstance(value, LoopRef):
        return live.loop(value)
    if isinstance(value, BlockRef):
        return live.block(value)
    if isinstance(value, tuple):
        return [_resolve(live, item) for item in value]
    return value


_AXIS = re.compile(r"(blockIdx|threadIdx)\.[xyz]|vthread(\.[xyz])?")


def check_thread_axis(axis: str) -> None:
    """Refuse a thread axis CUDA does not have; TVM 0.27 accepts any text.

    Raises StepRefused.
    """
    if not _AXIS.fullmatch(axis):
        raise StepRefused(
            f'"{axis}" is not a thread axis.',
            "CUDA has blockIdx and threadIdx with .x, .y and .z; TVM adds vthread.x/.y/.z.",
            "Pick one of these.",
        )
