"""All findings of a variant: the static checks, run on its nest and on its lowered kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm_ffi
from tvm import ir, tirx

from explorer import findings as checks
from explorer.analysis.blocks import FunctionFacts
from explorer.engine.blocks import facts, leaves
from explorer.engine.extract import nest_of
from explorer.engine.lanes import Env
from explorer.engine.lower import Lowered, lower
from explorer.engine.sample import kernels_of
from explorer.engine.targets import tvm_target
from explorer.engine.visible import unseen
from explorer.findings.base import Context
from explorer.model.result import Build, Finding
from explorer.model.target import Target


def findings(
    original: ir.IRModule,
    scheduled: ir.IRModule,
    target: Target,
    sizes: Mapping[str, int],
    build: Build | None = None,
    lowered: Mapping[str, Lowered] | None = None,
) -> tuple[Finding, ...]:
    """What the static checks see in `scheduled`, worst first.

    `sizes` are the user's values for symbolic sizes.  `lowered` is what the build lowered, by
    function; functions that are not in it are lowered here (about 3 ms each).
    """
    return checks.run(context(original, scheduled, target, sizes, build, lowered))


def context(
    original: ir.IRModule,
    scheduled: ir.IRModule,
    target: Target,
    sizes: Mapping[str, int],
    build: Build | None = None,
    lowered: Mapping[str, Lowered] | None = None,
) -> Context:
    """What the checks look at."""
    nest = nest_of(scheduled, scheduled.script(show_meta=False))
    parts = dict(lowered or {})
    if target.kind == "cuda":
        built_for = tvm_target(target)
        for func in nest.functions:
            wanted = func.kind == "prim" and not func.host and func.name not in parts
            if wanted and isinstance(scheduled[func.name], tirx.PrimFunc):
                parts[func.name] = lower(func.name, scheduled, built_for)
    return Context(
        original=original,
        scheduled=scheduled,
        nest=nest,
        came_bound=frozenset(
            var.name_hint for var, func in original.functions_items()
            if isinstance(func, tirx.PrimFunc) and _has_threads(func)
        ),
        target=target,
        sizes=sizes,
        build=build,
        kernels=tuple(
            kernel for name, part in parts.items() for kernel in kernels_of(name, part, sizes)
        ),
        touched={
            name: tuple(part.host.touched) for name, part in parts.items() if part.host is not None
        },
        host_loops={
            name: tuple(dict.fromkeys(
                (loop, str(extent))
                for launch in part.host.launches for loop, extent in launch.loops
            ))
            for name, part in parts.items() if part.host is not None
        },
        facts={
            var.name_hint: function_facts(func, var.name_hint, dict(sizes))
            for var, func in scheduled.functions_items() if isinstance(func, tirx.PrimFunc)
        },
        failures={name: str(p.failure) for name, p in parts.items() if p.failure is not None},
    )  # fmt: skip


def function_facts(func: tirx.PrimFunc, name: str, sizes: dict[str, int]) -> FunctionFacts:
    """What the blocks of one PrimFunc read, write and compute."""
    found = leaves(func, name)
    made: dict[str, None] = {}
    tvm_ffi.structural_walk(
        func.body, (tirx.AllocBuffer, lambda stmt: made.setdefault(str(stmt.buffer.name)))
    )
    env = Env(1, sizes)
    return FunctionFacts(
        blocks=tuple(facts(leaf, env) for leaf in found),
        unseen=tuple(unseen(found, func.params, sizes)),
        statement_buffers=tuple(made),
    )


def _has_threads(func: tirx.PrimFunc) -> bool:
    found: list[Any] = []

    def visit(loop: Any) -> None:
        if loop.thread_binding is not None:
            found.append(loop)

    tvm_ffi.structural_walk(func.body, (tirx.For, visit))
    return bool(found)
