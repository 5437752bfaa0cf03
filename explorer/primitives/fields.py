"""The vocabulary of arguments: each field reads text or a value, or refuses in one sentence.

The same field drives the form, the command line and the docs.  `convert` takes what a form or a
command gives; `choices` are what is worth offering, best first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from explorer.errors import StepRefused
from explorer.model.nest import Block, Function, Loop, Node
from explorer.model.refs import BlockRef, LoopRef, parse_ref

AXES = (
    "blockIdx.x", "blockIdx.y", "blockIdx.z",
    "threadIdx.x", "threadIdx.y", "threadIdx.z",
    "vthread.x", "vthread.y", "vthread.z",
)  # fmt: skip
SCOPES = (
    "shared", "local", "shared.dyn", "global",
    "wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator", "warp", "m16n8k8.matrixC",
)  # fmt: skip
_SCOPE = re.compile(r"[a-zA-Z][\w.]*")


@dataclass(frozen=True)
class Choice:
    """Something a field offers: the value, and the text a user sees."""

    value: Any
    label: str


@dataclass(frozen=True)
class Field:
    """An argument: its name is TVM's, `label` what the form says, `help` one sentence more."""

    name: str
    label: str
    help: str = ""

    def convert(self, value: Any, function: Function) -> Any:
        """`value` as the step takes it.  Raises StepRefused in one sentence."""
        raise NotImplementedError

    def choices(self, function: Function, node: Node | None = None) -> list[Choice]:
        """What is worth offering for a selected `node`; empty when anything may be typed."""
        return []

    def refuse(self, value: Any, wants: str) -> StepRefused:
        """The refusal of this field, naming the argument."""
        return StepRefused(f'{self.label}: "{value}" is not {wants}.')


@dataclass(frozen=True)
class LoopField(Field):
    """A loop above a block, as "main/C[0]:i", a loop's name where only one has it, or a LoopRef."""

    def convert(self, value: Any, function: Function) -> LoopRef:
        """The reference of one loop of the function."""
        if isinstance(value, LoopRef):
            return value
        ref = parse_ref(str(value))
        if isinstance(ref, LoopRef):
            return ref
        named = [
            n.ref for n in function.nodes if isinstance(n, Loop) and n.ref and n.name == str(value)
        ]
        if len(named) == 1:
            return named[0]
        if named:
            raise StepRefused(
                f"{self.label}: {len(named)} loops are called {value}.",
                do=f"Name one by its block: {', '.join(str(ref) for ref in named[:3])}.",
            )
        raise self.refuse(value, f"a loop of {function.name}")

    def choices(self, function: Function, node: Node | None = None) -> list[Choice]:
        """Every loop above a block."""
        return [
            Choice(n.ref, f"{n.name} ({n.extent}) of {n.ref.block.name}")
            for n in function.nodes
            if isinstance(n, Loop) and n.ref is not None
        ]


@dataclass(frozen=True)
class BlockField(Field):
    """A block, as "main/C", a block's name where only one has it, or a BlockRef."""

    def convert(self, value: Any, function: Function) -> BlockRef:
        """The reference of one block of the function."""
        if isinstance(value, BlockRef):
            return value
        ref = parse_ref(str(value))
        if isinstance(ref, BlockRef):
            return ref
        named = [n.ref for n in function.nodes if isinstance(n, Block) and n.name == str(value)]
        if len(named) == 1:
            return named[0]
        if named:
            raise StepRefused(
                f"{self.label}: {len(named)} blocks are called {value}.",
                do=f"Name one by its place: {', '.join(str(ref) for ref in named[:3])}.",
            )
        raise self.refuse(value, f"a block of {function.name}")

    def choices(self, function: Function, node: Node | None = None) -> list[Choice]:
        """Every block."""
        return [Choice(n.ref, n.name) for n in function.nodes if isinstance(n, Block)]


@dataclass(frozen=True)
class NodeField(Field):
    """A block or a loop."""

    def convert(self, value: Any, function: Function) -> BlockRef | LoopRef:
        """The reference of a block or loop."""
        for field in (BlockField(self.name, self.label), LoopField(self.name, self.label)):
            try:
                return field.convert(value, function)
            except StepRefused:
                continue
        raise self.refuse(value, f"a block or loop of {function.name}")

    def choices(self, function: Function, node: Node | None = None) -> list[Choice]:
        """Every block, then every loop."""
        blocks = BlockField(self.name, self.label).choices(function, node)
        return blocks + LoopField(self.name, self.label).choices(function, node)


@dataclass(frozen=True)
class ListField(Field):
    """Several of another field, separated by commas; `least` is how many are needed."""

    item: Field = Field("", "")
    least: int = 1

    def convert(self, value: Any, function: Function) -> tuple[Any, ...]:
        """Each part read by `item`."""
        parts = _parts(value)
        if len(parts) < self.least:
            raise StepRefused(f"{self.label}: at least {self.least} are needed.")
        return tuple(self.item.convert(part, function) for part in parts)

    def choices(self, function: Function, node: Node | None = None) -> list[Choice]:
        """What `item` offers."""
        return self.item.choices(function, node)


@dataclass(frozen=True)
class BufferField(Field):
    """A buffer of the selected block: its place in the block's reads or writes, or its name."""

    side: str = "read"
    """"read" or "write"."""

    def convert(self, value: Any, function: Function) -> int | str:
        """A place (from 0) or a buffer's name."""
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        text = str(value).strip()
        if text.isdigit():
            return int(text)
        if any(buffer.name == text for buffer in function.buffers):
            return text
        raise self.refuse(value, f"a buffer of {function.name}")

    def choices(self, function: Function, node: Node | None = None) -> list[Choice]:
        """What the selected block reads or writes."""
        if not isinstance(node, Block):
            return []
        accesses = node.reads if self.side == "read" else node.writes
        return [Choice(n, access.region) for n, access in enumerate(accesses)]


@dataclass(frozen=True)
class SlotField(Field):
    """A buffer as ("read" or "write", place), the way layout primitives name it."""

    def convert(self, value: Any, function: Function) -> tuple[str, int]:
        """("read" or "write", place)."""
        parts = _parts(value)
        if len(parts) == 2 and parts[0] in ("read", "write") and str(parts[1]).isdigit():
            return str(parts[0]), int(parts[1])
        raise self.refuse(value, 'a buffer like "read, 0" or "write, 0"')

    def choices(self, function: Function, node: Node | None = None) -> list[Choice]:
        """All the selected block reads, then all it writes."""
        if not isinstance(node, Block):
            return []
        return [
            Choice((side, n), f"{side}s {access.region}")
            for side, accesses in (("read", node.reads), ("write", node.writes))
            for n, access in enumerate(accesses)
        ]


@dataclass(frozen=True)
class FactorsField(Field):
    """Extents, outermost first, e.g. "8, 128", "None, 128" or "-1 128"; one may be left to TVM."""

    def convert(self, value: Any, function: Function) -> tuple[int | None, ...]:
        """Two or more factors; None where TVM works one out."""
        factors: list[int | None] = []
        for part in _parts(value):
            if part is None or str(part).strip().lower() in ("none", "-1", "?"):
                factors.append(None)
                continue
            number = _integer(part)
            if number is None or number < 1:
                raise self.refuse(part, "a factor: whole numbers from 1 up, or None")
            factors.append(number)
        if len(factors) < 2:
            raise StepRefused(f"{self.label}: two or more are needed, e.g. None, 128.")
        if factors.count(None) > 1:
            raise StepRefused(f"{self.label}: only one may be None, TVM works out that one.")
        return tuple(factors)

    def choices(self, function: Function, node: Node | None = None) -> list[Choice]:
        """Splits in two, sizes that divide first."""
        if not isinstance(node, Loop):
            return []
        extent = node.extent_value
        return [Choice((None, n), _split_label(extent, n)) for n in suggested_factors(extent)]


@dataclass(frozen=True)
class AxisField(Field):
    """A CUDA thread axis or a virtual thread."""

    def convert(self, value: Any, function: Function) -> str:
        """The axis as TVM names it."""
        if value in (*AXES, "vthread"):
            return str(value)
        raise self.refuse(value, f"a thread axis; these are: {', '.join(AXES)}")

    def choices(self, function: Function, node: Node | None = None) -> list[Choice]:
        """Every axis."""
        return [Choice(axis, axis) for axis in AXES]


@dataclass(frozen=True)
class ScopeField(Field):
    """A memory scope: shared, local, global, or a tensor-core fragment."""

    def convert(self, value: Any, function: Function) -> str:
        """The scope as TVM names it."""
        if isinstance(value, str) and _SCOPE.fullmatch(value.strip()):
            return value.strip()
        raise self.refuse(value, "a memory scope like shared or local")

    def choices(self, function: Function, node: Node | None = None) -> list[Choice]:
        """The usual scopes."""
        return [Choice(scope, scope) for scope in SCOPES]


@dataclass(frozen=True)
class IntField(Field):
    """A whole number from `least` to `most` (both allowed)."""

    least: int = 0
    most: int = 2**31 - 1

    def convert(self, value: Any, function: Function) -> int:
        """A whole number within the limits."""
        number = _integer(value)
        if number is None or not self.least <= number <= self.most:
            raise self.refuse(value, f"a whole number from {self.least} to {self.most}")
        return number


@dataclass(frozen=True)
class ChoiceField(Field):
    """One of a few texts."""

    options: tuple[str, ...] = ()

    def convert(self, value: Any, function: Function) -> str:
        """One of the options."""
        if value in self.options:
            return str(value)
        raise self.refuse(value, f"one of {', '.join(self.options)}")

    def choices(self, function: Function, node: Node | None = None) -> list[Choice]:
        """All options."""
        return [Choice(option, option) for option in self.options]


@dataclass(frozen=True)
class FlagField(Field):
    """Yes or no."""

    def convert(self, value: Any, function: Function) -> bool:
        """True or False."""
        known = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        found = known.get(str(value).strip().lower())
        if found is None:
            raise self.refuse(value, "yes or no")
        return found

    def choices(self, function: Function, node: Node | None = None) -> list[Choice]:
        """Yes and no."""
        return [Choice(True, "yes"), Choice(False, "no")]


@dataclass(frozen=True)
class TextField(Field):
    """Any short text; `examples` are offered."""

    examples: tuple[str, ...] = ()

    def convert(self, value: Any, function: Function) -> str:
        """The text without blanks around it."""
        text = str(value).strip()
        if not text or len(text) > 500:
            raise StepRefused(f"{self.label}: a text of 1 to 500 characters is needed.")
        return text

    def choices(self, function: Function, node: Node | None = None) -> list[Choice]:
        """The examples."""
        return [Choice(example, example) for example in self.examples]


@dataclass(frozen=True)
class ValueField(Field):
    """An annotation's value: a whole number, a decimal, yes or no, a list of these, else text."""

    def convert(self, value: Any, function: Function) -> Any:
        """The value that the text writes."""
        if isinstance(value, (list, tuple)):
            return tuple(_plain(item) for item in value)
        if not isinstance(value, str):
            return value
        text = value.strip()
        if text.startswith("[") and text.endswith("]"):
            return tuple(_plain(part) for part in _parts(text[1:-1]))
        return _plain(text)


def suggested_factors(extent: int | None) -> list[int]:
    """Inner sizes worth offering for a loop of `extent` iterations: divisors first, then warps.

    Powers of two from 2 to 1024 that divide, then other divisors up to 1024, then 32 to 256 even
    where they leave a tail; smaller powers too where nothing divides.  Empty for 1 and 2.
    """
    warps = [32, 64, 128, 256]
    if extent is None:
        return warps
    divisors = [n for n in range(2, min(extent, 1024) + 1) if extent % n == 0 and n < extent]
    powers = [n for n in divisors if n & (n - 1) == 0]
    rest = [n for n in divisors if n not in powers]
    tails = [n for n in ([] if divisors else [2, 4, 8, 16]) + warps if n < extent]
    tails = [n for n in tails if n not in divisors]
    return powers + rest + tails


def _split_label(extent: int | None, inner: int) -> str:
    """ "8 × 128", and what is wasted when it does not divide: "5 × 16 (12 % idle)"."""
    if extent is None:
        return f"? × {inner}"
    outer = -(-extent // inner)
    idle = outer * inner - extent
    waste = f" ({max(1, round(100 * idle / (outer * inner)))} % idle)" if idle else ""
    return f"{outer} × {inner}{waste}"


def _parts(value: Any) -> list[Any]:
    """A sequence as it is; text cut at commas and blanks, brackets dropped."""
    if isinstance(value, str):
        return [part for part in re.split(r"[,\s]+", value.strip(" []()")) if part]
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _integer(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    text = str(value).strip()
    return int(text) if re.fullmatch(r"-?\d{1,18}", text) else None


def _plain(value: Any) -> Any:
    """Text as the number or truth value it writes, else the text without its quotes."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text in ("True", "False"):
        return text == "True"
    number = _integer(text)
    if number is not None:
        return number
    if re.fullmatch(r"-?(\d+\.\d*|\.\d+|\d+)([eE][-+]?\d+)?", text):
        return float(text)
    return text.strip("\"'")
