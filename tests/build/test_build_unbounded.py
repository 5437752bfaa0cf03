"""A shared array of two dimensions whose size hangs on a symbolic extent: TVM's number wraps."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from explorer.model.result import Build

TEXT = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, b: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int32()
        A = T.match_buffer(a, (n, WIDTH), "float32")
        B = T.match_buffer(b, (n, WIDTH), "float32")
        P = T.sblock_alloc_buffer((n, WIDTH), "float32")
        for i, j in T.grid(n, WIDTH):
            with T.sblock("P"):
                vi, vj = T.axis.remap("SS", [i, j])
                P[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(n, WIDTH):
            with T.sblock("Q"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = P[vi, vj] + T.float32(1)
"""
SCHEDULE = """
def apply(sch):
    p, q = sch.get_sblock("P"), sch.get_sblock("Q")
    sch.set_scope(p, 0, "shared")
    i, j = sch.get_loops(p)
    io, ii = sch.split(i, [None, 16])
    sch.reverse_compute_at(q, io)
    sch.bind(io, "blockIdx.x")
    sch.bind(j, "threadIdx.x")
    sch.bind(sch.get_loops(q)[-1], "threadIdx.x")
"""


@pytest.mark.parametrize("width", ["32", "33"])
def test_an_unbounded_array_is_never_a_kernel(built: Callable[..., Build], width: str) -> None:
    found = built(TEXT.replace("WIDTH", width), SCHEDULE, {"n": 50})
    (function,) = found.functions
    assert function.kernels[0].shared_bytes > 1 << 32
    (error,) = [each for each in found.findings if each.severity == "error"]
    assert error.code == "shared_memory"
    assert "P_shared has no bound" in error.message
