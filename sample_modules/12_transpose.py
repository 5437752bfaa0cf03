"""Transpose

Nothing to compute, everything to move.  Whichever loop threadIdx.x takes, either the reads or the
writes jump by a whole row; the cure is a tile in shared memory that is read along rows and written
along columns.  The sizes are odd on purpose: tiles need a guard.
"""

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Transpose:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((200, 300), "float32"), B: T.Buffer((300, 200), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(300, 200):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi]
