"""Elementwise chain: scale, shift, GELU

Three loop nests with two buffers between them.  Bound one by one they become three kernels that
send every value to global memory and back; compute_inline the first two blocks and one kernel is
left.  Compare the two variants.
"""

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class ElementwiseChain:
    @T.prim_func(s_tir=True)
    def main(
        X: T.Buffer((128, 256), "float32"),
        bias: T.Buffer((256,), "float32"),
        Y: T.Buffer((128, 256), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        scaled = T.sblock_alloc_buffer((128, 256), "float32")
        shifted = T.sblock_alloc_buffer((128, 256), "float32")
        for i, j in T.grid(128, 256):
            with T.sblock("scaled"):
                vi, vj = T.axis.remap("SS", [i, j])
                scaled[vi, vj] = X[vi, vj] * T.float32(0.5)
        for i, j in T.grid(128, 256):
            with T.sblock("shifted"):
                vi, vj = T.axis.remap("SS", [i, j])
                shifted[vi, vj] = scaled[vi, vj] + bias[vj]
        for i, j in T.grid(128, 256):
            with T.sblock("gelu"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = shifted[vi, vj] / (
                    T.float32(1) + T.exp(T.float32(-1.702) * shifted[vi, vj])
                )
