"""Matrix multiply, float16 on tensor cores

Half-precision inputs with B stored transposed, accumulated in float16: the shape of a linear
layer.  Let dlight schedule it and look for wmma in the source: one warp computes a 16 by 16 tile at
once.  DefaultGPUSchedule gives one thread per element instead.
"""

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class MatmulTensorCore:
    @T.prim_func(s_tir=True)
    def main(
        A: T.Buffer((1, 128, 128), "float16"),
        B: T.Buffer((128, 128), "float16"),
        C: T.Buffer((1, 128, 128), "float16"),
    ):
        T.func_attr({"tirx.noalias": True})
        for b, i, j, k in T.grid(1, 128, 128, 128):
            with T.sblock("C"):
                vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
                with T.init():
                    C[vb, vi, vj] = T.float16(0)
                C[vb, vi, vj] = C[vb, vi, vj] + A[vb, vi, vk] * B[vj, vk]
