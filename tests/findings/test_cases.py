"""What the case files say must be shown, for the cases about checks."""

from __future__ import annotations

import pytest
from tvm import s_tir

from tests.findings.finding_modules import case, case_schedule, found, of


def errors(source: str, schedule: object = None, **sizes: int) -> set[str]:
    return {f.code for f in found(source, schedule, **sizes) if f.severity == "error"}  # type: ignore[arg-type]


def test_12_no_block_to_schedule() -> None:
    (only,) = of("no_kernel", found(case("12")))
    assert "T.sblock" in only.cure


def test_13_opaque_block_on_one_thread() -> None:
    seen = found(case("13"))
    assert of("opaque_block", seen)
    assert "1 thread" in of("opaque_block", seen)[0].message


def test_15_one_sm() -> None:
    seen = found(case("15"))
    assert len(of("thread_without_block", seen)) == 2
    assert not {f.code for f in seen if f.severity == "error"}


def test_16_launch_in_a_host_loop() -> None:
    (only,) = of("host_loop_launch", found(case("16")))
    assert "loop r (64)" in only.where
    assert only.severity == "error"


def test_19_one_thread_does_all_the_adds() -> None:
    def serial(sch: s_tir.Schedule) -> None:
        sch.work_on("total")
        outer = sch.get_loops(sch.get_sblock("S"))[0]
        sch.bind(sch.add_unit_loop(outer), "blockIdx.x")

    (only,) = of("single_thread", found(case("19"), serial))
    assert "21000" in only.message
    assert "no data-parallel loop" in only.message


def test_20_is_fine_with_shared_scope_and_said_why_without() -> None:
    assert errors(case("20"), case_schedule("20")) == set()

    def without_scope(sch: s_tir.Schedule) -> None:
        sch.work_on("rownorm")
        for name in ("s", "Y"):
            loops = sch.get_loops(sch.get_sblock(name))
            if name == "s":
                sch.bind(loops[0], "blockIdx.x")
            _, inner = sch.split(loops[-1], [None, 32])
            sch.bind(inner, "threadIdx.x")

    (only,) = of("global_scratch", found(case("20"), without_scope))
    assert "buffer s" in only.where


def test_51_extents_differ() -> None:
    (only,) = of("extent_mismatch", found(case("51"), case_schedule("51")))
    assert "64" in only.message
    assert "32" in only.message


def test_53_a_reduction_written_on_blocks() -> None:
    source = case("53").replace("for m, k in T.grid(96, 32):", (
        'for m in T.thread_binding(96, thread="threadIdx.x"):\n'
        '          for k in T.thread_binding(32, thread="blockIdx.x"):'
    ))  # fmt: skip
    assert "reduction_on_block" in errors(source)
    assert "reduction_on_block" not in errors(case("53"))


def test_55_too_many_threads() -> None:
    (only,) = of("threads_per_block", found(case("55"), case_schedule("55")))
    assert "2048" in only.message


def test_56_waste_of_each_split() -> None:
    seen = found(case("56"), case_schedule("56"))
    messages = " ".join(f.message for f in of("split_waste", seen))
    assert "split 70 by 16 -> 5 x 16 = 80 (12 % wasted)" in messages
    assert "split 50 by 16" in messages
    assert "split 45 by 16" in messages
    assert errors(case("56"), case_schedule("56")) == set()


def test_60_static_shared_memory() -> None:
    (only,) = of("shared_memory", found(case("60"), case_schedule("60")))
    assert "65536" in only.message
    assert "49152" in only.message


def test_63_in_place() -> None:
    assert of("in_place", found(case("63")))


def test_64_loop_carried() -> None:
    (only,) = of("loop_carried", found(case("64")))
    assert "B[vi - 1]" in only.message


@pytest.mark.parametrize("number", ["26", "71", "96", "01", "79"])
def test_right_schedules_have_no_error(number: str) -> None:
    schedule = None if number == "26" else case_schedule(number)
    assert errors(case(number), schedule) == set()


@pytest.mark.parametrize("number", ["63", "64"])
def test_binding_is_no_cure_for_a_block_that_updates_itself(number: str) -> None:
    (only,) = of("no_kernel", found(case(number)))
    assert only.cure_id == ""
    assert "reads the buffer it writes" in only.cure
    (other,) = of("no_kernel", found(case("10")))
    assert other.cure_id.startswith("bind:")
