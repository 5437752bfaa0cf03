"""An independent count of memory traffic: a kernel run on the emulated device, warp by warp.

None of the model's code takes part: the addresses are those that the compiled CUDA text touches.
"""

from __future__ import annotations

import ctypes
import functools
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from tvm import ir

from explorer.emulator import compiler as cc
from explorer.emulator import machine
from explorer.engine.isolate import isolated
from explorer.engine.lanes import Env
from explorer.engine.lower import lower
from explorer.engine.sample import launch_extents
from explorer.engine.targets import tvm_target
from explorer.engine.trial import Trial
from explorer.model.target import Target

_SOURCE = Path(__file__).with_name("counting.cc")


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Of one kernel: blocks that were run, and what their warps asked for."""

    blocks: float
    requests: float
    sectors: float
    shared_requests: float
    wavefronts: float


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """Of a function: sectors of global memory and wavefronts of shared memory in one call.

    `clocks` is what the busiest of `SMS` SMs needs for its share at two sectors or one wavefront a
    clock, `verdict` the check's status.
    """

    sectors: float
    wavefronts: float
    clocks: float
    verdict: str


SMS = 128


def count(original: ir.IRModule, scheduled: ir.IRModule, name: str, target: Target) -> Traffic:
    """Run a function in a process of its own and count."""
    compiler = cc.find_compiler()
    assert compiler is not None
    made = tvm_target(target)
    library = _library(compiler)
    sizes: dict[str, int] = {}

    def work() -> tuple[str, dict[str, Counts]]:
        machine.cc.runtime_library = lambda _: library  # type: ignore[assignment]
        check = Trial(original, scheduled, name, target, made, compiler, sizes).verdict()
        text = ctypes.CDLL(str(library))
        text.counted_text.restype = ctypes.c_char_p
        return check.status, msgspec.json.decode(text.counted_text(), type=dict[str, Counts])

    verdict, kernels = isolated(work, tuple[str, dict[str, Counts]], 300.0)  # type: ignore[arg-type]
    lowered = lower(name, scheduled, made)
    assert lowered.host is not None
    blocks: dict[str, Any] = {}
    for launch in lowered.host.launches:
        x, y, z = launch_extents(launch, Env(1, sizes))[0]
        blocks[launch.kernel] = (x or 1) * (y or 1) * (z or 1)
    return Traffic(
        sectors=sum(blocks[k] * c.sectors / c.blocks for k, c in kernels.items()),
        wavefronts=sum(blocks[k] * c.wavefronts / c.blocks for k, c in kernels.items()),
        clocks=sum(
            -(-blocks[k] // SMS) * (c.sectors / 2 + c.wavefronts) / c.blocks
            for k, c in kernels.items()
        ),
        verdict=verdict,
    )


@functools.cache
def _library(compiler: cc.Compiler) -> Path:
    """The emulated device with the counter, built once in a session."""
    out = Path(tempfile.mkdtemp(prefix="counting-")) / "counting.so"
    flags = ("-std=c++17", "-w", "-fPIC", "-fno-strict-aliasing", "-fno-rtti", "-O2", "-shared")
    include = f"-I{cc.HERE / 'runtime'}"
    subprocess.run(
        [*compiler.command, *flags, include, str(_SOURCE), "-o", str(out)], check=True, timeout=300
    )
    return out
