"""int4 weights: dequantise, then matrix times vector

Eight 4-bit weights in every 32-bit word, one scale for 32 of them: how language models keep their
weights.  Left alone, the decoded matrix is written out and read back; inline the decode block into
the product and only a quarter of the bytes of float16 is moved.
"""

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Int4Matmul:
    @T.prim_func(s_tir=True)
    def main(
        packed: T.Buffer((256, 64), "uint32"),
        scale: T.Buffer((256, 16), "float16"),
        x: T.Buffer((1, 512), "float16"),
        y: T.Buffer((1, 256), "float16"),
    ):
        T.func_attr({"tirx.noalias": True})
        W = T.sblock_alloc_buffer((256, 512), "float16")
        for i, j in T.grid(256, 512):
            with T.sblock("decode"):
                vi, vj = T.axis.remap("SS", [i, j])
                W[vi, vj] = (
                    T.Cast(
                        "float16",
                        T.bitwise_and(
                            T.shift_right(packed[vi, vj // 8], T.Cast("uint32", vj % 8 * 4)),
                            T.uint32(15),
                        ),
                    )
                    - T.float16(7)
                ) * scale[vi, vj // 32]
        for b, n, k in T.grid(1, 256, 512):
            with T.sblock("product"):
                vb, vn, vk = T.axis.remap("SSR", [b, n, k])
                with T.init():
                    y[vb, vn] = T.float16(0)
                y[vb, vn] = y[vb, vn] + x[vb, vk] * W[vn, vk]
