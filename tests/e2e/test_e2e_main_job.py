"""The main job: a sample becomes a bound, compared and exported kernel."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import App


def test_bind_by_clicking_the_graph(app) -> None:
    app.sample("Vector add")
    expect(app.variant("Original")).to_contain_text("no kernel")
    loop = app.node("main/0")
    expect(loop).to_have_class(re.compile(r"\blit\b"))
    loop.click()
    expect(loop).to_have_attribute("aria-selected", "true")
    app.page.keyboard.press("s")
    app.page.get_by_text("Outer × inner").wait_for()
    app.page.get_by_role("textbox", name="Or your own, outermost first").fill("None, 128")
    app.button("Apply").click()
    expect(app.variant("My schedule")).to_have_attribute("aria-selected", "true")
    expect(app.steps()).to_have_count(1)
    app.node("main/0").click()
    app.page.keyboard.press("b")
    expect(app.steps()).to_have_count(2)
    inner = app.node("main/0/0")
    inner.click(button="right")
    app.page.get_by_role("menuitem", name="Bind to threadIdx.x").click()
    expect(app.steps()).to_have_count(3)
    expect(app.steps().nth(2)).to_contain_text('"threadIdx.x"')
    expect(inner).to_contain_text("threadIdx.x")
    expect(app.cuda()).to_contain_text("__global__")
    expect(app.cuda()).to_contain_text("threadIdx.x")
    expect(app.page.get_by_text(re.compile(r"block 128"))).to_be_visible()
    expect(app.variant("My schedule")).to_contain_text("match")


def test_undo_redo_jump_and_remove(app) -> None:
    app.button("Use DefaultGPUSchedule").click()
    expect(app.steps()).to_have_count(4)
    app.page.keyboard.press("u")
    expect(app.steps().nth(3)).to_have_class(re.compile("undone"))
    app.page.keyboard.press("y")
    expect(app.steps().nth(3)).not_to_have_class(re.compile("undone"))
    app.page.get_by_role("button", name="Remove step 2").click()
    expect(app.steps().nth(2)).to_have_class(re.compile("refused"))
    expect(app.steps().nth(2)).to_contain_text("gone")
    app.steps().nth(0).get_by_role("button").first.click()
    expect(app.steps().nth(1)).to_have_class(re.compile("undone"))
    expect(app.node("main/0")).to_contain_text("i_j_fused")


def test_compare_and_run_the_downloaded_script(app, tmp_path: Path) -> None:
    app.button("Use dlight").click()
    expect(app.variant("dlight")).to_contain_text("match")
    app.tab("Compare")
    table = app.page.get_by_role("table")
    expect(table).to_contain_text("Original")
    expect(table).to_contain_text("no kernel")
    expect(table).to_contain_text("dlight")
    expect(table).to_contain_text("not measured: No CUDA device")
    expect(app.page.get_by_role("region", name="dlight: CUDA")).to_contain_text("__shared__")
    app.page.get_by_text("As a diff").click()
    expect(app.page.get_by_role("region", name="Original and dlight, side by side")).to_be_visible()
    app.tab("Export")
    script = app.page.get_by_test_id("stDownloadButton").get_by_role("button", name="Python script")
    expect(script).to_be_enabled()
    with app.page.expect_download() as download:
        script.click()
    path = tmp_path / "kernel.py"
    download.value.save_as(path)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "sch.bind(" in path.read_text()


def test_experiment_saved_reloaded_and_reopened(app, tmp_path: Path) -> None:
    app.bind_outer_loop()
    line = app.steps().first.inner_text()
    app.page.reload()
    expect(app.variant("My schedule")).to_be_visible()
    expect(app.steps()).to_have_count(1)
    with app.page.expect_download() as download:
        app.button("Save experiment").click()
    path = tmp_path / "saved.json"
    download.value.save_as(path)
    saved = json.loads(path.read_text())
    assert saved["version"] == 1
    assert [variant["name"] for variant in saved["variants"]] == ["Original", "My schedule"]
    app.sample("Vector add")
    expect(app.variant("My schedule")).to_have_count(0)
    app.upload("saved.experiment.json", path.read_bytes())
    expect(app.variant("My schedule")).to_be_visible()
    assert app.steps().first.inner_text() == line


def test_a_wide_nest_keeps_its_function_in_the_middle_and_fills_the_screen(app: App) -> None:
    app.button("Use dlight").click()
    expect(app.variant("dlight")).to_have_attribute("aria-selected", "true")
    graph = app.page.locator(".lg").first
    expect(graph).to_have_class(re.compile("more-left|more-right"))
    view, function = graph.bounding_box(), app.node("main").bounding_box()
    assert view is not None
    assert function is not None
    middle = function["x"] + function["width"] / 2
    assert middle == pytest.approx(view["x"] + view["width"] / 2, abs=8)
    app.button("Full screen").click()
    expect(graph).not_to_have_class(re.compile("more-"))
    expect(app.button("Leave full screen")).to_be_visible()
    app.page.get_by_role("treeitem", name=re.compile("^loop ax3_0 in 8")).click()
    app.page.keyboard.press("m")
    app.page.get_by_role("menuitem", name="Split…").click()  # its form opens beside the graph
    expect(app.button("Full screen")).to_be_visible()
    app.page.get_by_text("Outer × inner").wait_for()
    expect(graph).to_have_class(re.compile("more-left|more-right"))
