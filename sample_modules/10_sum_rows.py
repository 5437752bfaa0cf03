"""Sum of every row

A reduction beside a spatial loop.  Binding k to threadIdx.x makes the threads of a block add up
together; binding it to blockIdx.x is refused, because blocks can't.
"""

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class SumRows:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((256, 512), "float32"), B: T.Buffer((256,), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i, k in T.grid(256, 512):
            with T.sblock("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
