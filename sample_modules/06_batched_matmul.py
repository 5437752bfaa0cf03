"""Batched matrix multiply

The batch is one more axis to spread over the GPU.  Bind b to blockIdx.z, then tile i and j as in
the plain matmul.
"""

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class BatchedMatmul:
    @T.prim_func(s_tir=True)
    def main(
        A: T.Buffer((8, 64, 64), "float32"),
        B: T.Buffer((8, 64, 64), "float32"),
        C: T.Buffer((8, 64, 64), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        for b, i, j, k in T.grid(8, 64, 64, 64):
            with T.sblock("C"):
                vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
                with T.init():
                    C[vb, vi, vj] = T.float32(0)
                C[vb, vi, vj] = C[vb, vi, vj] + A[vb, vi, vk] * B[vb, vk, vj]
