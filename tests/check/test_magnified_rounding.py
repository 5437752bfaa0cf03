"""A row divided by its own sum: where the sum almost vanishes, the order of summing shows."""

from __future__ import annotations

import pytest
from tvm import s_tir

from explorer.engine.check import check_module
from explorer.engine.load import module
from explorer.engine.targets import cuda_tags
from explorer.model.loaded import Source
from explorer.model.result import Check
from explorer.targets import resolve

TEXT = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(X: T.Buffer((96, 160), "float32"), Y: T.Buffer((96, 160), "float32")):
        T.func_attr({"tirx.noalias": True})
        s = T.sblock_alloc_buffer((96,), "float32")
        for i in range(96):
            for k in range(160):
                with T.sblock("s"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        s[vi] = T.float32(0)
                    s[vi] = s[vi] + X[vi, vk]
            for j in range(160):
                with T.sblock("Y"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    Y[vi, vj] = X[vi, vj] / s[vi] * T.float32(FACTOR)
"""


def verdict(factor: float) -> Check:
    """Rows scheduled on 32 threads each, against the function with FACTOR = 1."""
    sch = s_tir.Schedule(module(Source(TEXT.replace("FACTOR", str(factor)))))
    s, y = sch.get_sblock("s"), sch.get_sblock("Y")
    sch.set_scope(s, 0, "shared")
    sch.bind(sch.get_loops(s)[0], "blockIdx.x")
    for block in (s, y):
        _, inner = sch.split(sch.get_loops(block)[-1], [None, 32])
        sch.bind(inner, "threadIdx.x")
    original = module(Source(TEXT.replace("FACTOR", "1.0")))
    target = resolve("nvidia/nvidia-a100", cuda_tags())
    ((_, found),) = check_module(original, sch.mod, target, {})
    return found


@pytest.mark.parametrize(("factor", "status"), [(1.0, "match"), (1.001, "mismatch")])
def test_magnified_rounding_is_no_mismatch_and_hides_none(factor: float, status: str) -> None:
    assert verdict(factor).status == status
