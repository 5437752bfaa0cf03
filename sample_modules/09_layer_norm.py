"""Layer norm

Mean and variance from a sum and a sum of squares, then the normalised row.  Two reductions over
the same data: try to compute both in one kernel (reverse_compute_at the second under the first's
row loop) and compare with dlight.
"""

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class LayerNorm:
    @T.prim_func(s_tir=True)
    def main(
        X: T.Buffer((64, 256), "float32"),
        gamma: T.Buffer((256,), "float32"),
        beta: T.Buffer((256,), "float32"),
        Y: T.Buffer((64, 256), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        total = T.sblock_alloc_buffer((64,), "float32")
        squares = T.sblock_alloc_buffer((64,), "float32")
        for i, k in T.grid(64, 256):
            with T.sblock("total"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] = total[vi] + X[vi, vk]
        for i, k in T.grid(64, 256):
            with T.sblock("squares"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    squares[vi] = T.float32(0)
                squares[vi] = squares[vi] + X[vi, vk] * X[vi, vk]
        for i, j in T.grid(64, 256):
            with T.sblock("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = (X[vi, vj] - total[vi] / T.float32(256)) * T.rsqrt(
                    squares[vi] / T.float32(256)
                    - total[vi] / T.float32(256) * (total[vi] / T.float32(256))
                    + T.float32(1e-5)
                ) * gamma[vj] + beta[vj]
