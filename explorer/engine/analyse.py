"""What the compiler says about CUDA text: resources, PTX, SASS, occupancy and a roofline bound."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from tvm import tirx

from explorer.analysis.compiled import Resources, Sass, ptx_by_kernel, resources, sass_by_kernel
from explorer.analysis.extents import evaluate
from explorer.analysis.limits import limits_of
from explorer.analysis.occupancy import occupancy
from explorer.analysis.peaks import gpu
from explorer.analysis.roofline import roofline
from explorer.engine import disk_cache, nvrtc
from explorer.engine.blame import blame
from explorer.engine.build import build
from explorer.engine.load import module
from explorer.engine.replay import scheduled
from explorer.engine.work import work_of
from explorer.errors import ToolMissing
from explorer.model.analysis import Analysis, KernelAnalysis, Work
from explorer.model.loaded import Source
from explorer.model.result import Build, Kernel
from explorer.model.target import Target
from explorer.primitives import AnyStep

_TOOL_TIMEOUT_S = 60
_PTXAS = re.compile(r"^\s*ptxas (?:error|fatal)\s*:\s*")
_ENTRY = re.compile(r"Entry function '(\w+)'")
_KERNEL = re.compile(r"__global__ (?:__\w+__\([^)]*\)\s*|\w+\s+)*(\w+)\(")


def analyse_variant(
    source: Source, steps: tuple[AnyStep, ...], target: Target, sizes: dict[str, int]
) -> Analysis:
    """The analysis of what `source` becomes after `steps`.  Raises LoadError.

    About 2 s the first time; compiled text and disassembly are kept on disk by content.
    """
    built = build(source, steps, target, sizes)
    kernels = tuple(kernel for function in built.functions for kernel in function.kernels)
    if not built.source:
        return Analysis(
            status="unavailable", arch=target.arch, reason=built.reason or "There is no kernel."
        )
    live, _ = scheduled(source, steps)
    original = module(source)
    work: dict[str, Work] = {}
    for function in built.functions:
        func, before = live.mod[function.name], original[function.name]
        if isinstance(func, tirx.PrimFunc) and isinstance(before, tirx.PrimFunc):
            found = work_of(before, func, function.name, sizes)
            if len(found) == len(function.kernels):
                work |= {k.name: w for k, w in zip(function.kernels, found, strict=True)}
    made = analyse(built.source, target.arch, kernels, tag=target.tag, sizes=sizes, work=work)
    return made if made.status != "refused" else _traced(made, built, source, steps, target)


def _traced(
    found: Analysis, built: Build, source: Source, steps: tuple[AnyStep, ...], target: Target
) -> Analysis:
    """A refusal with the step that caused it."""
    for function in built.functions:
        if any(found.kernel in ("", kernel.name) for kernel in function.kernels):
            blamed = blame(source, steps, target, function.name, found.arch)
            if blamed is not None:
                reason = f"{found.reason} {blamed.sentence()}"
                return msgspec.structs.replace(
                    found, reason=reason, step=blamed.step, step_line=blamed.line
                )
    return found


def analyse(
    cuda_source: str,
    arch: str,
    launches: Sequence[Kernel] = (),
    *,
    tag: str = "",
    sizes: Mapping[str, int] | None = None,
    work: Mapping[str, Work] | None = None,
) -> Analysis:
    """Compile `cuda_source` for `arch` and say what became of each kernel.

    `launches` give block sizes and dynamic shared memory (occupancy), `tag` the GPU whose peaks
    count, `work` the operations and bytes by kernel (roofline).  A refusal is a value; so is a
    missing tool.
    """
    try:
        binary = nvrtc.compile_text(cuda_source, arch)
        if not binary.cubin:
            return _refused(cuda_source, arch, binary)
        sass = sass_by_kernel(disassembly(binary.cubin))
        compiler = f"NVRTC {nvrtc.version()}"
    except ToolMissing as missing:
        return Analysis(status="unavailable", arch=arch, reason=str(missing))
    by_name = {kernel.name: kernel for kernel in launches}
    order = {name: place for place, name in enumerate(by_name)}
    found = resources(binary.log)
    ptx_of = ptx_by_kernel(binary.ptx)
    return Analysis(
        status="analysed",
        arch=arch,
        compiler=compiler,
        kernels=tuple(
            _kernel(
                name, found[name], sass.get(name, Sass("", (), 0)), ptx_of.get(name, ""),
                by_name.get(name), arch, tag, sizes or {}, (work or {}).get(name),
            )
            for name in sorted(found, key=lambda name: order.get(name, len(order)))
        ),
    )  # fmt: skip


def _kernel(
    name: str, found: Resources, sass: Sass, ptx: str, launch: Kernel | None, arch: str, tag: str,
    sizes: Mapping[str, int], work: Work | None,
) -> KernelAnalysis:  # fmt: skip
    threads = None if launch is None else _count(launch.block, sizes)
    dynamic = None if launch is None else launch.dynamic_shared_bytes
    card = gpu(tag)
    return KernelAnalysis(
        name=name,
        registers=found.registers,
        spill_store_bytes=found.spill_store_bytes,
        spill_load_bytes=found.spill_load_bytes,
        stack_bytes=found.stack_bytes,
        static_shared_bytes=found.shared_bytes,
        dynamic_shared_bytes=dynamic,
        constant_bytes=found.constant_bytes,
        barriers=found.barriers,
        instructions=sass.instructions,
        ptx=ptx,
        sass=sass.text,
        sass_lines=sass.lines,
        threads=threads,
        blocks=None if launch is None else _count(launch.grid, sizes),
        occupancy=(
            None if not threads else
            occupancy(
                limits_of(arch), threads, found.registers, found.shared_bytes + (dynamic or 0)
            )
        ),
        roofline=None if work is None or card is None else roofline(work, card),
    )  # fmt: skip


def _count(extents: tuple[str, str, str], sizes: Mapping[str, int]) -> int | None:
    total = 1
    for text in extents:
        value = evaluate(text, sizes)
        if value is None:
            return None
        total *= value
    return total


def _refused(source: str, arch: str, binary: nvrtc.Binary) -> Analysis:
    lines = source.splitlines()
    line = binary.line if binary.line and binary.line <= len(lines) else None
    before = "\n".join(lines[:line]) if line else ""
    error = _PTXAS.sub("", binary.error).rstrip(".")
    names = _KERNEL.findall(before) or _ENTRY.findall(error)
    return Analysis(
        status="refused",
        arch=arch,
        compiler=f"NVRTC {nvrtc.version()}",
        reason=f"NVRTC refuses the text: {error}.",
        line=line,
        text=lines[line - 1].strip() if line else "",
        kernel=names[-1] if names else "",
        log=binary.log,
    )


def disassembly(cubin: bytes) -> str:
    """SASS with CUDA lines, from `nvdisasm -g -c`.  Raises ToolMissing."""
    tool = _nvdisasm()
    key = disk_cache.key("nvdisasm", str(len(cubin)), cubin.hex())
    kept = disk_cache.load(key, str)
    if kept is not None:
        return kept
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        try:
            done = subprocess.run(
                [str(tool), "-g", "-c", str(path)],
                capture_output=True, text=True, timeout=_TOOL_TIMEOUT_S, check=True,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as failure:
            raise ToolMissing("nvdisasm does not work here.", str(failure)) from failure
    disk_cache.store(key, done.stdout)
    return done.stdout


def _nvdisasm() -> Path:
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for tool in sorted(Path(place).glob("cu*/bin/nvdisasm*"), reverse=True):
            return tool
    raise ToolMissing(
        "nvdisasm is not installed.", "It prints the machine code.",
        "Install nvidia-cuda-nvdisasm as named in requirements.txt.",
    )  # fmt: skip
