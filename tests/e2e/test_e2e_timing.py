"""A race in the page: two CPU variants, followed live, decided, cancelled, charted, saved."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

from playwright.sync_api import expect

from explorer.experiment import Experiment, Variant, dump
from explorer.model.loaded import Source
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives import STEPS

TEXT = """\
@T.prim_func(s_tir=True)
def main(A: T.Buffer((256, 256), "float32"), B: T.Buffer((256, 256), "float32")):
    for j, i in T.grid(256, 256):
        with T.sblock("B"):
            vj, vi = T.axis.remap("SS", [j, i])
            B[vi, vj] = A[vi, vj] * T.float32(2)
"""
LOOPS = tuple(LoopRef(BlockRef("B"), depth, name) for depth, name in enumerate(("j", "i")))
ROWS = (STEPS["reorder"](ordered_loops=(LOOPS[1], LOOPS[0])),)


def experiment() -> bytes:
    return dump(
        Experiment(
            title="Columns or rows", source=Source(TEXT), target="llvm",
            variants=(Variant("Original"), Variant("rows", ROWS)),
        )
    )  # fmt: skip


def test_two_cpu_variants_are_raced_and_told_apart(app, tmp_path: Path) -> None:
    app.upload("cpu.experiment.json", experiment())
    expect(app.variant("rows")).to_be_visible()
    app.idle()
    app.tab("Timing")
    app.button("Start the race").click()
    verdict = app.page.locator(".verdict").first
    expect(app.button("Start the race")).to_be_visible()
    expect(verdict).to_contain_text(
        re.compile(r"rows is .*faster than Original\.|Original and rows: no difference seen")
    )
    table = app.page.get_by_role("table").first
    expect(table).to_contain_text("block-bootstrap")
    expect(table).to_contain_text("match")
    expect(app.page.locator(".js-plotly-plot")).to_be_visible()
    with app.page.expect_download() as download:
        app.page.get_by_test_id("stDownloadButton").get_by_role("button", name="CSV").click()
    path = tmp_path / "race.csv"
    download.value.save_as(path)
    records = list(csv.DictReader(io.StringIO(path.read_text())))
    assert [record["variant"] for record in records] == ["Original", "rows"]
    assert all(float(record["median_us"]) > 0 and record["method"] for record in records)
    app.page.locator(".js-plotly-plot").hover()
    with app.page.expect_download() as download:
        app.page.locator("[data-title*='ownload plot']").first.click()
    assert download.value.suggested_filename == "medians.png"
    app.tab("Compare")
    expect(app.page.get_by_role("table").first).to_contain_text(re.compile(r"µs \(|ms \("))


def test_a_race_is_cancelled_and_the_page_stays_usable(app) -> None:
    saved = json.loads(experiment())
    saved["source"]["text"] = TEXT.replace("256", "250")
    app.upload("cpu.experiment.json", json.dumps(saved))
    expect(app.variant("rows")).to_be_visible()
    app.idle()
    app.tab("Timing")
    app.page.get_by_role("combobox", name=re.compile("At most")).click()
    app.page.get_by_role("option", name="60 s").click()
    app.idle()
    app.button("Start the race").click()
    app.button("Cancel").click()
    expect(app.page.get_by_text(re.compile("^Cancelled"))).to_be_visible()
    expect(app.button("Start the race")).to_be_visible()


def test_without_a_gpu_the_tab_offers_a_remote_one_and_the_bound(app) -> None:
    app.button("Use dlight").click()
    expect(app.variant("dlight")).to_have_attribute("aria-selected", "true")
    app.tab("Timing")
    expect(app.page.get_by_text("No CUDA device on this machine.").first).to_be_visible()
    expect(app.page.get_by_role("table").first).to_contain_text("Bound, not a time")
    app.button("Use a remote GPU…").click()
    expect(app.page.get_by_text(re.compile("no authentication")).first).to_be_visible()
    expect(app.page.get_by_role("textbox", name="Address")).to_have_value("127.0.0.1:9090")


def test_a_click_on_its_way_does_not_undo_the_one_before(app) -> None:
    """What is sent before the page is drawn says how all controls were; a tick does so, too."""
    app.button("Use dlight").click()
    expect(app.variant("dlight")).to_have_attribute("aria-selected", "true")
    app.tab("Timing")
    app.idle()
    flushed = app.page.get_by_role("radio", name="flushed")
    app.button("Use a remote GPU…").evaluate(
        "(button, next) => { button.click(); next.click(); }", flushed.element_handle()
    )
    expect(app.page.get_by_role("textbox", name="Address")).to_be_visible()
    app.tab("Findings")  # once it is shown, the clicks before were answered
    expect(app.page.get_by_role("textbox", name="Address")).to_be_hidden()
    app.tab("Timing")
    expect(flushed).to_be_checked()
    expect(app.page.get_by_role("textbox", name="Address")).to_have_value("127.0.0.1:9090")
