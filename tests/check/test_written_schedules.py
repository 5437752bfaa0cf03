"""Functions that come with their bindings: what is a race, what is not, and whose fault it is."""

from __future__ import annotations

import pytest

from explorer.engine.check import check
from explorer.engine.targets import cuda_tags
from explorer.model.loaded import Source
from explorer.model.result import Check
from explorer.targets import resolve

HEAD = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((250,), "int32"), B: T.Buffer((250,), "int32")):
        T.func_attr({"tirx.noalias": True})
"""
SHARED = """
        tile = T.sblock_alloc_buffer((250,), "int32", scope="shared")
        for bx in T.thread_binding(5, thread="blockIdx.x"):
            LOAD
            for tx in T.thread_binding(50, thread="threadIdx.x"):
                with T.sblock("B"):
                    vi = T.axis.spatial(250, bx * 50 + tx)
                    B[vi] = tile[vi // 50 * 50 + 49 - vi % 50]
"""
ALL_LOAD_ALL = """for t in T.thread_binding(50, thread="threadIdx.x"):
                for k in range(50):
                    with T.sblock("tile"):
                        vk = T.axis.spatial(250, bx * 50 + k)
                        vt = T.axis.spatial(50, t)
                        T.reads(A[vk])
                        T.writes(tile[vk])
                        tile[vk] = A[vk]VALUE"""
NO_GUARD = """
        for bx in T.thread_binding(2, thread="blockIdx.x"):
            for tx in T.thread_binding(128, thread="threadIdx.x"):
                with T.sblock("B"):
                    vi = T.axis.spatial(250, bx * 128 + tx)
                    B[vi] = A[vi] * 2
"""


def verdict(body: str) -> Check:
    target = resolve("nvidia/nvidia-a100", cuda_tags())
    ((_, found),) = check(Source(HEAD + body), (), target, {})
    return found


@pytest.mark.parametrize(("value", "status"), [("", "match"), (" + vt", "race")])
def test_stores_of_many_threads_race_when_the_values_differ(value: str, status: str) -> None:
    load = ALL_LOAD_ALL.replace("VALUE", value)
    assert verdict(SHARED.replace("LOAD", load)).status == status


def test_a_function_that_leaves_its_buffers_as_written_is_out_of_bounds() -> None:
    found = verdict(NO_GUARD)
    assert found.status == "out_of_bounds"
    assert "element 255, it has 250" in found.detail
    assert "unscheduled function does the same" in found.detail


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_both_8_bit_floats_are_run(dtype: str) -> None:
    text = (HEAD + """
        for bx in T.thread_binding(2, thread="blockIdx.x"):
            for tx in T.thread_binding(125, thread="threadIdx.x"):
                with T.sblock("B"):
                    vi = T.axis.spatial(250, bx * 125 + tx)
                    B[vi] = T.Cast("float32", A[vi]) * T.float32(0.5)
""").replace('"int32"', f'"{dtype}"', 1).replace('"int32"', '"float32"')  # fmt: skip
    target = resolve("nvidia/nvidia-h100", cuda_tags())
    ((_, found),) = check(Source(text), (), target, {})
    assert (found.status, found.detail) == (
        "match",
        "All elements agree with the unscheduled function.",
    )
