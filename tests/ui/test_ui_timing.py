"""Times in words, tables, CSV and charts, from races made by hand; the tab without a device."""

from __future__ import annotations

import csv
import io
import math
import threading
from pathlib import Path

import msgspec
import pytest
from streamlit.testing.v1 import AppTest

from explorer.errors import Refusal, SizeError
from explorer.experiment import Variant
from explorer.model.loaded import Source
from explorer.model.options import with_options
from explorer.model.race import Heat, Method, Provenance, Race, Roof, Row, Verdict, Where
from explorer.model.result import Check
from explorer.model.studies import (
    Ablation,
    History,
    Static,
    StepTime,
    StepWorth,
    Sweep,
    SweepPoint,
)
from explorer.model.target import Target
from explorer.runners import chosen, local_cuda
from explorer.ui import races as race_store
from explorer.ui import times
from explorer.ui.panels import timing_charts, timing_plots, timing_setup, timing_studies
from explorer.ui.races import Entry, Races

GPU = Target(tag="nvidia/geforce-rtx-4090", kind="cuda", arch="sm_89")
APP = Path(__file__).parents[2] / "app.py"
PLACE = Provenance(
    runner="llvm", device="Some CPU (2 cores)", tvm="0.27", target="llvm", sizes={"n": 64},
    method="in rounds", date="2026-01-01T00:00:00+00:00", notes=("this machine is busy",),
)  # fmt: skip


def row(variant: str, us: float, **more: object) -> Row:
    fields = {
        "variant": variant, "status": "measured", "median_us": us, "low_us": us * 0.99,
        "high_us": us * 1.02, "spread": 0.015, "runs": 30, "rounds": 10, "gflops": 200 / us,
        "gbs": 50 / us, "samples_us": (us, us * 1.01, us * 0.99),
        "check": Check(status="match", detail="agree"),
    }  # fmt: skip
    return Row(**{**fields, **more})  # type: ignore[arg-type]


def verdict(variant: str, other: str, outcome: str, ratio: float, words: str) -> Verdict:
    return Verdict(
        variant=variant, other=other, outcome=outcome, ratio=ratio, low=ratio * 0.98,  # type: ignore[arg-type]
        high=ratio * 1.02, words=words,
    )  # fmt: skip


SLOW = row("<slow>", 20.0)
FAST = row("fast", 10.0)
NOT = Row(variant="gpu", status="not_measured", reason="It binds loops to GPU threads.")
HEAT = Heat(
    function="main", place=PLACE, rows=(SLOW, FAST, NOT), winner="fast",
    verdicts=(verdict("<slow>", "fast", "slower", 0.5, "2.00× ± 0.04 slower"),),
)  # fmt: skip
RACE = Race(heats=(HEAT,))
ENTRY = Entry(
    source=Source("text"), variants=(Variant("<slow>"), Variant("fast")), target="llvm", sizes={}
)


@pytest.mark.parametrize(
    ("us", "text"),
    [(0.5, "0.5000 µs"), (12.345, "12.35 µs"), (1585.1, "1585 µs"), (25_000, "25.00 ms"),
     (12_000_000, "12.00 s")],
)  # fmt: skip
def test_a_time_has_four_digits_and_a_unit(us: float, text: str) -> None:
    assert times.micros(us) == text


def test_a_verdict_names_the_faster_one_first() -> None:
    assert times.conclusion(HEAT) == ("fast is 2.00× ± 0.04 faster than <slow>.",)
    same = verdict("a", "b", "no_difference", 1.0, "no difference seen (±1.1 %)")
    assert times.verdict_sentence(same) == "a and b: no difference seen (±1.1 %)."


def test_the_table_has_method_reason_interval_and_no_markup_of_names() -> None:
    shown = times.heat_html(HEAT, frozenset({"<slow>"}))
    assert "20.00 µs (19.80 µs to 20.40 µs)" in shown
    assert "It binds loops to GPU threads." in shown
    assert "in rounds" in shown
    assert "device: Some CPU (2 cores)" in shown
    assert "&lt;slow&gt;" in shown
    assert "<slow>" not in shown
    assert shown.count("changed since") == 1
    assert "fastest" in shown


def test_a_table_without_a_time_shows_the_bound_as_a_bound() -> None:
    bound = msgspec.structs.replace(NOT, bound_us=0.195)
    shown = times.heat_html(msgspec.structs.replace(HEAT, rows=(bound,), winner=""))
    assert "Bound, not a time" in shown
    assert "≥ 0.1950 µs" in shown
    assert "GFLOP/s" not in shown


def test_rows_without_a_gpu_name_the_form_and_no_option_of_the_command_line() -> None:
    refusal = local_cuda.places(Where(device=9), GPU)
    assert isinstance(refusal, Refusal)
    row = msgspec.structs.replace(NOT, reason=refusal.sentence())
    shown = times.heat_html(msgspec.structs.replace(HEAT, rows=(row,), winner=""))
    assert "Use a remote GPU…&quot; opens its form" in shown
    assert "--rpc" not in shown
    assert "--rpc HOST:PORT" in with_options(refusal.sentence())


def test_every_sentence_of_a_runner_is_free_of_options() -> None:
    for where in (
        Where(runner="rpc"), Where(server="nowhere"), Where(tracker="127.0.0.1:1"),
        Where(runner="local_cuda", device=9), Where(runner="llvm"), Where(runner="abacus"),
    ):  # fmt: skip
        found = chosen(where, GPU)
        if not isinstance(found, Refusal):
            found = found.places(where, GPU)
        assert isinstance(found, Refusal)
        assert "--" not in found.sentence()
    assert with_options("Give m, n a value.") == "Give m, n a value (--size m=1024 --size n=1024)."


LIBRARY = row("NumPy matmul", 5.0, library="NumPy 9 (BLAS 1)")
ROOF = Roof(
    device="Some CPU", peak_gflops=100.0, peak_gbs=10.0, source="peaks measured here on 2026-01-01",
    measured=True, tolerance=2.0, one_core_gflops=50.0, holds="arithmetic and memory",
)  # fmt: skip


def test_a_library_is_marked_as_one_and_the_bound_says_where_it_is_from() -> None:
    heat = msgspec.structs.replace(HEAT, rows=(SLOW, LIBRARY), roof=ROOF)
    shown = times.heat_html(heat)
    assert 'title="NumPy 9 (BLAS 1)"' in shown
    assert "library: NumPy 9 (BLAS 1)" in shown
    assert "peaks measured here on 2026-01-01" in shown
    assert "more than 2 times faster" in shown
    records = list(csv.DictReader(io.StringIO(times.race_csv(Race(heats=(heat,))))))
    assert [record["library"] for record in records] == ["", "NumPy 9 (BLAS 1)"]
    assert records[0]["bound_from"] == ROOF.source
    data = timing_plots.medians([heat]).to_plotly_json()["data"][0]
    assert "library: NumPy 9" in data["customdata"][1]
    spots = timing_charts.measured_spots(heat)
    one_core, all_cores, _ = timing_plots.roofline(ROOF, spots).to_plotly_json()["data"]
    assert (max(one_core["y"]), max(all_cores["y"])) == (50.0, 100.0)
    assert "measured peaks" in all_cores["name"]


def test_csv_has_all_a_number_has_to_be_read_with() -> None:
    records = list(csv.DictReader(io.StringIO(times.race_csv(RACE))))
    assert [record["variant"] for record in records] == ["<slow>", "fast", "gpu"]
    assert records[1]["median_us"] == "10.0"
    assert {records[0][name] for name in ("device", "method", "sizes", "date")} == {
        PLACE.device, PLACE.method, "n=64", PLACE.date,
    }  # fmt: skip
    assert "'=1+1" in times.table_csv([{"variant": "=1+1"}])
    assert len(times.samples_csv(HEAT, "fast").splitlines()) == 4


def test_medians_have_intervals_and_hover_with_provenance() -> None:
    data = timing_plots.medians([HEAT]).to_plotly_json()["data"][0]
    assert list(data["x"]) == [20.0, 10.0]
    assert data["error_x"]["array"] == pytest.approx([0.4, 0.2])
    assert data["error_x"]["arrayminus"] == pytest.approx([0.2, 0.1])
    assert "method: in rounds" in data["customdata"][0]
    assert "&lt;slow&gt;" in data["customdata"][0]


def test_the_roofline_has_a_roof_and_a_point_for_each_measured_variant() -> None:
    spots = timing_charts.measured_spots(HEAT)
    assert [spot.variant for spot in spots] == ["<slow>", "fast"]
    assert spots[0].intensity == pytest.approx(4)
    roof = Roof(device="G", peak_gflops=1000, peak_gbs=100, source="sheet")
    lines = timing_plots.roofline(roof, spots).to_plotly_json()["data"]
    assert max(lines[0]["y"]) == 1000
    assert min(lines[0]["y"]) == 100 * min(lines[0]["x"])
    assert len(timing_plots.roofline(None, spots).to_plotly_json()["data"]) == 1


def test_memory_is_no_roof_for_data_that_the_cache_may_hold() -> None:
    spots = timing_charts.measured_spots(HEAT)
    roof = Roof(device="G", peak_gflops=1000, peak_gbs=1, source="sheet", cached=True)
    flat, slope, points = timing_plots.roofline(roof, spots).to_plotly_json()["data"]
    assert set(flat["y"]) == {1000}
    assert flat["line"]["dash"] == "solid"
    assert slope["line"]["dash"] == "dash"
    assert "cache may spare" in slope["name"]
    assert max(points["y"]) < 1000


def test_a_sweep_marks_sizes_that_a_tile_does_not_divide() -> None:
    left = {"fast": ("i (65) is no multiple of 16: 1 are left over",)}
    sweep = Sweep(
        name="n",
        points=(SweepPoint(value=64, sizes={"n": 64}, race=RACE),
                SweepPoint(value=65, sizes={"n": 65}, race=RACE, remainders=left)),
    )  # fmt: skip
    slow, fast = timing_plots.sweep(sweep, ["<slow>", "fast"]).to_plotly_json()["data"]
    assert list(slow["marker"]["symbol"]) == ["circle", "circle"]
    assert list(fast["marker"]["symbol"]) == ["circle", "x"]
    table = timing_studies.sweep_html(sweep)
    assert "no multiple of 16" in table
    assert table.count("<td>fast</td>") == 2
    assert len(times.sweep_csv(sweep).splitlines()) == 7


def test_steps_are_told_with_what_they_changed_and_are_worth() -> None:
    change = verdict("1", "0", "faster", 2.0, "2.00× ± 0.04 faster")
    steps = (
        StepTime(step=0, line="", median_us=20.0, low_us=19.0, high_us=21.0),
        StepTime(step=1, line="sch.parallel(i)", median_us=10.0, change=change),
        StepTime(step=2, line="sch.bind(i)", reason="It does not build."),
    )
    history = History(function="main", steps=steps, race=RACE)
    shown = timing_studies.history_html(history)
    assert "2.00× ± 0.04 faster" in shown
    assert "It does not build." in shown
    line = timing_plots.history(history).to_plotly_json()["data"][0]
    assert list(line["y"]) == [20.0, 10.0, None]
    worth = StepWorth(step=0, line="sch.parallel(i)", worth=2.0, verdict=change)
    ablation = Ablation(function="main", steps=(worth,), shortest=(0,), kept=1.0, race=RACE)
    bars = timing_plots.ablation(ablation).to_plotly_json()["data"][0]
    assert list(bars["x"]) == [2.0]
    assert "No step can be left out" in timing_studies.shortest(ablation)


def test_values_of_a_size_are_read_or_refused() -> None:
    assert timing_studies.read_values("256, 512 1024,256") == (256, 512, 1024)
    for text in ("", "12x", "-4", "0", "1.5", ",".join(map(str, range(1, 20)))):
        with pytest.raises(SizeError):
            timing_studies.read_values(text)
    assert timing_studies.default_values("128", {}) == "32, 64, 96, 128, 192, 256"


def test_what_can_not_be_timed_says_why() -> None:
    nowhere = msgspec.structs.replace(ENTRY, where=Where(runner="rpc"))
    assert "No remote device" in str(timing_setup.refusal(nowhere))
    keyless = msgspec.structs.replace(ENTRY, where=Where(runner="rpc", tracker="127.0.0.1:1"))
    assert "key" in str(timing_setup.refusal(keyless))
    assert "No variant" in str(timing_setup.refusal(msgspec.structs.replace(ENTRY, variants=())))


def test_figures_are_kept_by_content_and_a_reason_replaces_none() -> None:
    races = Races()
    races.remember(ENTRY, RACE)

    def medians(variant: Variant, target: str = "llvm") -> list[float | None]:
        found = races.figures(ENTRY.source, variant, target, {})
        return [figure.row.median_us for figure in found]

    assert medians(Variant("fast")) == [10.0]
    assert medians(Variant("another name")) == [10.0]
    assert medians(Variant("fast"), "nvidia/geforce-rtx-4090") == []
    broken = Row(variant="fast", status="not_measured", reason="The device was lost.")
    races.remember(ENTRY, Race(heats=(msgspec.structs.replace(HEAT, rows=(broken,)),)))
    assert medians(Variant("fast")) == [10.0]


def test_a_study_tells_news_and_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    told, go_on = threading.Event(), threading.Event()

    def verb(entry: Entry, on_news: object) -> Race:
        on_news(RACE)  # type: ignore[operator]
        told.set()
        assert go_on.wait(30)
        return RACE

    monkeypatch.setitem(race_store.VERBS, "race", verb)
    races = Races()
    study = races.start("tab", "race", ENTRY)
    assert told.wait(30)
    assert study.latest == RACE
    assert study.active
    study.cancel()
    go_on.set()
    study.future.result(30)
    assert study.cancelled
    assert study.answer is None
    assert study.problem is None
    again = races.start("tab", "race", ENTRY)
    assert again.future.result(30) == RACE
    assert races.of("tab", "race") is again
    assert math.isclose(Method().budget_s, again.entry.method.budget_s)


@pytest.mark.usefixtures("no_gpu")
def test_the_tab_without_a_device_says_so_and_offers_ways_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["app.py"])
    page = AppTest.from_file(str(APP), default_timeout=120).run()
    page.session_state["below"] = "Timing"
    page.run()
    assert not page.exception
    shown = " ".join(str(element.proto.body) for element in page.get("html"))
    assert "No CUDA device on this machine." in shown
    page.button(key="time_remote").click().run()
    assert not page.exception
    shown = " ".join(str(element.proto.body) for element in page.get("html"))
    assert "no authentication" in shown
    assert page.text_input(key="time_at_server").value == "127.0.0.1:9090"
    page.selectbox(key="time_runner 1").set_value("local_cuda").run()
    page.button(key="time_llvm").click().run()
    assert page.session_state["desk"].experiment.target == "llvm"
    assert page.button(key="time_start")


def test_an_ablation_without_a_device_has_figures_bounds_and_reasons() -> None:
    whole = Row(variant="whole recipe", status="not_measured", reason="No CUDA device.")
    race = Race(heats=(msgspec.structs.replace(HEAT, rows=(whole,), verdicts=()),))
    static = Static(registers=32, shared_bytes=4096, instructions=99, occupancy=0.5, bound_us=0.25)
    steps = (
        StepWorth(step=0, line="sch.unroll(i)", static=static, reason="No CUDA device."),
        StepWorth(step=1, line="sch.bind(i)", reason="Not built. No kernel."),
    )
    found = Ablation(function="main", steps=steps, static=static, race=race)
    shown = timing_studies.ablation_html(found)
    assert "Not timed, figures of the compiler. No CUDA device." in shown
    assert shown.count("≥ 0.2500 µs") == 2
    assert "Not built. No kernel." in shown
    assert shown.count("No CUDA device.") == 1  # in the caption, not in each row
    assert "How it was timed" in timing_studies.history_html(
        History(function="main", steps=(), race=RACE)
    )


def test_what_was_typed_right_before_the_click_is_what_is_raced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[Entry] = []
    monkeypatch.setattr(timing_setup.state, "begin", lambda kind, entry: begun.append(entry))
    typed = {"time_by": "tracker", "time_at_tracker": " 127.0.0.1:7 ", "time_key": "k"}
    monkeypatch.setattr(timing_setup.st, "session_state", typed)
    old = Where(runner="rpc", server="127.0.0.1:9090")
    timing_setup.begin("race", msgspec.structs.replace(ENTRY, where=old))
    assert begun[0].where == Where(runner="rpc", tracker="127.0.0.1:7", key="k")
    typed["time_key"] = ""
    timing_setup.begin("race", msgspec.structs.replace(ENTRY, where=old))
    timing_setup.begin("race", ENTRY)
    assert [entry.where.runner for entry in begun] == ["rpc", ""]
