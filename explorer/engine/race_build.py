"""Variants made ready to run: built for a device, exported to a file for another machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tvm import ir, tirx
from tvm.support import tar

from explorer.emulator import compiler as cc
from explorer.engine import cuda_compile
from explorer.engine.build import build_module
from explorer.engine.build_llvm import not_for_processor
from explorer.engine.failures import last_line
from explorer.engine.lower import LOWERING_ERRORS, only
from explorer.engine.race_line import NotLoaded
from explorer.engine.replay import State, replay
from explorer.engine.targets import tvm_target
from explorer.experiment import Variant
from explorer.model.loaded import Source
from explorer.model.result import FunctionBuild
from explorer.model.target import Target


@dataclass
class Starter:
    """A variant of one function: its module, or why it can't start."""

    name: str
    mod: ir.IRModule | None = None
    reason: str = ""
    state: State | None = None
    """Where the module is from, for words about it."""


def starters(
    source: Source, variants: tuple[Variant, ...], target: Target, sizes: dict[str, int],
    function: str,
) -> dict[str, list[Starter]]:  # fmt: skip
    """The variants of each function that some variant builds (or of `function`), in order.

    CUDA variants are built far enough to know that there is a kernel; code is made where it runs.
    """
    made: list[tuple[str, State, dict[str, FunctionBuild], str]] = []
    for variant in variants:
        done = replay(source, variant.steps)
        refusal = done.refusals[0].sentence() if done.refusals else ""
        if target.kind == "llvm":
            functions = _for_processor(done.live.mod)
        else:
            functions = build_module(done.live.mod, done.state.nest, target, sizes).functions
        made.append((variant.name, done.state, {each.name: each for each in functions}, refusal))
    names: dict[str, None] = {function: None} if function else {}
    if not function:
        for _, _, known, _ in made:
            names |= {name: None for name, each in known.items() if each.status != "skipped"}
    return {
        name: [_starter(variant, state, known.get(name), refusal)
               for variant, state, known, refusal in made]
        for name in names
    }  # fmt: skip


def _for_processor(mod: ir.IRModule) -> tuple[FunctionBuild, ...]:
    """Every PrimFunc has code for a processor, until its build says otherwise."""
    return tuple(
        FunctionBuild(
            name=str(var.name_hint),
            status="built" if isinstance(func, tirx.PrimFunc) else "skipped",
        )
        for var, func in mod.functions_items()
    )


def _starter(variant: str, state: State, function: FunctionBuild | None, refusal: str) -> Starter:
    if refusal:
        return Starter(variant, reason=f"A step does not apply. {refusal}")
    if function is None:
        return Starter(variant, reason="This variant has no such function.")
    if function.status != "built":
        return Starter(variant, reason=f"Not built. {function.reason}")
    return Starter(variant, state.live.mod, state=state)


def compile_for(starter: Starter, function: str, target: Target, triple: str = "") -> Any:
    """The runtime module of a variant.  Raises NotLoaded."""
    assert starter.mod is not None
    try:
        return runtime_module(only(starter.mod, function), target, triple)
    except LOWERING_ERRORS as failure:
        if target.kind == "llvm" and starter.state is not None:
            shown = starter.state.nest.function(function)
            if shown is not None:
                raise NotLoaded(f"Not built. {not_for_processor(shown, failure)}") from None
        raise NotLoaded(f"Not built for the device. {last_line(str(failure))}") from None


def runtime_module(mod: ir.IRModule, target: Target, triple: str = "") -> Any:
    """What can be loaded on a device, here or elsewhere.  Raises one of LOWERING_ERRORS."""
    if target.kind == "cuda":
        cuda_compile.use_nvrtc(target.arch)
    return tirx.build(mod, target=tvm_target(target, triple))


def export(built: Any, folder: Path, name: str, *, link: bool) -> Path:
    """The module as a file for another machine.  Raises one of LOWERING_ERRORS.

    With `link` it is a shared library, made by the C++ compiler here; else the object files, which
    the server links with a C++ compiler of its own.
    """
    path = folder / f"{name}{'.so' if link else '.tar'}"
    if link:
        built.export_library(str(path))
    else:
        built.export_library(str(path), fcompile=tar.tar)
    return path


def can_link(triple: str, own: str) -> bool:
    """The C++ compiler here makes libraries for that processor."""
    return cc.find_compiler() is not None and _machine(triple) == _machine(own)


def _machine(triple: str) -> str:
    parts = triple.split("-")
    return f"{parts[0]} {'linux' in parts}"
