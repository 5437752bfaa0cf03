"""Peak rates of this machine's processor, measured once: what its rooflines are made of.

No data sheet says what a processor (or the part that a virtual machine gets) can do, so loops
tell: independent multiply-adds in registers, and reading or copying more memory than any cache
holds.  They are compiled by TVM's LLVM for exactly this processor (the copy is the C library's).
What is reached is no hard limit: `explorer.race.bound` allows for that.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import msgspec
import numpy as np
import tvm
import tvm_ffi
from tvm import ir, tirx
from tvm.script import from_source
from tvm.target import Target as TvmTarget

from explorer.engine import disk_cache
from explorer.engine.isolate import Died, isolated
from explorer.engine.race_material import Material
from explorer.model.analysis import Roofline, Work
from explorer.race.bound import Bound, bound_of
from explorer.runners.llvm import cpu_name

LANES = (64, 128, 256)
"""Independent sums of one thread: enough for the latency of 128-, 256- and 512-bit registers."""
CHAIN = 32
STEPS = 100_000
TRIES = 8
"""The best of so many counts: whatever disturbs a try only makes it slower."""
LEAST_BYTES, MOST_BYTES = 128 << 20, 512 << 20
MEASURE_S = 60.0
AGAIN_S = 600.0
"""Peaks measured while the machine was busy are measured again after so long."""
_KNOWN = ("float32", "float64", "int32", "int64", "bool")
"""Types that are no faster than float32; for others no peak was measured."""

_FMA = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({threads}, {lanes}), "float32")):
    for t in T.parallel({threads}):
        with T.sblock("fma"):
            vt = T.axis.spatial({threads}, t)
            acc = T.sblock_alloc_buffer(({lanes},), "float32", scope="local")
            for v in T.vectorized({lanes}):
                acc[v] = A[vt, v]
            for s in range({steps}):
                for v in T.vectorized({lanes}):
                    acc[v] = {chain}
            for v in T.vectorized({lanes}):
                A[vt, v] = acc[v]
"""
_READ = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({threads}, {rows}, 64), "float32"), B: T.Buffer(({threads}, 64), "float32")):
    for t in T.parallel({threads}):
        with T.sblock("read"):
            vt = T.axis.spatial({threads}, t)
            acc = T.sblock_alloc_buffer((64,), "float32", scope="local")
            for v in T.vectorized(64):
                acc[v] = T.float32(0)
            for r in range({rows} // 8):
                for v in T.vectorized(64):
                    acc[v] = acc[v] + {sum}
            for v in T.vectorized(64):
                B[vt, v] = acc[v]
"""


class Peaks(msgspec.Struct, frozen=True, kw_only=True):
    """Rates that were reached: float32 multiply-adds (two operations each), bytes of memory."""

    one_core_gflops: float
    gflops: float
    gbs: float
    cores: int
    date: str
    quiet: bool
    """Nothing else ran to speak of."""
    at_s: float


def bound(work: Work, material: Material, cache: str, device: str) -> Bound | None:
    """The bound of a function on this processor; None where its types have no measured peak.

    Measures the peaks when they are not known yet, which takes about 2 s.
    """
    if any(param.dtype not in _KNOWN for param in material.subject.params):
        return None
    found = peaks()
    if found is None:
        return None
    double = any(param.dtype == "float64" for param in material.subject.params)
    gflops = found.gflops / 2 if double else found.gflops
    one_core = found.one_core_gflops / 2 if double else found.one_core_gflops
    compute = work.flops / (gflops * 1e3)
    memory = (work.read_bytes + work.written_bytes) / (found.gbs * 1e3)
    kind = "float64" if double else "float32"
    line = Roofline(
        gpu=device, work=work, compute_us=compute, memory_us=memory,
        bound_us=max(compute, memory), limited_by="compute" if compute > memory else "memory",
        peak_tflops=gflops / 1e3, peak_gbs=found.gbs,
        source=f"peaks measured here on {found.date}{'' if found.quiet else ', while busy'}: "
        f"{gflops:.0f} GFLOP/s of {kind} multiply-adds on {found.cores} cores "
        f"({one_core:.0f} on one), memory at {found.gbs:.1f} GB/s",
    )  # fmt: skip
    return bound_of(
        line, cache, _cache_bytes(), measured=True, quiet=found.quiet, one_core_gflops=one_core
    )  # fmt: skip


def peaks() -> Peaks | None:
    """The peaks of this machine, kept on disk; None when they could not be measured."""
    kept = disk_cache.load(_name(), Peaks)
    if kept is not None and (kept.quiet or abs(time.time() - kept.at_s) < AGAIN_S):
        return kept
    try:
        found = isolated(measure, Peaks, MEASURE_S)
    except Died:
        return kept
    if kept is not None:  # the same machine: the better rate is nearer to the truth
        found = msgspec.structs.replace(
            found, gbs=max(found.gbs, kept.gbs), gflops=max(found.gflops, kept.gflops),
            one_core_gflops=max(found.one_core_gflops, kept.one_core_gflops),
        )  # fmt: skip
    disk_cache.store(_name(), found)
    return found


def doubt() -> None:
    """Something ran faster than these peaks: measure again the next time."""
    kept = disk_cache.load(_name(), Peaks)
    if kept is not None:
        disk_cache.store(_name(), msgspec.structs.replace(kept, quiet=False, at_s=0.0))


def measure() -> Peaks:
    """Run both loops.  In a process of its own: TVM's threads don't survive a later fork."""
    cores, load = _cores(), os.getloadavg()[0]
    one_core = max(_gflops(1, lanes) for lanes in LANES)
    every_core = max(_gflops(cores, lanes) for lanes in LANES)
    return Peaks(
        one_core_gflops=one_core, gflops=max(one_core, every_core),
        gbs=max(_read_gbs(cores), _copy_gbs(cores)), cores=cores,
        date=datetime.now(UTC).date().isoformat(), quiet=load <= cores / 2, at_s=time.time(),
    )  # fmt: skip


def _gflops(threads: int, lanes: int) -> float:
    chain = "acc[v]"
    for _ in range(CHAIN):
        chain = f"T.fma({chain}, T.float32(0.999), T.float32(0.001))"
    steps = STEPS // CHAIN
    call = _built(_FMA.format(threads=threads, lanes=lanes, steps=steps, chain=chain))
    start = tvm.runtime.tensor(np.ones((threads, lanes), np.float32))
    return 2 * threads * lanes * steps * CHAIN / _best(lambda: call(start)) / 1e9


def _read_gbs(threads: int) -> float:
    rows = _plenty() // (threads * 64 * 4) // 8 * 8
    terms = " + ".join(f"A[vt, r * 8 + {at}, v]" for at in range(8))
    call = _built(_READ.format(threads=threads, rows=rows, sum=f"({terms})"))
    read = tvm.runtime.empty((threads, rows, 64), "float32", tvm.cpu())
    read.copyfrom(np.ones((threads, rows, 64), np.float32))
    out = tvm.runtime.empty((threads, 64), "float32", tvm.cpu())
    return threads * rows * 64 * 4 / _best(lambda: call(read, out)) / 1e9


def _copy_gbs(threads: int) -> float:
    """Bytes read and written; NumPy lets other threads run while it copies."""
    half = np.ones((threads, _plenty() // 2 // threads), np.uint8)
    other = half.copy()
    with ThreadPoolExecutor(threads) as pool:
        seconds = _best(lambda: list(pool.map(np.copyto, other, half)))
    return 2 * half.nbytes / seconds / 1e9


def _plenty() -> int:
    """Bytes that no cache holds."""
    return min(max(4 * (_cache_bytes() or 0), LEAST_BYTES), MOST_BYTES)


def _best(call: Any) -> float:
    """Seconds of the fastest of TRIES calls, after one that warms up."""
    call()
    least = float("inf")
    for _ in range(TRIES):
        start = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - start)
    return least


def _built(text: str) -> Any:
    processor = str(tvm_ffi.get_global_func("target.llvm_get_system_cpu")())
    func = from_source(text).with_attr("global_symbol", "main")
    target = TvmTarget({"kind": "llvm", "mcpu": processor})
    return tirx.build(ir.IRModule({"main": func}), target=target)["main"]


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _cache_bytes() -> int | None:
    """The last-level cache; None when the system does not tell."""
    try:
        return os.sysconf("SC_LEVEL3_CACHE_SIZE") or os.sysconf("SC_LEVEL2_CACHE_SIZE") or None
    except (ValueError, OSError):
        return None


def _name() -> str:
    """The file of this machine's peaks."""
    return disk_cache.key("cpu peaks", os.uname().nodename, cpu_name(), version("apache-tvm"))
