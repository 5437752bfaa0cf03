"""From a 2022 course, in the old dialect

Text as it stands in notebooks of that time: `tvm.script.ir_module`, `T.block`, `T.alloc_buffer`, a
size in a Python constant, and the schedule behind the module.  Loading shows every line that was
rewritten for today's TVM, and offers the schedule calls as steps.
"""

import tvm
from tvm.script import tir as T

N = 128


@tvm.script.ir_module
class MatmulRelu:
    @T.prim_func
    def mm_relu(
        A: T.Buffer[(N, N), "float32"],
        B: T.Buffer[(N, N), "float32"],
        C: T.Buffer[(N, N), "float32"],
    ) -> None:
        T.func_attr({"global_symbol": "mm_relu", "tir.noalias": True})
        Y = T.alloc_buffer((N, N), dtype="float32")
        for i, j, k in T.grid(N, N, N):
            with T.block("Y"):
                vi = T.axis.spatial(N, i)
                vj = T.axis.spatial(N, j)
                vk = T.axis.reduce(N, k)
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(N, N):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.max(Y[vi, vj], T.float32(0))


sch = tvm.tir.Schedule(MatmulRelu)
block_Y = sch.get_block("Y", func_name="mm_relu")
i, j, k = sch.get_loops(block_Y)
i0, i1 = sch.split(i, factors=[None, 16])
j0, j1 = sch.split(j, factors=[None, 16])
sch.reorder(i0, j0, i1, j1, k)
sch.bind(i0, "blockIdx.y")
sch.bind(j0, "blockIdx.x")
sch.bind(i1, "threadIdx.y")
sch.bind(j1, "threadIdx.x")
block_C = sch.get_block("C", func_name="mm_relu")
sch.reverse_compute_at(block_C, j1)
sch.set_scope(block_Y, 0, "local")
