"""A dynamic shape: scale and add n elements

n is known only when the kernel is launched, so the grid is an expression and every tile needs a
guard.  Give n a value to have the kernel checked; try one that is no multiple of the block size.
"""

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class DynamicShape:
    @T.prim_func(s_tir=True)
    def main(x: T.handle, y: T.handle, out: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int32()
        X = T.match_buffer(x, (n,), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        Out = T.match_buffer(out, (n,), "float32")
        for i in range(n):
            with T.sblock("Out"):
                vi = T.axis.spatial(n, i)
                Out[vi] = X[vi] * T.float32(2) + Y[vi]
