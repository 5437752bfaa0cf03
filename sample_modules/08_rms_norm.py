"""RMS norm

A reduction over the row, then one pass that uses it; sums in float32, data in float16.  Let dlight
schedule it and see in its report which rules declined before one applied, and why.
"""

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class RMSNorm:
    @T.prim_func(s_tir=True)
    def main(
        X: T.Buffer((1, 32, 1024), "float16"),
        weight: T.Buffer((1024,), "float16"),
        Y: T.Buffer((1, 32, 1024), "float16"),
    ):
        T.func_attr({"tirx.noalias": True})
        squares = T.sblock_alloc_buffer((1, 32), "float32")
        for b, i, k in T.grid(1, 32, 1024):
            with T.sblock("squares"):
                vb, vi, vk = T.axis.remap("SSR", [b, i, k])
                with T.init():
                    squares[vb, vi] = T.float32(0)
                squares[vb, vi] = squares[vb, vi] + T.Cast("float32", X[vb, vi, vk]) * T.Cast(
                    "float32", X[vb, vi, vk]
                )
        for b, i, k in T.grid(1, 32, 1024):
            with T.sblock("Y"):
                vb, vi, vk = T.axis.remap("SSS", [b, i, k])
                Y[vb, vi, vk] = T.Cast(
                    "float16",
                    T.Cast("float32", weight[vk])
                    * T.Cast("float32", X[vb, vi, vk])
                    * T.rsqrt(squares[vb, vi] / T.float32(1024) + T.float32(1e-5)),
                )
