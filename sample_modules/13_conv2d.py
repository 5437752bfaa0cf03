"""2-D convolution, NCHW

Padding in a block of its own, then seven loops: four spatial, three reductions.  compute_inline the
padding, fuse the spatial loops and bind them; or let the automatic ways do it, and see how each
deals with the padded buffer.
"""

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Conv2d:
    @T.prim_func(s_tir=True)
    def main(
        data: T.Buffer((1, 16, 14, 14), "float32"),
        weight: T.Buffer((32, 16, 3, 3), "float32"),
        out: T.Buffer((1, 32, 14, 14), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        padded = T.sblock_alloc_buffer((1, 16, 16, 16), "float32")
        for n, c, h, w in T.grid(1, 16, 16, 16):
            with T.sblock("padded"):
                vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
                padded[vn, vc, vh, vw] = T.if_then_else(
                    1 <= vh and vh < 15 and 1 <= vw and vw < 15,
                    data[vn, vc, vh - 1, vw - 1],
                    T.float32(0),
                )
        for n, f, y, x, rc, ry, rx in T.grid(1, 32, 14, 14, 16, 3, 3):
            with T.sblock("conv"):
                vn, vf, vy, vx, vrc, vry, vrx = T.axis.remap("SSSSRRR", [n, f, y, x, rc, ry, rx])
                with T.init():
                    out[vn, vf, vy, vx] = T.float32(0)
                out[vn, vf, vy, vx] = (
                    out[vn, vf, vy, vx]
                    + padded[vn, vrc, vy + vry, vx + vrx] * weight[vf, vrc, vry, vrx]
                )
