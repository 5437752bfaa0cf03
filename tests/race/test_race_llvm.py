"""Real races on this machine's processor: rows, checks, provenance, and what goes wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tvm.ir import IRModule
from tvm.script import from_source

from explorer.engine import progress, race_build, race_heat, race_material
from explorer.engine.load import module
from explorer.engine.race_build import Starter
from explorer.engine.race_material import Material
from explorer.errors import SizeError
from explorer.experiment import Variant
from explorer.model.loaded import Source
from explorer.model.race import Method, Race, Where

Run = Callable[..., Race]
Make = Callable[..., Variant]

CHAIN = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.sblock("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi]
    for n in range({count}):
        for i in range(16):
            with T.sblock("halve"):
                vn = T.axis.opaque({count}, n)
                vi = T.axis.spatial(16, i)
                B[vi] = B[vi] * T.float32(0.5) + T.float32(1)
"""
"""A kernel that takes as long as we say and always ends with 2.0."""

DIES = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"),
         C: T.Buffer((64, 64), "float32")):
    T.evaluate(T.call_extern("int32", "{what}"))
"""
WRONG = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"),
         C: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj]
"""


CARRIES = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((64, 8), "float32"), B: T.Buffer((64, 8), "float32")):
    s = T.sblock_alloc_buffer((64, 8), "float32")
    for i, j in T.grid(64, 8):
        with T.sblock("s"):
            vi, vj = T.axis.remap("SS", [i, j])
            if vj != 3:
                s[vi, vj] = A[vi, vj]
    for i, j in T.grid(64, 8):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = s[vi, vj] + T.float32({plus})
"""
"""One column in eight is made of what lay in memory before."""
CANCELS = """
@T.prim_func(s_tir=True)
def main(X: T.Buffer((2048, 64), "float32"), Y: T.Buffer((2048,), "float32")):
    s = T.sblock_alloc_buffer((2048,), "float32")
    for i, k in T.grid(2048, 64):
        with T.sblock("s"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                s[vi] = T.float32(0)
            s[vi] = s[vi] + X[vi, {at}] * T.Cast("float32", 1 - {at} % 2 * 2)
    for i in range(2048):
        with T.sblock("Y"):
            vi = T.axis.spatial(2048, i)
            Y[vi] = T.float32({factor}) / s[vi]
"""
"""Some of the sums almost vanish: in another order of summing the result is another."""


def loaded(text: str) -> IRModule:
    """The text as it is: what makes a process die is refused where texts are loaded."""
    return IRModule({"main": from_source(text)})


def start_with(monkeypatch: pytest.MonkeyPatch, **texts: str) -> None:
    """Let variants be modules of these texts, whatever their steps say."""

    def starters(*_: object) -> dict[str, list[Starter]]:
        return {"main": [Starter(name, loaded(text)) for name, text in texts.items()]}

    monkeypatch.setattr(race_build, "starters", starters)


def test_a_race_has_times_checks_verdicts_and_where_they_come_from(
    matmul: Source, fast: Variant, on_cpu: Run
) -> None:
    news: list[Race] = []
    with progress.told_to(news.append):
        race = on_cpu(matmul, Variant("plain"), fast, method=Method(budget_s=1.5))
    (heat,) = race.heats
    assert race.final
    assert race.warning == ""
    assert [row.variant for row in heat.rows] == ["plain", "fast"]
    for row in heat.rows:
        assert row.status == "measured"
        assert row.low_us <= row.median_us <= row.high_us
        assert row.runs >= row.rounds == len(row.samples_us) > 10
        assert row.check.status == "match"
        assert "agree with the unscheduled function" in row.check.detail
        assert row.gflops == pytest.approx(2 * 64**3 / row.median_us / 1e3)
    (verdict,) = heat.verdicts
    assert (verdict.variant, verdict.other, verdict.outcome) == ("plain", "fast", "slower")
    assert heat.winner == "fast"
    place = heat.place
    assert (place.runner, place.target) == ("llvm", "llvm")
    assert "core" in place.device
    assert place.tvm.startswith("0.27")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT.*", place.date)
    assert "warm cache" in place.method
    assert "1.5 s" in place.method
    assert news
    assert not any(each.final for each in news)
    first, second = news[0].heats[0].rows  # a figure before the second variant is built
    assert (first.status, first.runs, first.low_us) == ("measured", 1, None)
    assert (second.status, second.reason) == ("not_measured", "Not run yet.")
    assert all(row.status == "measured" for row in news[-1].heats[0].rows)


def test_the_bound_is_of_peaks_measured_here_and_says_so(matmul: Source, on_cpu: Run) -> None:
    (heat,) = on_cpu(matmul, Variant("plain")).heats
    assert heat.roof is not None
    assert heat.roof.measured
    assert re.search(r"measured here on \d{4}-\d\d-\d\d", heat.roof.source)
    assert heat.roof.one_core_gflops
    assert heat.roof.one_core_gflops <= heat.roof.peak_gflops
    (row,) = heat.rows
    assert row.bound_us == pytest.approx(2 * 64**3 / heat.roof.peak_gflops / 1e3)
    assert row.bound_share == pytest.approx(row.bound_us / row.median_us)
    assert 0 < row.bound_share < 1
    (half,) = on_cpu(Source(SYMBOLIC), Variant("plain"), sizes={"n": 96}).heats
    assert half.roof is None  # no peak was measured for float16
    assert half.rows[0].bound_us is None


def test_equal_kernels_are_never_ranked_and_slower_ones_never_first(
    matmul: Source, on_cpu: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = 0
    for _ in range(4):
        start_with(
            monkeypatch, one=CHAIN.format(count=1000), same=CHAIN.format(count=1000),
            longer=CHAIN.format(count=1150),
        )  # fmt: skip
        source = Source(CHAIN.format(count=1000))
        (heat,) = on_cpu(source, Variant("-"), method=Method(budget_s=1.5)).heats
        outcomes = {(v.variant, v.other): v.outcome for v in heat.verdicts}
        assert outcomes["one", "same"] == "no_difference"
        assert outcomes["one", "longer"] != "slower"
        assert outcomes["same", "longer"] != "slower"
        right += outcomes["one", "longer"] == outcomes["same", "longer"] == "faster"
    assert right >= 3


@pytest.mark.parametrize(("what", "said"), [("abort", "SIGABRT"), ("pause", "no answer within")])
def test_one_that_dies_or_hangs_loses_its_own_row_only(
    what: str, said: str, matmul: Source, on_cpu: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(race_heat, "FIRST_TURN_S", 2.0)
    start_with(monkeypatch, first=matmul.text, bad=DIES.format(what=what), last=matmul.text)
    (heat,) = on_cpu(matmul, Variant("-")).heats
    assert [row.status for row in heat.rows] == ["measured", "not_measured", "measured"]
    assert said in heat.rows[1].reason
    assert heat.lost == ""
    assert [(v.variant, v.other) for v in heat.verdicts] == [("first", "last")]


def test_a_wrong_result_has_no_time_and_says_which_element(
    matmul: Source, on_cpu: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_with(monkeypatch, good=matmul.text, bad=WRONG)
    (heat,) = on_cpu(matmul, Variant("-")).heats
    good, bad = heat.rows
    assert good.status == "measured"
    assert bad.status == "not_measured"
    assert re.search(r"elements of C differ; first C\[0, 0\]: got", bad.reason)
    assert bad.check.status == "mismatch"
    assert heat.winner == ""


def test_rounding_that_the_function_magnifies_is_not_wrong_and_hides_nothing(
    on_cpu: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = CANCELS.format(at="vk", factor=1)
    start_with(
        monkeypatch, same=text, other=CANCELS.format(at="(63 - vk)", factor=1),
        off=CANCELS.format(at="(63 - vk)", factor=1.001),
    )  # fmt: skip
    (heat,) = on_cpu(Source(text), Variant("-")).heats
    assert [row.check.status for row in heat.rows] == ["match", "match", "mismatch"]
    assert [row.status for row in heat.rows] == ["measured", "measured", "not_measured"]


def test_what_a_function_makes_of_memory_that_it_never_wrote_is_not_called_wrong(
    on_cpu: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = CARRIES.format(plus=1)
    start_with(monkeypatch, same=text, off=CARRIES.format(plus=2))
    (heat,) = on_cpu(Source(text), Variant("-")).heats
    same, off = heat.rows
    assert same.status == "measured"
    assert same.check.status == "not_checked"
    assert "64 of 512 elements of B have no right value" in same.check.detail
    assert off.status == "not_measured"
    assert re.search(r"\d+ of 512 elements of B differ; first B\[0, 0\]: got", off.reason)


def test_a_variant_that_is_not_built_says_why(matmul: Source, on_cpu: Run, variant: Make) -> None:
    bound = "sch.bind(sch.get_loops(sch.get_sblock('C'))[0], 'threadIdx.x')"
    (heat,) = on_cpu(matmul, Variant("plain"), variant(matmul, "gpu", bound)).heats
    assert heat.rows[0].status == "measured"
    assert heat.rows[1].status == "not_measured"
    assert "threadIdx.x: a CPU has no such axes" in heat.rows[1].reason


SYMBOLIC = """
@T.prim_func(s_tir=True)
def main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 8), "float16")
    B = T.match_buffer(b, (n, 8), "float16")
    for i, j in T.grid(n, 8):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float16(1)
"""
GATHER = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((50, 8), "float32"), I: T.Buffer((20,), "int32"),
         B: T.Buffer((20, 8), "float32")):
    for i, j in T.grid(20, 8):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[I[vi], vj]
"""
IN_PLACE = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
    for i in range(128):
        with T.sblock("B"):
            vi = T.axis.spatial(128, i)
            B[vi] = B[vi] * T.float32(2) + A[vi]
"""


def test_a_size_without_a_value_is_asked_for_and_kept_with_the_time(on_cpu: Run) -> None:
    (heat,) = on_cpu(Source(SYMBOLIC), Variant("plain")).heats
    assert heat.rows[0].status == "not_measured"
    assert "Give n a value." in heat.rows[0].reason
    (heat,) = on_cpu(Source(SYMBOLIC), Variant("plain"), sizes={"n": 96}).heats
    assert heat.rows[0].status == "measured"
    assert heat.rows[0].check.status == "match"
    assert heat.place.sizes == {"n": 96}


@pytest.mark.parametrize("text", [GATHER, IN_PLACE])
def test_indices_and_buffers_that_are_updated_are_checked_too(text: str, on_cpu: Run) -> None:
    (heat,) = on_cpu(Source(text), Variant("plain")).heats
    assert heat.rows[0].status == "measured"
    assert heat.rows[0].check.status == "match"


def test_the_cache_can_be_emptied_before_each_call(matmul: Source, on_cpu: Run) -> None:
    cold = Method(budget_s=0.3, cache="flushed")
    (heat,) = on_cpu(matmul, Variant("plain"), method=cold).heats
    assert heat.rows[0].status == "measured"
    assert heat.rows[0].runs == len(heat.rows[0].samples_us) + heat.rows[0].set_aside
    assert "cache emptied before each call" in heat.place.method


def test_every_function_has_a_heat_of_its_own(on_cpu: Run) -> None:
    source = Source(
        "@I.ir_module\nclass M:\n"
        + "\n".join("    " + line for name in ("one", "two") for line in IN_PLACE.replace(
            "main", name).strip().splitlines())
    )  # fmt: skip
    race = on_cpu(source, Variant("plain"))
    assert [heat.function for heat in race.heats] == ["one", "two"]
    race = on_cpu(source, Variant("plain"), function="two")
    assert [heat.function for heat in race.heats] == ["two"]


def test_a_pair_that_can_not_work_says_why(matmul: Source, on_cpu: Run) -> None:
    race = on_cpu(matmul, Variant("plain"), where=Where(runner="local_cuda"))
    assert "A GPU can't run code for llvm." in race.heats[0].rows[0].reason
    race = on_cpu(matmul, Variant("plain"), where=Where(runner="abacus"))
    assert "There is no runner abacus." in race.heats[0].rows[0].reason


def test_large_work_is_compared_on_a_sample(
    matmul: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(race_material, "WHOLE_STEPS", 1000)
    monkeypatch.setattr(race_material, "SAMPLE_STEPS", 20000)
    material = Material(module(matmul), "main", {})
    ready = material.make_reference()
    assert ready.made
    assert "sample" in ready.words
    result = material.expected[0][2].copy()
    assert material.wrong(0, [None, None, result]) == ""
    assert re.match(r"\d+ of \d+ elements of C differ", material.wrong(0, [None, None, result + 1]))
    assert material.check("", 3).status == "match"


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(SizeError, match="no value"):
        Material(module(Source(SYMBOLIC)), "main", {})
    with pytest.raises(SizeError, match="too large"):
        Material(module(Source(SYMBOLIC)), "main", {"n": 1 << 32})


def test_no_process_is_left_behind(matmul: Source, on_cpu: Run) -> None:
    before = children()
    on_cpu(matmul, Variant("plain"))
    assert children() <= before


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())
