"""The Tuning tab from folders made by hand: words, charts, tables, steering, and the tab itself."""

from __future__ import annotations

import math
import time
from pathlib import Path

import msgspec
import pytest
from streamlit.testing.v1 import AppTest

from explorer import samples
from explorer.errors import Refusal
from explorer.experiment import Experiment, Variant
from explorer.model.loaded import Loaded, Source
from explorer.model.nest import Nest
from explorer.model.race import Provenance, Where
from explorer.model.result import Check
from explorer.model.target import Target
from explorer.tuning import rules
from explorer.tuning.events import (
    Candidate,
    Checked,
    Decision,
    Design,
    Entered,
    Event,
    Finished,
    Rival,
    Started,
    Steered,
)
from explorer.tuning.folder import Folder
from explorer.tuning.job import Ban, Pin, Steering, Task, TuneJob
from explorer.tuning.records import Records, TuningRecord, Workload
from explorer.tuning.summary import FUNNEL, Summary
from explorer.ui import ask, tunes, tunes_words
from explorer.ui import desk as desks
from explorer.ui.panels import (
    tuning,
    tuning_candidate,
    tuning_import,
    tuning_live,
    tuning_plots,
    tuning_setup,
    tuning_steer,
)

APP = Path(__file__).parents[2] / "app.py"
TEXT = samples.sample("03_matmul_float32").text
JOB = TuneJob(
    title="Matmul", source=Source(TEXT), target="llvm", tasks=(Task("main"),), runner="llvm",
    trials=8,
)  # fmt: skip
PLACE = Provenance(runner="llvm", device="Some CPU", method="median of 5 runs")
DESIGN = Design(
    function="main", number=0, trace="[]", rule="MultiLevelTiling",
    decisions=(
        Decision(4, "tile of i in block C", parts=3),
        Decision(9, "limit of unrolling in block root", candidates=(0, 16, 64, 512)),
        Decision(12, "loop that block D is computed at"),
    ),
)  # fmt: skip
GENE: tuple[tuple[int, int | tuple[int, ...]], ...] = ((4, (2, 8, 8)), (9, 2), (12, -1))


def candidate(id: int, **more: object) -> Candidate:
    fields = {
        "at": 100.0 + id, "id": id, "function": "main", "fate": "measured", "us": 50.0 - id,
        "trial": id, "design": 0, "decisions": GENE,
    }  # fmt: skip
    return Candidate(**{**fields, **more})  # type: ignore[arg-type]


RUN: tuple[Event, ...] = (
    Started(at=100.0, pid=1, place=PLACE),
    Entered(100.1, "main", "searching"),
    DESIGN,
    Rival(at=100.2, function="main", name="<Original>", us=90.0),
    Rival(at=100.2, function="main", name="broken", reason="It does not build."),
    candidate(1),
    candidate(2, origin="mutated from 1", score=0.5),
    candidate(3, fate="rejected", us=None, trial=0, by="VerifyGPUCode", reason="Too many."),
    candidate(4, fate="rejected", us=None, trial=0, by="RewriteLayout", reason="No layout."),
    candidate(5, fate="wrong", us=None, reason="Off by 2.", by="reference"),
    Checked(at=110.0, function="main", id=2, rank=1, check=Check(status="match", detail="Agrees.")),
)


def summary(*events: Event, job: TuneJob = JOB) -> Summary:
    found = Summary(job)
    found.add(list(events or RUN))
    return found


STATIC = msgspec.structs.replace(JOB, runner="static", target="nvidia/geforce-rtx-4090")
PREDICTED = candidate(1, fate="predicted", us=None, predicted_us=4.0)


# Words


def test_decisions_are_told_by_what_they_mean() -> None:
    found = tunes_words.choices(candidate(1), DESIGN)
    assert [(each.what, each.text) for each in found] == [
        ("tile of i in block C", "2 × 8 × 8"),
        ("limit of unrolling in block root", "64"),
        ("loop that block D is computed at", "at the root"),
    ]
    assert [each.what for each in tunes_words.choices(candidate(1), None)] == [
        "instruction 4", "instruction 9", "instruction 12",
    ]  # fmt: skip


def test_steering_is_told_in_words() -> None:
    steering = Steering(
        pins=(Pin("main", 0, 4, (1, 8, 16)),),
        bans=(Ban("main", 0), Ban("main", 0, 4, 2, 1, 4), Ban("main", 0, 9, None, 3, 3)),
        without_rules=("AutoInline",), with_rules=("AddRFactor",), seeds=(("mine", "main", ()),),
    )  # fmt: skip
    assert tunes_words.steering_words(steering, summary()) == [
        "Keep tile of i in block C at 1 × 8 × 16",
        "Leave out design 0 (MultiLevelTiling)",
        "Leave out tile of i in block C, factor 3 from 1 to 4",
        "Leave out limit of unrolling in block root at 512",
        "Without the rule AutoInline",
        "With the rule AddRFactor",
        "Try mine's decisions first",
    ]


def test_every_fate_and_ending_has_words() -> None:
    assert set(tunes_words.FATES) == set(FUNNEL)
    for how in ("done", "stopped", "budget", "exhausted", "failed"):
        assert tunes_words.ending(Finished(1.0, how, "Because.")).endswith("Because.")  # type: ignore[arg-type]


def test_a_prediction_is_called_one_wherever_it_stands() -> None:
    found = summary(PREDICTED, job=STATIC)
    assert tunes_words.figure_text(PREDICTED) == "4.000 µs predicted"
    assert "nothing was run" in tunes_words.method(found)
    assert tuning_plots.convergence(found, "main").layout.yaxis.title.text == "predicted, µs"
    assert "predicted" in found_row(found, PREDICTED, "predicted")[1]
    assert tunes_words.method(summary()) == "measured on Some CPU · median of 5 runs"
    assert tunes_words.figure_text(candidate(1)) == "49.00 µs"


def test_the_check_of_a_candidate_is_told_or_why_there_is_none() -> None:
    found = summary()
    assert tunes_words.check_of(found, candidate(2)).text == "match"
    assert tunes_words.check_of(found, candidate(1)).text == "outputs agree"
    assert tunes_words.check_of(found, PREDICTED).text == "not checked"
    assert tunes_words.check_of(found, candidate(3, origin="imported")).text == "not checked"
    early = tunes_words.check_of(found, candidate(1, unproved=True))
    assert early.text == "not compared yet"
    never = tunes_words.check_of(found, candidate(1, reason="Its outputs were not compared: slow."))
    assert (never.text, never.why) == ("not compared", "Its outputs were not compared: slow.")


def test_the_history_is_told_latest_first_and_escaped() -> None:
    told = tunes_words.history_html(summary(*RUN, Steered(120, "steered", "<b>1 pin")))
    assert told.index("1 pin") < told.index("Started.")
    assert "&lt;b&gt;" in told
    many = [Steered(200.0 + n, "paused") for n in range(50)]
    assert "earlier ones" in tunes_words.history_html(summary(*RUN, *many))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(8.2, "8 s"), (89, "89 s"), (150, "2 min"), (4800, "80 min"), (8400, "2 h 20 min")],
)
def test_durations_are_short(seconds: float, text: str) -> None:
    assert tunes_words.duration(seconds) == text


# Tables and charts


def found_row(found: Summary, one: Candidate, fate: str) -> list[str]:
    cells = tuning_live.row(found, one, fate).cells  # type: ignore[arg-type]
    return [cell if isinstance(cell, str) else cell.text for cell in cells]


def test_the_funnel_shows_every_fate_and_what_ended_those_of_the_open_one() -> None:
    rows = {row.id: row for row in tuning_live.funnel_rows(summary(), "main", "rejected")}
    assert list(rows) == [
        "sampled|", "rejected|", "rejected|VerifyGPUCode", "rejected|RewriteLayout", "duplicate|",
        "passed_over|", "build_failed|", "timed_out|", "run_failed|", "wrong|", "measured|",
    ]  # fmt: skip
    assert rows["sampled|"].cells[1].text == "5"
    assert rows["rejected|"].cells[1].text == "2"
    assert rows["rejected|"].cells[1].share == pytest.approx(0.4)
    static = tuning_live.funnel_rows(summary(PREDICTED, job=STATIC), "main", "predicted")
    assert [row.id for row in static][-1] == "predicted|"
    assert not {"measured|", "wrong|", "run_failed|"} & {row.id for row in static}


def test_each_count_opens_its_candidates_with_reason_and_by() -> None:
    found = summary()
    rejected = tuning_live.listed(found, "main", "rejected", "")
    assert [found_row(found, each, "rejected") for each in rejected] == [
        ["#4", "No layout.", "RewriteLayout", "sampled"],
        ["#3", "Too many.", "VerifyGPUCode", "sampled"],
    ]
    assert [e.id for e in tuning_live.listed(found, "main", "rejected", "VerifyGPUCode")] == [3]
    assert [e.id for e in tuning_live.listed(found, "main", "measured", "")] == [2, 1]
    assert len(tuning_live.listed(found, "main", "sampled", "")) == 5
    assert found_row(found, candidate(5, fate="wrong", us=None, reason="Off."), "sampled")[2] == (
        "Off."
    )


def test_a_measured_candidate_that_its_check_refutes_is_listed_last() -> None:
    bad = Checked(
        at=111, function="main", id=2, rank=1, check=Check(status="mismatch", detail="Off.")
    )
    found = summary(*RUN, bad)
    assert [e.id for e in tuning_live.listed(found, "main", "measured", "")] == [1, 2]
    assert found_row(found, candidate(2), "measured")[3] == "wrong result"


def test_the_curve_has_dots_with_ids_the_best_line_and_rivals() -> None:
    drawn = tuning_plots.convergence(summary(), "main").to_plotly_json()
    by_name = {trace.get("name"): trace for trace in drawn["data"]}
    assert [dot[0] for dot in by_name["sampled"]["customdata"]] == [1]
    assert "mutated from 1" in by_name["mutated"]["customdata"][0][1]
    assert list(by_name["best so far"]["y"]) == [49.0, 48.0]
    (note,) = drawn["layout"]["annotations"]
    assert note["text"] == "&lt;Original&gt;: 90.00 µs"
    assert note["y"] == pytest.approx(math.log10(90))


def test_very_many_dots_are_thinned_and_the_best_are_kept() -> None:
    many = [candidate(n, us=float(n)) for n in range(1, 10_001)]
    shown = tuning_plots.thinned(many)
    assert len(shown) <= tuning_plots.MOST_DOTS
    assert shown[:100] == many[:100]
    assert tuning_plots.thinned(many[:50]) == many[:50]


def test_the_tiles_name_phase_trials_best_rival_and_an_estimate(tmp_path: Path) -> None:
    watch = watched(tmp_path, *RUN)
    watch.state = "running"
    told = {name: value for name, value, _ in tuning_live.tiles(watch, "main", 106.0)}
    assert told["Phase"] == "searching"
    assert told["Trials"] == "3 of 8"
    assert told["Best so far"] == "48.00 µs"
    assert told["Best rival: <Original>"] == "90.00 µs"
    assert told["Time left"] == "about 10 s"
    watch.state = "ended"
    assert "Time left" not in [name for name, _, _ in tuning_live.tiles(watch, "main", 106.0)]


def test_how_an_ended_search_goes_on(tmp_path: Path) -> None:
    assert tuning_live.further(watched(tmp_path, *RUN)) == ("Resume: 5 trials left", None)
    done = [candidate(n) for n in range(1, 9)]
    assert tuning_live.further(watched(tmp_path, *done)) == ("64 more trials", 72)


# Steering


def test_a_pin_replaces_another_of_the_same_decision_and_bans_are_kept_once() -> None:
    one = tuning_steer.pinned(Steering(), Pin("main", 0, 4, (1, 8, 16)))
    two = tuning_steer.pinned(one, Pin("main", 0, 4, (2, 8, 8)))
    assert two.pins == (Pin("main", 0, 4, (2, 8, 8)),)
    three = tuning_steer.pinned(two, Pin("main", 0, 9, 1))
    assert len(three.pins) == 2
    banned = tuning_steer.banned(tuning_steer.banned(three, Ban("main", 1)), Ban("main", 1))
    assert banned.bans == (Ban("main", 1),)
    assert tuning_steer.without_lines(banned, [1]).pins == (Pin("main", 0, 9, 1),)
    assert tuning_steer.without_lines(banned, [0, 2]).bans == (Ban("main", 1),)
    assert tuning_steer.without_lines(banned, []) == Steering()


def test_rules_are_told_as_what_is_left_out_and_added() -> None:
    usual = ("AutoBind", "AutoInline")
    told = tuning_steer.with_rules(Steering(), ["AutoBind", "AddRFactor"], usual)
    assert (told.without_rules, told.with_rules) == (("AutoInline",), ("AddRFactor",))
    back = tuning_steer.with_rules(told, usual, usual)
    assert back == Steering()


def test_the_rules_of_a_target_with_tensor_cores_use_them() -> None:
    new, old = (Target(tag="t", kind="cuda", arch=arch) for arch in ("sm_89", "sm_70"))
    assert "MultiLevelTilingTensorCore" in rules.usual(new)
    assert "MultiLevelTilingTensorCore" not in rules.usual(old)
    cpu = Target(tag="llvm", kind="llvm", arch="")
    assert "AutoBind" not in rules.usual(cpu)
    assert not set(rules.usual(cpu)) & set(rules.extra(cpu))


# The form


def test_figures_come_from_the_processor_the_gpu_or_the_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cpu = Target(tag="llvm", kind="llvm", arch="")
    gpu = Target(tag="nvidia/geforce-rtx-4090", kind="cuda", arch="sm_89")
    none = Refusal(what="No CUDA device on this machine.", why="There is none.")
    asked: list[Where] = []

    def can_time(target: str, where: Where) -> Refusal | None:
        asked.append(where)
        return none if target != "llvm" and where.runner == "local_cuda" else None

    monkeypatch.setattr(tuning_setup.workbench, "can_time", can_time)
    assert tuning_setup.preselected(cpu) == "llvm"
    assert tuning_setup.preselected(gpu) == "static"
    assert tuning_setup.refusal("cuda", gpu) == none
    assert tuning_setup.refusal("static", gpu) is None
    assert "CUDA only" in tuning_setup.refusal("static", cpu).sentence()  # type: ignore[union-attr]
    remote = Where(runner="rpc", server="127.0.0.1:9")
    assert tuning_setup.refusal("rpc", gpu, remote) is None
    assert asked[-1] == remote
    assert "No CUDA device" in tuning_setup.short(none)


def desk_of(*variants: Variant, symbols: tuple[str, ...] = ()) -> desks.Desk:
    loaded = Loaded(
        text="text", original="text", module="M", modules=("M",), nest=Nest(functions=()),
        symbols=symbols, migrations=(), notes=(), constants=(), schedule="",
    )  # fmt: skip
    experiment = Experiment(
        source=Source(TEXT), target="llvm", variants=(Variant(desks.ORIGINAL), *variants)
    )
    return desks.Desk(experiment=experiment, loaded=loaded)


def test_the_form_says_what_it_lacks() -> None:
    assert tuning_setup.missing(desk_of(), ["main"]) is None
    assert "No function" in tuning_setup.missing(desk_of(), []).sentence()  # type: ignore[union-attr]
    lacking = tuning_setup.missing(desk_of(symbols=("n", "m")), ["main"])
    assert lacking is not None
    assert lacking.what == "n, m have no values."


def test_a_click_right_after_typing_takes_what_was_typed() -> None:
    job = msgspec.structs.replace(JOB, tasks=(Task("main"), Task("other", 2.0)))
    now = {"tune_trials": 6, "tune_minutes": 1.5, "tune_seed": 3, "tune_weight_main": 4.0}
    told = tuning_setup.typed(job, now)
    assert (told.trials, told.budget_min, told.seed) == (6, 1.5, 3)
    assert told.tasks == (Task("main", 4.0), Task("other", 2.0))
    assert tuning_setup.typed(job, {}) == job


# A candidate as a variant


def test_a_candidate_becomes_a_variant_that_can_be_edited_from_any_step() -> None:
    steps = ("one", "two", "three")
    after = tuning_candidate.as_variant(desk_of(), "tuned 7", steps, 2)
    assert after.current == Variant("tuned 7", ("one", "two"), ("three",))
    again = tuning_candidate.as_variant(after, "tuned 7", steps, 3)
    assert desks.names(again) == [desks.ORIGINAL, "tuned 7"]
    assert again.current.steps == steps
    changed = desks.remove(again, 0)
    other = tuning_candidate.as_variant(changed, "tuned 7", steps, 3)
    assert other.variant == "tuned 7 2"


# Databases


def test_a_database_is_told_and_listed_fastest_first() -> None:
    found = Records(
        workloads=(Workload(number=0, function="main", args=("float32[8]",)),),
        records=(
            TuningRecord(number=1, workload=0, us=9.0, target="llvm"),
            TuningRecord(number=2, workload=0, us=3.0, target="llvm"),
            TuningRecord(number=3, workload=0),
        ),
    )
    assert tuning_import.about(found) == (
        "3 records of 1 functions, 2 with a time. The fastest took 3.000 µs."
    )
    assert [row.id for row in tuning_import.rows(found)] == ["2", "1", "3"]
    assert tuning_import.rows(found)[2].cells[1] == "no time"


# The tab


def watched(path: Path, *events: Event, job: TuneJob = JOB) -> tunes.Watch:
    folder = Folder(path / f"job{time.monotonic_ns()}")
    folder.create(job)
    for event in events:
        folder.tell(event)
    return tunes.Watch(folder.path)


def test_a_watch_reads_only_news_and_keeps_what_it_derived(tmp_path: Path) -> None:
    watch = watched(tmp_path, *RUN)
    assert watch.state == "killed"
    made = []
    for _ in range(3):
        watch.look()
        watch.kept("x", lambda: made.append(watch.seen))
    watch.folder.tell(Finished(120.0, "done"))
    watch.look()
    watch.kept("x", lambda: made.append(watch.seen))
    assert made == [len(RUN), len(RUN) + 1]
    assert watch.state == "ended"


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_gpu: None) -> AppTest:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["app.py"])
    root = tmp_path / "tvm-schedule-explorer" / "tuning"
    for name, job, events in (
        ("one", JOB, RUN),
        ("two", STATIC, (Started(at=100.0, pid=1), DESIGN, PREDICTED, Finished(130.0, "done"))),
    ):
        folder = Folder(root / name)
        folder.create(job)
        for event in events:
            folder.tell(event)
    (root / "broken").mkdir()
    return AppTest.from_file(str(APP), default_timeout=180)


def html(at: AppTest) -> str:
    return " ".join(str(element.proto.body) for element in at.get("html"))


def at_tab(page: AppTest, open_: str = "") -> AppTest:
    page.session_state["below"] = "Tuning"
    if open_:
        page.session_state[tunes.OPEN] = open_
    page.run().run()  # the first draws the graph alone
    assert not page.exception
    return page


def test_the_tab_lists_jobs_and_explains_why_it_predicts(page: AppTest) -> None:
    at_tab(page)
    shown = html(page)
    assert "A search samples schedules" in shown
    assert "No CUDA device on this machine. So candidates are built and ranked" in shown
    radio = next(each for each in page.radio if each.label == "Figures from")
    assert radio.value == "static"
    assert page.button(key="tune_start").disabled is False
    radio.set_value("cuda").run()
    assert page.button(key="tune_start").disabled is True


def test_a_module_with_symbolic_sizes_is_opened_with_numbers(page: AppTest) -> None:
    page.run()
    sample = Source((APP.parent / "sample_modules" / "15_dynamic_shape.py").read_text())
    desk = desks.start(ask.opened(sample), sample, title="Scale", target="llvm")
    page.session_state["desk"] = desks.new_variant(desk, "Mine")
    at_tab(page)
    assert "n has no value. Tiles are sampled as divisors of a size" in html(page)
    page.session_state["desk"] = desks.set_sizes(page.session_state["desk"], {"n": 96})
    page.run()
    assert "n: symbolic here. Tiles are sampled as divisors of a size" in html(page)
    button = page.button(key="tune_fix")
    assert button.label == r"Open it with n \= 96"
    button.click().run()
    assert not page.exception
    opened = page.session_state["desk"]
    assert opened.experiment.title == "Scale, n = 96"
    assert "T.Buffer((96,)" in opened.source.text
    assert (opened.loaded.symbols, opened.experiment.sizes) == ((), {})
    assert [variant.name for variant in opened.experiment.variants] == ["Original", "Mine"]
    assert page.button(key="tune_start").disabled is False


def test_a_killed_job_offers_resume_and_steering_is_a_draft_until_told(
    page: AppTest, tmp_path: Path
) -> None:
    path = tmp_path / "tvm-schedule-explorer" / "tuning" / "one"
    page.session_state[f"tune_draft_{path}"] = Steering(pins=(Pin("main", 0, 4, (2, 8, 8)),))
    at_tab(page, str(path))
    assert page.button(key="tune_resume").label == "Resume"
    shown = html(page)
    assert "measured on Some CPU · median of 5 runs" in shown
    assert "Its process is gone" in shown
    tags = [each for each in page.multiselect if each.label == "Pinned and banned"]
    assert [tag.options for tag in tags] == [["Keep tile of i in block C at 2 × 8 × 8"]]
    assert page.button(key="tune_go").disabled is False
    page.button(key="tune_forget").click().run()
    assert not page.exception
    assert page.button(key="tune_go").disabled is True
    assert not (path / "control.json").exists()


def test_predictions_are_called_that_on_the_page(page: AppTest, tmp_path: Path) -> None:
    path = tmp_path / "tvm-schedule-explorer" / "tuning" / "two"
    at_tab(page, str(path))
    shown = html(page)
    assert "Best, predicted" in shown
    assert "4.000 µs predicted" in shown
    assert "nothing was run" in shown
    assert page.button(key="tune_more").label == "Resume: 7 trials left"


def test_a_folder_without_a_job_or_database_is_explained(page: AppTest, tmp_path: Path) -> None:
    at_tab(page, tuning_import.OPEN)
    page.text_input(key="tune_path").set_value(str(tmp_path / "nowhere")).run()
    assert not page.exception
    assert 'role="alert"' in html(page)
    other = tmp_path / "tvm-schedule-explorer" / "tuning" / "one"
    page.text_input(key="tune_path").set_value(str(other)).run()
    page.button(key="tune_import").click().run()
    assert not page.exception
    assert page.session_state[tunes.OPEN] == str(other)


def test_the_list_names_target_and_day() -> None:
    noon = time.mktime((2026, 3, 4, 12, 0, 0, 0, 0, -1))
    assert tuning.day(noon, noon + 60) == "12:00"
    assert tuning.day(noon, noon + 3 * 86400) == "04 Mar 12:00"
