"""Compile the CUDA text of every function with NVRTC: a build is only done when it compiles."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import msgspec

from explorer.engine import nvrtc
from explorer.engine.blame import blame
from explorer.engine.build import texts_by_function
from explorer.engine.replay import scheduled
from explorer.errors import ToolMissing
from explorer.model.loaded import Source
from explorer.model.result import Compiled
from explorer.model.target import Target
from explorer.primitives import AnyStep


def compile_check(
    source: Source, steps: tuple[AnyStep, ...], target: Target
) -> tuple[Compiled, ...]:
    """NVRTC's word on each function that has kernels; about 1.5 s each, kept on disk.

    A refusal names the step that caused it, for a few compilations more.

    Empty for llvm.  A missing or too new NVRTC is said in each answer, never raised.
    """
    if target.kind != "cuda":
        return ()
    live, nest = scheduled(source, steps)
    texts = texts_by_function(live.mod, nest, target)
    with ThreadPoolExecutor(max_workers=2) as pool:
        words = tuple(pool.map(lambda name: compiled(name, texts[name], target.arch), texts))
    return tuple(_traced(word, source, steps, target) for word in words)


def _traced(word: Compiled, source: Source, steps: tuple[AnyStep, ...], target: Target) -> Compiled:
    """A refusal with the step that caused it."""
    found = None
    if word.status == "refused":
        found = blame(source, steps, target, word.function, word.arch)
    if found is None:
        return word
    return msgspec.structs.replace(
        word, detail=f"{word.detail} {found.sentence()}", step=found.step, step_line=found.line
    )


def compiled(function: str, text: str, arch: str) -> Compiled:
    """NVRTC's word on one text; an architecture it no longer knows is checked as its oldest."""
    try:
        used = _nearest(arch)
        binary = nvrtc.compile_text(text, used)
    except ToolMissing as missing:
        return Compiled(function=function, status="not_compiled", detail=str(missing), arch=arch)
    if binary.cubin:
        detail = f"NVRTC {nvrtc.version()} compiled it for {used}."
        if used != arch:
            detail += f" It can't compile for {arch}, which is older."
        return Compiled(
            function=function, status="compiled", detail=detail, arch=used, log=binary.log
        )
    lines = text.splitlines()
    shown = lines[binary.line - 1].strip() if binary.line and binary.line <= len(lines) else ""
    return Compiled(
        function=function, status="refused", detail=f"NVRTC refuses the text: {binary.error}.",
        arch=used, line=binary.line, text=shown, log=binary.log,
    )  # fmt: skip


def _nearest(arch: str) -> str:
    known = nvrtc.architectures()
    if arch not in known and int(arch[3:].rstrip("af")) < int(known[0][3:]):
        return known[0]
    return arch
