"""Matrix times vector (GEMV)

Every weight is used once, so memory speed is all that counts.  One thread per row reads with a
stride of a whole row; dlight's GEMV rule lets the threads of a warp walk along the row and add up
across threads.  Compare the two sources.
"""

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class MatrixVector:
    @T.prim_func(s_tir=True)
    def main(
        W: T.Buffer((512, 512), "float32"),
        x: T.Buffer((512,), "float32"),
        y: T.Buffer((512,), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        for i, k in T.grid(512, 512):
            with T.sblock("y"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    y[vi] = T.float32(0)
                y[vi] = y[vi] + W[vi, vk] * x[vk]
