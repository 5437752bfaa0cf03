"""Each primitive does what its name says: its line, and what it leaves in the module."""

from __future__ import annotations

from typing import Any

import pytest
import tvm

from explorer.engine.live import Live
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives import STEPS, Step, decode_steps, encode_steps
from tests.engine import kernels

PADDED = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(x: T.Buffer((128,), "int32"), y: T.Buffer((140,), "int32")):
        for i in range(140):
            with T.sblock("y"):
                vi = T.axis.remap("S", [i])
                y[vi] = T.if_then_else(6 <= vi and vi < 134, x[vi - 6], 0)
"""
SHIFTED = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((12, 16), "float32"), C: T.Buffer((10, 16), "float32")):
        B = T.sblock_alloc_buffer((12, 16))
        for i, j in T.grid(12, 16):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)
        for i, j in T.grid(10, 16):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + B[vi + 1, vj] + B[vi + 2, vj]
"""
BIAS = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(
        A: T.Buffer((16, 8), "float32"),
        b: T.Buffer((16,), "float32"),
        D: T.Buffer((16,), "float32"),
    ):
        C = T.sblock_alloc_buffer((16,))
        for i, k in T.grid(16, 8):
            with T.sblock("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]
        for i in range(16):
            with T.sblock("D"):
                vi = T.axis.remap("S", [i])
                D[vi] = C[vi] + b[vi]
"""
DOT = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4,), "int8"), B: T.Buffer((16, 4), "int8"), D: T.Buffer((16,), "int32")):
        C = T.sblock_alloc_buffer((16,), "int32", scope="local")
        A_shared = T.sblock_alloc_buffer((4,), "int8", scope="shared")
        B_shared = T.sblock_alloc_buffer((16, 4), "int8", scope="shared")
        for k in range(4):
            with T.sblock("A_shared"):
                vk = T.axis.remap("S", [k])
                A_shared[vk] = A[vk]
        for i, k in T.grid(16, 4):
            with T.sblock("B_shared"):
                vi, vk = T.axis.remap("SS", [i, k])
                B_shared[vi, vk] = B[vi, vk]
        for i in range(16):
            with T.sblock("C_init"):
                vi = T.axis.remap("S", [i])
                C[vi] = 0
        for i, k in T.grid(16, 4):
            with T.sblock("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                C[vi] = C[vi] + T.Cast("int32", A_shared[vk]) * T.Cast("int32", B_shared[vi, vk])
        for i in range(16):
            with T.sblock("D"):
                vi = T.axis.remap("S", [i])
                D[vi] = C[vi]
"""

M, H, P, S, B_ = kernels.MATMUL, kernels.CHAIN, PADDED, SHIFTED, BIAS
C, B, D, E = (BlockRef(name) for name in "CBDE")


def at(block: BlockRef, depth: int) -> LoopRef:
    """The loop at `depth` around `block`."""
    return LoopRef(block, depth)


DONE: list[tuple[str, tuple[Step, ...], Step, str, str]] = [
    (M, (), STEPS["split"](at(C, 0), (None, 32)), "i_0, i_1 = sch.split(i, factors=[None, 32])",
     "for i_0, i_1, j, k in T.grid(3, 32, 80, 64)"),
    (M, (), STEPS["fuse"]((at(C, 0), at(C, 1))), "i_j_fused = sch.fuse(i, j)",
     "T.grid(7680, 64)"),
    (M, (), STEPS["reorder"]((at(C, 2), at(C, 0))), "sch.reorder(k, i)", "for k, j, i in T.grid"),
    (M, (), STEPS["bind"](at(C, 0), "threadIdx.x"), 'sch.bind(i, "threadIdx.x")',
     'T.thread_binding(96, thread="threadIdx.x")'),
    (M, (), STEPS["vectorize"](at(C, 1)), "sch.vectorize(j)", "T.vectorized(80)"),
    (M, (), STEPS["unroll"](at(C, 2)), "sch.unroll(k)", "T.unroll(64)"),
    (M, (), STEPS["parallel"](at(C, 0)), "sch.parallel(i)", "T.parallel(96)"),
    (M, (), STEPS["add_unit_loop"](C), "u = sch.add_unit_loop(C)", "T.grid(96, 80, 64, 1)"),
    (M, (), STEPS["loop_partition"](at(C, 0), (64, None)),
     "i0, i1 = sch.loop_partition(i, factors=[64, None])", "range(64, 96)"),
    (H, (), STEPS["merge"]((at(B, 0), at(D, 0))), "i_m = sch.merge(i, i_1)", "for i_m in"),
    (S, (), STEPS["compute_at"](B, at(C, 0)), "sch.compute_at(B, i)",
     "for ax0, ax1 in T.grid(3, 16)"),
    (S, (STEPS["compute_inline"](B), STEPS["cache_write"](C, 0, "local")),
     STEPS["reverse_compute_inline"](BlockRef("C_local")),
     "sch.reverse_compute_inline(C_local)", "C[vi, vj] = A[vi, vj]"),
    (H, (STEPS["compute_inline"](B),), STEPS["reverse_compute_at"](D, at(C, 0)),
     "sch.reverse_compute_at(D, i)", "for ax0 in range(64)"),
    (H, (), STEPS["compute_inline"](B), "sch.compute_inline(B)", "A[vi, 63 - vj] * T.float32(2.0)"),
    (B_, (), STEPS["cache_write"](D, 0, "local"), 'D_local = sch.cache_write(D, 0, "local")',
     'T.sblock_alloc_buffer((16,), scope="local")'),
    (M, (), STEPS["cache_read"](C, 0, "shared"), 'A_shared = sch.cache_read(C, 0, "shared")',
     "A_shared[v0, v1] = A[v0, v1]"),
    (H, (), STEPS["cache_read"](D, "B", "local", (D,)),
     'B_local = sch.cache_read(D, "B", "local", consumer_blocks=[D])',
     "B_local[v0, v1] = B[v0, v1]"),
    (H, (), STEPS["set_scope"](B, 0, "shared"), 'sch.set_scope(B, 0, "shared")',
     'T.sblock_alloc_buffer((128, 64), scope="shared")'),
    (M, (), STEPS["decompose_reduction"](C, at(C, 2)), "C_init = sch.decompose_reduction(C, k)",
     'T.sblock("C_update")'),
    (M, (), STEPS["rfactor"](at(C, 2), 0), "C_rf = sch.rfactor(k, 0)",
     "T.sblock_alloc_buffer((64, 96, 80))"),
    (M, (), STEPS["annotate"](at(C, 2), "hint", (0, 1)), 'sch.annotate(k, "hint", [0, 1])',
     '"hint": [0, 1]'),
    (M, (STEPS["annotate"](C, "hint", 1.5),), STEPS["unannotate"](C, "hint"),
     'sch.unannotate(C, "hint")', 'T.sblock("C")'),
    (M, (), STEPS["blockize"](at(C, 1)), "C_o = sch.blockize(j)", 'T.sblock("C_o")'),
    (H, (), STEPS["storage_align"](B, 0, -2, 32, 8),
     "sch.storage_align(B, 0, axis=-2, factor=32, offset=8)", '"buffer_dim_align"'),
    (M, (), STEPS["reindex"](C, ("read", 0)), 'sch.reindex(C, ("read", 0))', "A_reindex"),
    (H, (), STEPS["reindex_cache_read"](B, 0, "shared", "lambda i, j: (j, i)"),
     'sch.reindex_cache_read(B, 0, "shared", lambda i, j: (j, i))',
     "T.sblock_alloc_buffer((64, 128), scope=\"shared\")"),
    (H, (), STEPS["reindex_cache_write"](B, 0, "local", "lambda i, j: (j, i)"),
     'sch.reindex_cache_write(B, 0, "local", lambda i, j: (j, i))',
     "T.sblock_alloc_buffer((64, 128), scope=\"local\")"),
    (H, (), STEPS["transform_layout"](B, ("write", 0), "lambda i, j: (j, i)"),
     'sch.transform_layout(B, ("write", 0), lambda i, j: (j, i))',
     "B = T.sblock_alloc_buffer((64, 128))"),
    (H, (), STEPS["transform_layout"](B, ("write", 0), "lambda i, j: (i, j // 5, j % 5)", 0.0),
     'lambda i, j: (i, j // 5, j % 5), pad_value=0.0)', "B = T.sblock_alloc_buffer((128, 13, 5))"),
    (H, (), STEPS["transform_block_layout"](B, "lambda i, j: (i * 64 + j,)"),
     "sch.transform_block_layout(B, lambda i, j: (i * 64 + j,))", "range(8192)"),
    (M, (), STEPS["pad_einsum"](C, (1, 1, 48)), "sch.pad_einsum(C, [1, 1, 48])",
     'T.sblock("A_pad")'),
    (P, (), STEPS["decompose_padding"](BlockRef("y"), at(BlockRef("y"), 0)),
     "sch.decompose_padding(y, i)", "y_pad_const"),
    (M, (), STEPS["reorder_block_iter_var"](C, (2, 0, 1)),
     "sch.reorder_block_iter_var(C, [2, 0, 1])", 'T.axis.remap("RSS", [k, i, j])'),
    (S, (STEPS["compute_at"](B, at(C, 0)),), STEPS["rolling_buffer"](B, 0),
     "sch.rolling_buffer(B, 0)", "% 3"),
    (B_, (), STEPS["fuse_reduction_epilogue"](C, D), "sch.fuse_reduction_epilogue(C, D)", "b[vi]"),
    (M, (), STEPS["unsafe_hide_buffer_access"](C, "read", (1,)),
     'sch.unsafe_hide_buffer_access(C, "read", [1])', "T.reads(A[vi, vk])"),
    (H, (), STEPS["unsafe_set_dtype"](B, 0, "float16"), 'sch.unsafe_set_dtype(B, 0, "float16")',
     'T.sblock_alloc_buffer((128, 64), "float16")'),
    (M, (), STEPS["read_at"](at(C, 0), C, 0, "shared"), 'sch.read_at(i, C, 0, "shared")',
     "A_shared"),
    (M, (), STEPS["write_at"](at(C, 0), C, 0, "shared"), 'sch.write_at(i, C, 0, "shared")',
     "C_shared"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "before", "step", "line", "left"),
    DONE,
    ids=[f"{case[2].op()}-{n}" for n, case in enumerate(DONE)],
)
def test_a_step_is_its_line_and_leaves_its_mark(
    text: str, before: tuple[Step, ...], step: Step, line: str, left: str
) -> None:
    live = Live(kernels.module(text))
    for earlier in before:
        live, _ = live.apply(earlier)
    live, _ = live.apply(step)
    assert line in live.lines[-1]
    assert left in live.mod.script()
    scope: dict[str, Any] = {"tvm": tvm, "sch": tvm.s_tir.Schedule(kernels.module(text))}
    exec("\n".join(live.lines), scope)
    tvm.ir.assert_structural_equal(scope["sch"].mod, live.mod)
    assert decode_steps(encode_steps((*before, step))) == (*before, step)


def test_tensorize_imports_tvms_instructions_in_its_script() -> None:
    live = Live(kernels.module(DOT))
    live, _ = live.apply(STEPS["tensorize"](at(C, 1), "dp4a_s8s8s32"))
    assert "from tvm.s_tir.tensor_intrin import cuda as _intrinsics" in live.lines
    assert live.lines[-1] == 'sch.tensorize(k, "dp4a_s8s8s32")'
    assert "__dp4a" in live.mod.script()
    after, _ = live.apply(STEPS["unroll"](at(BlockRef("C_o"), 0)))  # copies after tensorize
    assert "T.unroll(16)" in after.mod.script()


def test_every_primitive_is_tried_here() -> None:
    tried = {case[2].op() for case in DONE}
    elsewhere = {"tensorize", "default_gpu_schedule", "dlight_rule"}
    assert set(STEPS) <= tried | elsewhere
