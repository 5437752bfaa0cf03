"""Sum of everything

One number out of 16384: there is no spatial loop to bind.  Split k and rfactor the outer part, so
that there are partial sums to spread over the GPU and a short second reduction behind them.
"""

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class SumAll:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((16384,), "float32"), total: T.Buffer((1,), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i, k in T.grid(1, 16384):
            with T.sblock("total"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] = total[vi] + A[vk]
