"""Vector add

The smallest kernel there is: one loop, one block, every element on its own.  Split the loop into
blocks of 256 and bind the two halves to blockIdx.x and threadIdx.x, then read the kernel: the two
axes come back as `blockIdx.x * 256 + threadIdx.x`.
"""

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class VectorAdd:
    @T.prim_func(s_tir=True)
    def main(
        A: T.Buffer((4096,), "float32"),
        B: T.Buffer((4096,), "float32"),
        C: T.Buffer((4096,), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        for i in range(4096):
            with T.sblock("C"):
                vi = T.axis.spatial(4096, i)
                C[vi] = A[vi] + B[vi]
