"""The contract of a static check, and what every check may look at.

A check is one file in this folder with `CODE` (the finding's code, equal to the file's name),
`TITLE`, a docstring of three paragraphs (what it is / why it matters / what to try) and

    def check(ctx: Context) -> Iterable[Finding]

Checks are pure: they look at the context and report; they change nothing and run nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from explorer.analysis.blocks import BlockFacts, FunctionFacts
from explorer.analysis.extents import evaluate
from explorer.analysis.kernel import Kernel
from explorer.analysis.limits import Limits, limits_of
from explorer.analysis.nests import Region, regions
from explorer.model.nest import Block, Function, Loop, Nest, Node
from explorer.model.result import Build, Finding, Severity
from explorer.model.target import Target


@dataclass(frozen=True, kw_only=True)
class Context:
    """Everything a check may look at.

    `original` and `scheduled` are the IRModules (opaque here), `nest` is the loop nest of the
    scheduled one, `came_bound` names the functions that had bound loops before, `sizes` are the
    values the user gave for symbolic sizes.  `kernels` are the lowered device functions on plain
    data, in the order in which the host launches them; there are none of a function that could
    not be lowered (`failures`) or when the target is no GPU.
    """

    original: Any
    scheduled: Any
    nest: Nest
    target: Target
    came_bound: frozenset[str] = frozenset()
    sizes: Mapping[str, int] = field(default_factory=dict)
    build: Build | None = None
    kernels: tuple[Kernel, ...] = ()
    touched: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By function that could be lowered: buffers in GPU memory that its host code uses itself."""
    host_loops: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """By function that could be lowered: name and extent of host loops around a launch."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """By function: TVM's text where lowering or code generation failed."""
    facts: Mapping[str, FunctionFacts] = field(default_factory=dict)
    """By PrimFunc: what its blocks read, write and compute."""

    @property
    def limits(self) -> Limits:
        """The limits of the target's architecture, with their source."""
        return limits_of(self.target.arch)

    def device_functions(self) -> Iterator[Function]:
        """PrimFuncs that are expected to become kernels."""
        if self.target.kind == "cuda":
            yield from (f for f in self.nest.functions if f.kind == "prim" and not f.host)

    def regions(self, function: Function) -> tuple[Region, ...]:
        """The parts of `function` that become kernels: each outermost bound loop."""
        return regions(function)

    def extent(self, loop: Loop) -> int | None:
        """The extent of `loop`, symbolic sizes filled in; None when one is not known."""
        if loop.extent_value is not None:
            return loop.extent_value
        return evaluate(loop.extent, self.sizes)

    def blocks(self) -> Iterator[tuple[Function, Block, BlockFacts]]:
        """Every computing block of the device functions: its function, nest node and facts."""
        for function in self.device_functions():
            nodes = {node.ref: node for node in function.nodes if isinstance(node, Block)}
            for fact in self.facts.get(function.name, FunctionFacts()).blocks:
                if fact.ref in nodes:
                    yield function, nodes[fact.ref], fact

    def kernels_of(self, function: str) -> tuple[Kernel, ...]:
        """The lowered kernels of one function, in launch order."""
        return tuple(kernel for kernel in self.kernels if kernel.function == function)

    def assuming(self, function: Function) -> str:
        """The sizes used for a function, for messages: " (with n = 128)", or ""."""
        used = [f"{name} = {self.sizes[name]}" for name in function.symbols if name in self.sizes]
        return f" (with {', '.join(used)})" if used else ""


class Check(Protocol):
    """A module of this folder."""

    CODE: str
    TITLE: str
    __doc__: str | None

    def check(self, ctx: Context) -> Iterable[Finding]:
        """The findings of this check."""


def finding(
    code: str,
    severity: Severity,
    function: Function | str,
    node: Node | str,
    message: str,
    cure: str = "",
    *,
    where: str = "",
    cure_id: str = "",
) -> Finding:
    """A `Finding` at a nest node, whose words for `where` are made from the node."""
    return Finding(
        code=code,
        severity=severity,
        function=function if isinstance(function, str) else function.name,
        where=where or (node if isinstance(node, str) else words(node)),
        message=message,
        cure=cure,
        node="" if isinstance(node, str) else node.id,
        cure_id=cure_id,
    )


def words(node: Node) -> str:
    """A node in words: "loop i (128)", "block C"."""
    if isinstance(node, Loop):
        return f"loop {node.name} ({node.extent})"
    return f"block {node.name}" if isinstance(node, Block) else f"statement {node.text}"
