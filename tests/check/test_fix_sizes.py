"""A symbolic size written as a number leaves the same function at that size."""

from __future__ import annotations

from pathlib import Path

import pytest
import tvm_ffi
from tvm import s_tir

from explorer.engine.check import check_module
from explorer.engine.fix_sizes import fix_sizes
from explorer.engine.load import load, module
from explorer.errors import SizeError
from explorer.model.loaded import Source
from explorer.model.nest import Loop
from explorer.model.target import Target
from tests.conftest import ROOT

TEXT = """\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main({head}A: T.Buffer(({n}, {n} * 2 + 1), "float32"), b: T.handle):
        {declared}
        B = T.match_buffer(b, ({n}, {m}), "float32", strides=({s}, 1))
        W = T.sblock_alloc_buffer(({n}, {m}))
        for i, j in T.grid({n}, {m}):
            with T.sblock("W"):
                vi, vj = T.axis.remap("SS", [i, j])
                W[vi, vj] = A[vi, vj * 2] * T.Cast("float32", {n})
        for i, j in T.grid({n}, {m}):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = W[vi, vj] + T.Cast("float32", {k})
"""
SYMBOLIC = TEXT.format(
    head="k: T.int32, n: T.int32, ",
    declared="m, s = T.int32(), T.int32()",
    n="n",
    m="m",
    s="s",
    k="k",
)
FIXED = TEXT.format(head="", declared="pass", n=100, m=7, s=16, k=3)
DYNAMIC = [
    ROOT / "sample_modules" / "15_dynamic_shape.py",
    *(ROOT / "tests" / "cases" / name / "module.py" for name in (
        "61_reverse_compute_at_dynamic", "78_dynamic_zero_size",
    )),
]  # fmt: skip


def test_shapes_strides_loops_and_workspace_get_their_numbers() -> None:
    fixed = fix_sizes(Source(SYMBOLIC), {"n": 100, "m": 7, "s": 16, "k": 3})
    assert load(fixed).symbols == ()
    assert tvm_ffi.structural_equal(module(fixed), module(Source(FIXED))), fixed.text


TYPED = """\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(m: T.uint8, a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n * 2,), "float32")
        B = T.match_buffer(b, (n * 2,), "float32")
        C = T.sblock_alloc_buffer((n * 2 - 1,))
        for i in range(n * 2 - 1):
            with T.sblock("C"):
                vi = T.axis.spatial(n * 2 - 1, i)
                C[vi] = A[vi] + T.Cast("float32", m)
        for i in range(n * 2):
            with T.sblock("B"):
                vi = T.axis.spatial(n * 2, i)
                B[vi] = C[T.min(vi, n * 2 - T.int64(2))]
"""


def test_what_follows_from_a_size_is_a_number_too() -> None:
    nest = load(fix_sizes(Source(TYPED), {"n": 32, "m": 3})).nest
    loops = [node for node in nest.functions[0].nodes if isinstance(node, Loop)]
    assert [loop.extent_value for loop in loops] == [63, 64]


def test_a_buffer_of_one_element_can_be_read_back() -> None:
    assert load(fix_sizes(Source(TYPED), {"n": 1, "m": 3})).symbols == ()


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"n": 8, "m": 300}, "m can't be 300. It is uint8: 0 to 255"),
        ({"n": 8, "m": -1}, "m can't be -1"),
        ({"n": 2**63, "m": 1}, "n can't be 9223372036854775808. It is int64"),
        ({"n": 2**62, "m": 1}, "A would have a negative extent"),
        ({"n": 0, "m": 1}, "C would have a negative extent"),
    ],
)
def test_an_impossible_size_is_named(sizes: dict[str, int], words: str) -> None:
    with pytest.raises(SizeError) as refused:
        fix_sizes(Source(TYPED), sizes)
    assert words in str(refused.value)


def test_symbols_that_a_block_binds_are_no_sizes() -> None:
    text = """\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, B: T.Buffer((16,), "float32")):
        n = T.int32()
        A = T.match_buffer(a, (n, 16), "float32")
        for i in range(n):
            with T.sblock("B"):
                vi = T.axis.spatial(n, i)
                step, at = T.int32(), T.int32()
                R = T.match_buffer(
                    A[vi, 0:16], (16,), "float32", strides=(step,), elem_offset=at, offset_factor=1
                )
                B[vi] = R[0]
"""
    fixed = load(fix_sizes(Source(text), {"n": 7}))
    assert fixed.symbols == ()
    assert "A[vi, 0:16], (16,)" in fixed.text
    assert "range(7)" in fixed.text


def test_every_size_needs_a_value() -> None:
    with pytest.raises(SizeError, match="m, s have no values"):
        fix_sizes(Source(SYMBOLIC), {"n": 100, "k": 3})


@pytest.mark.parametrize("path", DYNAMIC, ids=lambda path: path.parent.name)
def test_its_kernel_does_what_the_symbolic_function_does_at_that_size(
    path: Path, target: Target
) -> None:
    symbolic = Source(path.read_text())
    sch = s_tir.Schedule(module(fix_sizes(symbolic, {"n": 70})))
    (function,) = (var.name_hint for var, _ in sch.mod.functions_items())
    sch.work_on(function)
    for block in sch.get_child_blocks(sch.get_sblock("root")):
        sch.bind(sch.get_loops(block)[0], "threadIdx.x")
    ((_, verdict),) = check_module(module(symbolic), sch.mod, target, {"n": 70})
    assert verdict.status == "match", verdict.detail
