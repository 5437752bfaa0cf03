"""Softmax over rows

Maximum, exponentials, sum, division: four loop nests over the same rows, two of them reductions.
Bind only the row loops to see one thread walk a whole row four times; dlight fuses the nests under
one block per row and reduces across its threads.
"""

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Softmax:
    @T.prim_func(s_tir=True)
    def main(X: T.Buffer((64, 200), "float32"), Y: T.Buffer((64, 200), "float32")):
        T.func_attr({"tirx.noalias": True})
        row_max = T.sblock_alloc_buffer((64,), "float32")
        exps = T.sblock_alloc_buffer((64, 200), "float32")
        row_sum = T.sblock_alloc_buffer((64,), "float32")
        for i, k in T.grid(64, 200):
            with T.sblock("row_max"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    row_max[vi] = T.min_value("float32")
                row_max[vi] = T.max(row_max[vi], X[vi, vk])
        for i, j in T.grid(64, 200):
            with T.sblock("exps"):
                vi, vj = T.axis.remap("SS", [i, j])
                exps[vi, vj] = T.exp(X[vi, vj] - row_max[vi])
        for i, k in T.grid(64, 200):
            with T.sblock("row_sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    row_sum[vi] = T.float32(0)
                row_sum[vi] = row_sum[vi] + exps[vi, vk]
        for i, j in T.grid(64, 200):
            with T.sblock("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = exps[vi, vj] / row_sum[vi]
