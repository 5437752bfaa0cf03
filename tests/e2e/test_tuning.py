"""A search in the page: started, followed, paused, stopped, resumed after a kill, kept."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect
from playwright.sync_api import Error as PlaywrightError

from explorer.experiment import Experiment, Variant, dump
from explorer.model.loaded import Source
from tests.e2e.conftest import App, Server, Watched

TEXT = """\
@T.prim_func(s_tir=True)
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"),
         C: T.Buffer((64, 64), "float32")):
    for i, j, k in T.grid(64, 64, 64):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
ROW_SUMS = """
@T.prim_func(s_tir=True)
def row_sums(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64,), "float32")):
    for i, j in T.grid(64, 64):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vj]
"""
TWO = "@I.ir_module\nclass Two:\n" + indent("\n".join((TEXT, ROW_SUMS)), "    ")


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Server]:
    """A server of its own: it is killed in the middle of a search."""
    running = Server(tmp_path)
    yield running
    running.stop()


@pytest.fixture
def page(own: Server, chromium: Browser, request: pytest.FixtureRequest) -> Iterator[App]:
    """The tab on an experiment for llvm with the text given as parameter, or `TEXT`."""
    watched = Watched(chromium)
    app = App(watched.page(), own.url).open()
    text = getattr(request, "param", TEXT)
    saved = Experiment(
        title="Small", source=Source(text), target="llvm", variants=(Variant("Original"),)
    )
    app.upload("small.experiment.json", dump(saved))
    expect(app.page.get_by_text("Target: llvm")).to_be_visible()
    expect(app.tree).to_be_visible()
    app.idle()
    app.tab("Tuning")
    expect(app.button("Tune")).to_be_visible()
    yield app
    watched.context.close()
    assert not watched.bad, watched.bad


def searches(app: App) -> Locator:
    return app.page.get_by_role("grid", name="Searches").get_by_role("row")


DOT = """([gd, id]) => {
    const {xaxis, yaxis} = gd._fullLayout, box = gd.getBoundingClientRect();
    for (const trace of gd.data)
        for (let i = 0; trace.mode === "markers" && i < trace.customdata.length; i++)
            if (trace.customdata[i][0] === id)
                return [box.left + xaxis._offset + xaxis.c2p(xaxis.d2c(trace.x[i])),
                        box.top + yaxis._offset + yaxis.c2p(yaxis.d2c(trace.y[i]))];
}"""


def click_dot(app: App, id: int) -> None:
    """Click on a candidate's dot in the first chart."""
    chart = app.page.locator(".js-plotly-plot").first
    label = app.page.locator(".hovertext", has_text=re.compile(rf"candidate {id}\b"))
    for _ in range(20):  # what is above may still grow, and the chart be drawn anew
        chart.locator("path.point").first.wait_for()
        try:
            chart.scroll_into_view_if_needed()
            x, y = app.page.evaluate(DOT, [chart.element_handle(), id])
            app.page.mouse.move(x - 1, y)
            app.page.mouse.move(x, y)
            label.wait_for(timeout=2000)
        except PlaywrightError:
            continue
        app.page.mouse.click(x, y)
        return
    raise AssertionError(f"no dot of candidate {id}")


def row(app: App, id: int) -> Locator:
    """A candidate's row in the list of those that were measured."""
    return app.page.get_by_role("grid", name="Candidates: measured").get_by_test_id(f"row-{id}")


def count(app: App, fate: str) -> Locator:
    return app.page.get_by_test_id(f"row-{fate}|").locator("td").nth(1)


def tune(app: App, trials: int) -> None:
    app.page.get_by_role("spinbutton", name="Trials").fill(str(trials))
    app.page.keyboard.press("Tab")
    app.idle()
    app.button("Tune").click()
    expect(app.button("Stop and keep")).to_be_visible()
    expect(count(app, "measured")).not_to_have_text("0")


def events(folder: Path, kind: str) -> list[dict[str, Any]]:
    (path,) = folder.glob("state/tvm-schedule-explorer/tuning/*/events.jsonl")
    told = [json.loads(line) for line in path.read_text().splitlines()]
    return [event for event in told if event["type"] == kind]


def test_a_small_search_runs_to_its_end_and_its_best_becomes_a_variant(
    page: App, tmp_path: Path
) -> None:
    tune(page, 6)
    expect(page.page.get_by_text("All trials are done").first).to_be_visible(timeout=240_000)
    told = events(tmp_path, "candidate")
    assert len({event["id"] for event in told if event.get("trial")}) == 6
    best = min((e for e in told if e["fate"] == "measured"), key=lambda event: event["us"])
    expect(page.page.locator(".js-plotly-plot").first).to_be_visible()
    expect(page.page.get_by_text("measured on").first).to_be_visible()
    row(page, best["id"]).click()
    expect(page.page.get_by_text(f"Candidate {best['id']}", exact=True)).to_be_visible()
    other = max((e for e in told if e["fate"] == "measured"), key=lambda event: event["us"])
    click_dot(page, other["id"])
    expect(page.page.get_by_text(f"Candidate {other['id']}", exact=True)).to_be_visible()
    row(page, best["id"]).click()
    expect(page.page.get_by_text(f"Candidate {best['id']}", exact=True)).to_be_visible()
    page.page.get_by_role("slider").press("ArrowLeft")
    expect(page.page.get_by_text(re.compile(r"^Step \d+: sch|^Step \d+: .* = sch"))).to_be_visible()
    page.button("Make it a variant").click()
    made = page.variant(f"tuned {best['id']}")
    expect(made).to_have_attribute("aria-selected", "true")
    expect(page.steps().first).to_be_visible()


@pytest.mark.parametrize("page", [TWO], indirect=True)
def test_two_functions_share_the_trials_and_each_has_its_best(page: App, tmp_path: Path) -> None:
    tune(page, 8)
    expect(page.page.get_by_text("All trials are done").first).to_be_visible(timeout=240_000)
    tried = [e for e in events(tmp_path, "candidate") if e.get("trial") and e["fate"] == "measured"]
    of = {name: [e for e in tried if e["function"] == name] for name in ("main", "row_sums")}
    for name, found in of.items():
        assert len({event["id"] for event in found}) == 4
        best = min(found, key=lambda event: event["us"])
        page.page.get_by_role("radio", name=name).click()
        page.idle()
        row(page, best["id"]).click()
        expect(page.page.get_by_text(f"Candidate {best['id']}", exact=True)).to_be_visible()
        page.button("Make it a variant").click()
        expect(page.variant(f"tuned {name} {best['id']}")).to_have_attribute(
            "aria-selected", "true"
        )


def test_a_search_is_paused_stopped_and_goes_on_after_its_server_was_killed(
    page: App, own: Server, chromium: Browser, tmp_path: Path
) -> None:
    tune(page, 5000)
    expect(searches(page)).to_contain_text(["running"])
    page.button("Pause").click()
    expect(page.button("Resume")).to_be_visible()
    expect(searches(page)).to_contain_text(["paused"])
    page.button("Resume").click()
    expect(page.button("Pause")).to_be_visible()
    page.button("Stop and keep").click()
    expect(page.page.get_by_text("Stopped by you").first).to_be_visible()
    assert [event["how"] for event in events(tmp_path, "finished")] == ["stopped"]
    sampled = str(len({event["id"] for event in events(tmp_path, "candidate")}))
    expect(count(page, "sampled")).to_have_text(sampled)  # else what changes may be old news
    page.page.get_by_role("button", name=re.compile("^Resume: .* trials left$")).click()
    expect(count(page, "sampled")).not_to_have_text(sampled)
    expect(searches(page)).to_contain_text(["running"])
    page.page.close()
    own.process.send_signal(signal.SIGKILL)
    own.process.wait(20)
    again, watched = Server(tmp_path), Watched(chromium)
    try:
        app = App(watched.page(), again.url).open()
        app.tab("Tuning")
        expect(searches(app)).to_contain_text(["killed"])
        searches(app).first.click()
        expect(count(app, "measured")).not_to_have_text("0")
        before = count(app, "sampled").inner_text()
        app.button("Resume").click()
        expect(count(app, "sampled")).not_to_have_text(before)
        expect(searches(app)).to_contain_text(["running"])
        app.button("Stop and keep").click()
        expect(app.page.get_by_text("Stopped by you").first).to_be_visible()
    finally:
        watched.context.close()
        again.stop()
    assert not watched.bad, watched.bad
    starts = events(tmp_path, "started")
    assert [start.get("again", False) for start in starts] == [False, True, True]
