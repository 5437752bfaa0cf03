"""PTX as blocks, what a thread executes of them, and what they ask for."""

from __future__ import annotations

import pytest

from explorer.analysis.ptx_mix import Mixer, waiting
from explorer.analysis.ptx_run import UNKNOWN_TRIPS, Course, Runner
from explorer.analysis.ptx_text import Block, blocks_of

LATENCY = {
    "global": 400.0, "shared": 24.0, "barrier": 20.0, "fp32": 4.0, "int": 4.0, "sfu": 20.0,
    "fp16": 4.0, "fp64": 8.0, "convert": 8.0, "shuffle": 24.0, "tensor": 32.0, "other": 4.0,
}  # fmt: skip


def kernel(body: str) -> list[Block]:
    return blocks_of(".visible .entry k(\n .param .u64 k_param_0\n)\n{\n" + body + "\n}\n")


def course(body: str, tid: int = 0, **parameters: int) -> Course:
    return Runner(kernel(body)).run({"%tid.x": tid, "%ctaid.x": 0, **parameters})


COUNTED = """
    mov.u32 %r1, {start};
$L_1:
    add.f32 %f1, %f1, %f2;
    add.s32 %r1, %r1, {step};
    setp.{test} %p1, %r1, {end};
    @%p1 bra $L_1;
    ret;
"""


@pytest.mark.parametrize(
    ("start", "step", "test", "end", "rounds"),
    [
        (0, 1, "ne.s32", 8, 8),
        (0, 4, "lt.u32", 30, 8),
        (100, -3, "gt.s32", 0, 34),
        (-32, 32, "ne.s32", 992, 32),
        (0, 1, "lt.s32", 1, 1),
        (0, 1, "lt.s32", 3, 3),
        (0, 1, "lt.s32", 4, 4),
        (0, 1, "le.s32", 100000, 100001),
    ],
)
def test_a_loop_is_counted_however_it_ends(
    start: int, step: int, test: str, end: int, rounds: int
) -> None:
    found = course(COUNTED.format(start=start, step=step, test=test, end=end))
    assert found.counts[:2] == [1, rounds]
    assert not found.assumed
    assert found.values["%r1"] == start + rounds * step


def test_loops_in_loops_multiply_and_a_bound_may_be_a_parameter() -> None:
    found = course(
        """
    ld.param.u32 %r9, [k_param_1];
    mov.u32 %r1, 0;
$L_1:
    mov.u32 %r2, 0;
$L_2:
    add.s32 %r2, %r2, 1;
    setp.ne.s32 %p2, %r2, 5;
    @%p2 bra $L_2;
    add.s32 %r1, %r1, 1;
    setp.lt.s32 %p1, %r1, %r9;
    @%p1 bra $L_1;
    ret;
""",
        param1=7,
    )
    assert found.counts == [1, 7, 35, 7, 1, 0]


def test_a_loop_may_be_entered_in_its_middle_and_left_from_there() -> None:
    found = course(
        """
    mov.u32 %r1, 0;
    bra.uni $L_2;
$L_1:
    add.s32 %r1, %r1, 28;
$L_2:
    add.f32 %f1, %f1, %f2;
    setp.eq.s32 %p1, %r1, 112;
    @%p1 bra $L_3;
    bra.uni $L_1;
$L_3:
    ret;
"""
    )
    assert not found.assumed
    assert found.counts[:4] == [1, 4, 5, 4]


def test_a_guard_is_decided_by_the_threads_own_number() -> None:
    body = """
    mov.u32 %r1, %tid.x;
    setp.gt.s32 %p1, %r1, 3;
    @%p1 bra $L_2;
    st.shared.f32 [buf], %f1;
$L_2:
    ret;
"""
    assert course(body, tid=2).counts[:3] == [1, 1, 1]
    assert course(body, tid=4).counts[:3] == [1, 0, 1]


def test_a_loop_that_data_ends_is_assumed_and_said() -> None:
    found = course(
        """
    mov.u32 %r1, 0;
    ld.global.u32 %r2, [%rd1];
$L_1:
    add.s32 %r1, %r1, 1;
    setp.lt.s32 %p1, %r1, %r2;
    @%p1 bra $L_1;
    ret;
"""
    )
    assert found.assumed
    assert found.counts[1] <= UNKNOWN_TRIPS


def test_requests_know_their_array_width_and_kind() -> None:
    (block,) = kernel(
        """
    ld.param.u64 %rd1, [k_param_0];
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.s32 %rd3, %r1, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd4+16];
    mov.u32 %r2, _ZZ1kE5A_ptr;
    st.shared.v2.u32 [%r2+8], {%r3, %r4};
    cp.async.cg.shared.global [%r2], [%rd4], 16;
    wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r5, %r6}, [%r2], %r7;
"""
    )
    found = Mixer([block]).mix(block).requests
    asked = {(r.space, r.kind, r.base, r.width, r.rows_apart) for r in found}
    assert asked == {
        ("global", "load", "param0", 16.0, ""),
        ("shared", "store", "_ZZ1kE5A_ptr", 8.0, ""),
        ("shared", "store", "_ZZ1kE5A_ptr", 16.0, ""),
        ("shared", "load", "_ZZ1kE5A_ptr", 16.0, "%r7"),
    }


def test_instructions_go_to_their_units_and_copies_to_none() -> None:
    (block,) = kernel(
        """
    mov.f32 %f1, %f2;
    fma.rn.f32 %f3, %f1, %f2, %f3;
    ex2.approx.f32 %f4, %f3;
    fma.rn.f16x2 %r1, %r2, %r3, %r1;
    mad.lo.s32 %r4, %r5, %r6, %r4;
    cvt.rn.f16.f32 %rs1, %f4;
    shfl.sync.down.b32 %r7|%p1, %r4, 1, 31, -1;
    wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f5}, {%r1}, {%r2}, {%f6};
    mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1}, {%r2}, {%r3}, {%r4};
    bar.sync 0;
"""
    )
    found = Mixer([block]).mix(block)
    assert found.pipes == {
        "fp32": 1, "sfu": 1, "fp16": 1, "int": 1, "convert": 1, "shuffle": 1, "other": 1,
        "tensor": 2 * 16**3 + 2 * 16 * 8 * 32 / 2,
    }  # fmt: skip
    assert (found.issued, found.barriers) == (9, 1)


def test_waiting_follows_what_depends_on_what() -> None:
    (chain,) = kernel("fma.rn.f32 %f1, %f1, %f2, %f3;\n" * 100)
    (free,) = kernel("".join(f"fma.rn.f32 %f{n}, %f1, %f2, %f3;\n" for n in range(10, 110)))
    (load,) = kernel("ld.global.f32 %f1, [%rd1];\nadd.f32 %f2, %f1, %f1;\n")
    (ahead,) = kernel("ld.global.f32 %f1, [%rd1];\nadd.f32 %f2, %f3, %f3;\n")
    assert waiting(chain, LATENCY, 16) == 99 * 4
    assert waiting(free, LATENCY, 16) == 100
    assert waiting(load, LATENCY, 16) == 400
    assert waiting(ahead, LATENCY, 16) == 25  # a sixteenth of a load: it is used later
