"""The verdict on a variant: its kernels, as emitted, run on the CPU and compared.

A *match* says only what it covered; what can't be run says why.
"""

from __future__ import annotations

from typing import Any

from tvm import ir, tirx

from explorer.emulator import compiler as cc
from explorer.engine.isolate import Died, isolated
from explorer.engine.load import module
from explorer.engine.replay import scheduled_module
from explorer.engine.targets import tvm_target
from explorer.engine.trial import Trial
from explorer.model.loaded import Source
from explorer.model.result import Check
from explorer.model.target import Target
from explorer.primitives import AnyStep

FUNCTION_TIMEOUT_S = 120.0
"""After this a function's check is given up; its runs end far earlier."""


def check(
    source: Source,
    steps: tuple[AnyStep, ...],
    target: Target,
    sizes: dict[str, int],
    function: str = "",
) -> tuple[tuple[str, Check], ...]:
    """One verdict per PrimFunc of what `source` becomes after `steps` (or of `function` alone).

    `sizes` gives values to symbolic sizes; missing ones are chosen.  Raises LoadError.
    """
    return check_module(module(source), scheduled_module(source, steps), target, sizes, function)


def check_module(
    original: ir.IRModule,
    scheduled: ir.IRModule,
    target: Target,
    sizes: dict[str, int],
    function: str = "",
) -> tuple[tuple[str, Check], ...]:
    """`check` for modules at hand; `original` says what the functions should compute."""
    found = []
    for name in sorted(var.name_hint for var, _ in scheduled.functions_items()):
        if isinstance(scheduled[name], tirx.PrimFunc) and function in ("", name):
            found.append((name, _check_function(original, scheduled, target, sizes, name)))
    return tuple(found)


def _check_function(
    original: ir.IRModule, scheduled: ir.IRModule, target: Target, sizes: dict[str, int], name: str
) -> Check:
    why = _not_for_emulation(original, scheduled, target, name)
    if why:
        return Check(status="not_checked", detail=why)
    compiler = cc.find_compiler()
    if compiler is None:
        return Check(status="not_checked", detail=f"Not run: {cc.no_compiler()}.")
    made = tvm_target(target)

    def work() -> Check:
        return Trial(original, scheduled, name, target, made, compiler, sizes).verdict()

    try:
        return isolated(work, Check, FUNCTION_TIMEOUT_S)
    except Died as died:
        last = str(died).strip().splitlines()[-1]
        return Check(status="not_checked", detail=f"The check itself failed: {last}.")


def _not_for_emulation(
    original: ir.IRModule, scheduled: ir.IRModule, target: Target, name: str
) -> str:
    """Why a function can't be run as a CUDA kernel at all, or ""."""
    if target.kind != "cuda":
        return f"Not run: the emulator runs CUDA kernels, the target is {target.tag}."
    if name not in {var.name_hint for var, _ in original.functions_items()}:
        return "No reference: the module has no such function before scheduling."
    own: Any = (scheduled[name].attrs or {}).get("target")
    if own is not None and own.kind.name != "cuda":
        return f"Host function: its own target is {own.kind.name}."
    return ""
