"""Matrix multiply, float32

Two spatial loops and a reduction.  Bind i and j and it runs, but each thread reads a whole row and
a whole column from global memory.  For the classic cure split i and j into tiles, cache_read A and
B into shared memory and compute_at the copies under the split k.
"""

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Matmul:
    @T.prim_func(s_tir=True)
    def main(
        A: T.Buffer((128, 128), "float32"),
        B: T.Buffer((128, 128), "float32"),
        C: T.Buffer((128, 128), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        for i, j, k in T.grid(128, 128, 128):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
