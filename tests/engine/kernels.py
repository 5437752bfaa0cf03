"""Modules under test, as text in today's dialect."""

from __future__ import annotations

from typing import Any

MATMUL = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(
        A: T.Buffer((96, 64), "float32"),
        B: T.Buffer((64, 80), "float32"),
        C: T.Buffer((96, 80), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        for i, j, k in T.grid(96, 80, 64):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""

CHAIN = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(
        A: T.Buffer((128, 64), "float32"),
        D: T.Buffer((128, 64), "float32"),
        E: T.Buffer((128,), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        B = T.sblock_alloc_buffer((128, 64))
        C = T.sblock_alloc_buffer((128, 64))
        for i, j in T.grid(128, 64):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(128, 64):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, 63 - vj] + T.float32(2)
        for i, j in T.grid(128, 64):
            with T.sblock("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] + B[vi, vj]
        for i, k in T.grid(128, 64):
            with T.sblock("E"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    E[vi] = T.float32(0)
                E[vi] = E[vi] + C[vi, vk]
"""

TWO_FUNCTIONS = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def fwd(A: T.Buffer((64, 48), "float32"), B: T.Buffer((64, 48), "float32")):
        for i, j in T.grid(64, 48):
            with T.sblock("out"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.tanh(A[vi, vj])

    @T.prim_func(private=True, s_tir=True)
    def bwd(G: T.Buffer((64, 48), "float32"), D: T.Buffer((64, 48), "float32")):
        X = T.sblock_alloc_buffer((64, 48))
        for i, j in T.grid(64, 48):
            with T.sblock("out"):
                vi, vj = T.axis.remap("SS", [i, j])
                X[vi, vj] = G[vi, vj] * T.float32(2)
        for i, j in T.grid(64, 48):
            with T.sblock("out"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = X[vi, vj] + T.float32(1)
"""

STUBBORN = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(
        A: T.Buffer((128, 128), "float32"),
        B: T.Buffer((128,), "float32"),
        C: T.Buffer((128,), "float32"),
        n: T.int32,
    ):
        for i, j in T.grid(128, 128):
            with T.sblock("in_place"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = A[vi, vj] * T.float32(2)
        for i, k in T.grid(128, 128):
            with T.sblock("no_init"):
                vi, vk = T.axis.remap("SR", [i, k])
                B[vi] = B[vi] + A[vi, vk]
        for i, j in T.grid(16, 8):
            with T.sblock("product"):
                vi = T.axis.spatial(128, i * j)
                C[vi] = A[vi, 0] + T.float32(1)
        for i in range(n):
            for j in range(i):
                with T.sblock("triangle"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    A[vi, vj] = T.float32(0)
"""

MIXED = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((128, 64), "float32"), B: T.Buffer((64, 128), "float16"), c: T.handle):
        T.func_attr({"tirx.noalias": True, "tirx.is_scheduled": True})
        n = T.int32()
        s0 = T.int32()
        C = T.match_buffer(c, (n, 128), "bool", strides=(s0, 1))
        for i in T.thread_binding(64, thread="blockIdx.x"):
            for j in T.thread_binding(128, thread="threadIdx.x"):
                with T.sblock("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = T.Cast("float16", A[vj, vi])
        for i in T.serial(n, annotations={"pragma_x": 1}):
            for j in T.unroll(128):
                with T.sblock("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.where(i < 5)
                    T.sblock_attr({"stage": [0, 1]})
                    C[vi, vj] = T.bool(False)
        with T.sblock("opaque"):
            T.reads(A[0:128, 0:64])
            T.writes(B[0:64, 0:128])
            X = T.sblock_alloc_buffer((8,), "float32", scope="shared")
            for p in T.vectorized(8):
                X[p] = T.float32(1)
            while X[0] < T.float32(3):
                X[0] = X[0] + T.float32(1)
            if X[0] > T.float32(1):
                for q in range(3):
                    B[0, q] = T.Cast("float16", X[q])

    @T.prim_func(private=True)
    def lowered(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
        bx = T.launch_thread("blockIdx.x", 4)
        tx = T.launch_thread("threadIdx.x", 32)
        for k in range(2):
            B[bx * 32 + tx] = A[bx * 32 + tx]

    @T.prim_func(s_tir=True)
    def bare(A: T.Buffer((64,), "float32"), B: T.Buffer((8, 8), "float32")):
        T.func_attr({"target": T.target("llvm")})
        for jo in range(8):
            for ji in range(8):
                B[jo, ji] = A[jo * 8 + ji]
"""

RELAX = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def scale(
        x: T.Buffer((T.int64(32), T.int64(48)), "float32"),
        y: T.Buffer((T.int64(32), T.int64(48)), "float32"),
    ):
        for i, j in T.grid(T.int64(32), T.int64(48)):
            with T.sblock("y"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj] * T.float32(0.5)

    @R.function
    def main(x: R.Tensor((32, 48), dtype="float32")) -> R.Tensor((32, 48), dtype="float32"):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.scale, (x,), out_ty=R.Tensor((32, 48), dtype="float32"))
            R.output(lv)
        return lv
"""


def module(text: str) -> Any:
    """The IRModule of a text of this file."""
    import tvm

    return tvm.script.from_source(text)


def many_blocks(nests: int) -> str:
    """A function with `nests` nests of two loops and a block: three nodes each."""
    lines = [
        "@I.ir_module",
        "class Module:",
        "    @T.prim_func(s_tir=True)",
        '    def main(B0: T.Buffer((64, 32), "float32"), '
        f'B{nests}: T.Buffer((64, 32), "float32")):',
    ]
    lines += [f"        B{n} = T.sblock_alloc_buffer((64, 32))" for n in range(1, nests)]
    for n in range(nests):
        lines += [
            "        for i, j in T.grid(64, 32):",
            f'            with T.sblock("S{n}"):',
            '                vi, vj = T.axis.remap("SS", [i, j])',
            f"                B{n + 1}[vi, vj] = B{n}[vi, vj] + T.float32(1)",
        ]
    return "\n".join(lines) + "\n"
