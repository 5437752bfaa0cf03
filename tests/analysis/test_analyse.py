"""NVRTC, ptxas and nvdisasm read back: resources, PTX, SASS, refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tvm import s_tir

from explorer.analysis.kernel import requests
from explorer.analysis.memory import global_pattern, shared_pattern
from explorer.engine import analyse as engine
from explorer.engine.analyse import analyse
from explorer.engine.load import module
from explorer.engine.lower import lower
from explorer.engine.nvrtc import compile_text
from explorer.engine.sample import kernels_of
from explorer.engine.targets import tvm_target
from explorer.engine.work import work_of
from explorer.model.loaded import Source
from explorer.model.result import Kernel
from explorer.targets.limits import complete

TWO = """
extern "C" __global__ void __launch_bounds__(256) copy(const float* A, float* B) {
  __shared__ float tile[256];
  tile[threadIdx.x] = A[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  B[blockIdx.x * 256 + threadIdx.x] = tile[255 - threadIdx.x];
}
extern "C" __global__ void __launch_bounds__(1024, 2) crowded(float* A, int n) {
  float keep[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) keep[i] = A[threadIdx.x + i * 1024];
  for (int r = 0; r < n; ++r) {
#pragma unroll
    for (int i = 0; i < 64; ++i) keep[i] = keep[i] * keep[(i * 7 + 3) % 64] + keep[(i + 1) % 64];
  }
#pragma unroll
  for (int i = 0; i < 64; ++i) A[threadIdx.x + i * 1024] = keep[i];
}
"""
LAUNCHES = (
    Kernel(name="copy", grid=("8", "1", "1"), block=("256", "1", "1"), shared_bytes=1024),
    Kernel(name="crowded", grid=("1", "1", "1"), block=("1024", "1", "1"), shared_bytes=0),
)


def test_resources_ptx_and_sass_of_each_kernel() -> None:
    result = analyse(TWO, "sm_89", LAUNCHES)
    assert result.status == "analysed"
    copy, crowded = result.kernels
    assert (copy.name, crowded.name) == ("copy", "crowded")
    assert 4 <= copy.registers <= 40
    assert copy.static_shared_bytes == 1024
    assert copy.barriers == 1
    assert copy.spill_store_bytes == 0
    assert copy.constant_bytes >= 16
    assert ".entry copy" in copy.ptx
    assert "crowded" not in copy.ptx
    assert "STS" in copy.sass
    assert "BAR.SYNC" in copy.sass
    assert copy.instructions > 5
    assert len(copy.sass_lines) == len(copy.sass.splitlines())
    assert {4, 6} <= set(copy.sass_lines)  # the lines of the store to and the load from the tile
    assert crowded.registers <= 64  # 65536 for 1024 threads
    assert crowded.spill_store_bytes > 0
    assert crowded.spill_load_bytes > 0
    assert copy.occupancy is not None
    assert copy.occupancy.blocks_per_sm == 6
    assert copy.roofline is None  # no GPU was named


def test_a_refused_text_names_line_and_kernel() -> None:
    result = analyse(TWO.replace("tile[255 - threadIdx.x]", "title[0]"), "sm_89")
    assert result.status == "refused"
    assert result.line == 6
    assert "title" in result.text
    assert result.kernel == "copy"
    assert "title" in result.reason


def test_ptxas_refusal_names_the_kernel() -> None:
    result = analyse(TWO.replace("float tile[256]", "float tile[16384]"), "sm_89")
    assert result.status == "refused"
    assert result.kernel == "copy"
    assert "shared data" in result.reason


def test_an_architecture_nvrtc_does_not_know_is_a_reason() -> None:
    result = analyse(TWO, "sm_35")
    assert result.status == "unavailable"
    assert "sm_35" in result.reason


MATMUL = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((128, 64), "float32"), B: T.Buffer((64, 96), "float32"),
             C: T.Buffer((128, 96), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i, j, k in T.grid(128, 96, 64):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def tiled(source: str, bind: tuple[str, str] = ("blockIdx.x", "threadIdx.x")) -> s_tir.Schedule:
    sch = s_tir.Schedule(module(Source(source)))
    loops = sch.get_loops(sch.get_sblock("C"))
    sch.bind(loops[0], bind[0])
    sch.bind(loops[1], bind[1])
    return sch


def test_work_of_a_matmul() -> None:
    sch = tiled(MATMUL)
    (work,) = work_of(module(Source(MATMUL))["main"], sch.mod["main"], "main", {})
    assert work.flops == 2 * 128 * 96 * 64
    assert work.read_bytes == 4 * (128 * 64 + 64 * 96)
    assert work.written_bytes == 4 * 128 * 96
    assert work.left_out == ()


PADDED = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8, 16), "float32"), C: T.Buffer((8, 16), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(8, 16):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.if_then_else(vj >= 4, A[vi, vj - 4], T.float32(0))
"""


def test_work_counts_distinct_elements_inside_the_buffer() -> None:
    sch = tiled(PADDED)
    (work,) = work_of(module(Source(PADDED))["main"], sch.mod["main"], "main", {})
    assert work.read_bytes == 4 * 8 * 12
    assert work.written_bytes == 4 * 8 * 16


def test_variant_has_a_bound_with_its_source() -> None:
    from explorer.model.refs import BlockRef, LoopRef
    from explorer.primitives.bind import Bind

    steps = tuple(
        Bind(LoopRef(BlockRef("C"), depth), axis)
        for depth, axis in ((0, "blockIdx.x"), (1, "threadIdx.x"))
    )
    target = complete("nvidia/geforce-rtx-4090", "sm_89", {})
    result = engine.analyse_variant(Source(MATMUL), steps, target, {})
    (kernel,) = result.kernels
    assert kernel.threads == 96
    assert kernel.blocks == 128
    bound = kernel.roofline
    assert bound is not None
    moved = 4 * (128 * 64 + 64 * 96 + 128 * 96)
    assert bound.memory_us == pytest.approx(moved / (1008 * 1e3))
    assert bound.compute_us == pytest.approx(2 * 128 * 96 * 64 / (82.6 * 1e6))
    assert bound.bound_us == max(bound.memory_us, bound.compute_us)
    assert "white paper" in bound.source


TILE = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64, 1024), "float32"), B: T.Buffer((64, 1024), "float32")):
        T.func_attr({"tirx.noalias": True})
        S = T.sblock_alloc_buffer((64, 1024), "float32", scope="shared")
        for b in T.thread_binding(64, thread="blockIdx.x"):
            for t in T.thread_binding(1024, thread="threadIdx.x"):
                with T.sblock("S"):
                    vb, vt = T.axis.remap("SS", [b, t])
                    S[vb, vt] = A[READ]
            for t in T.thread_binding(1024, thread="threadIdx.x"):
                with T.sblock("B"):
                    vb, vt = T.axis.remap("SS", [b, t])
                    B[vb, vt] = S[vb, SHARED] + T.float32(1)
"""


@pytest.mark.parametrize(
    ("read", "shared", "sectors", "ways"),
    [
        ("vb, vt", "vt", 4, 1),
        ("vb, vt", "vt % 32 * 32 + vt // 32", 4, 32),
        ("vb, vt", "(vt * 2) % 1024 + vt // 512", 4, 2),
        ("vb, vt % 32 * 32 + vt // 32", "vt", 32, 1),
        ("vb, 0", "vt", 1, 1),
    ],
)
def test_agrees_with_cuxray_on_the_cubin(
    tmp_path: Path, read: str, shared: str, sectors: int, ways: int
) -> None:
    """The symbolic index of the IR, by hand, and what cuxray reads from the machine code."""
    target = complete("nvidia/geforce-rtx-4090", "sm_89", {})
    mod = module(Source(TILE.replace("READ", read).replace("SHARED", shared)))
    lowered = lower("main", mod, tvm_target(target))
    (kernel,) = kernels_of("main", lowered, {})
    loads = [a for a in kernel.accesses if a.kind == "load" and requests(kernel, a)]
    (from_global,) = [global_pattern(a) for a in loads if a.is_global]
    (from_shared,) = [shared_pattern(a) for a in loads if a.is_shared]
    assert from_global is not None
    assert from_shared is not None
    assert from_global.sectors == sectors
    assert from_shared.ways == ways

    cubin = tmp_path / "kernel.cubin"
    cubin.write_bytes(compile_text(lowered.source, "sm_89").cubin)
    seen = cuxray(cubin, "1024")["access"]
    assert seen["worst_bank_conflict_ways"] == ways
    assert bool(seen["uncoalesced_global_accesses"]) is (sectors > 8)


def cuxray(cubin: Path, threads: str) -> dict:  # type: ignore[type-arg]
    tools = engine._nvdisasm().parent
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [str(Path(sys.executable).parent / "cuxray"), "report", "--json", "--fast", "--no-cache",
         "--threads", threads, str(cubin)],
        capture_output=True, text=True, check=True, timeout=120, env=environment,
    )  # fmt: skip
    return json.loads(done.stdout)["units"][0]["kernels"][0]
