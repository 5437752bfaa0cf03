"""Old text, broken text, hostile text, files by path, dead workers, dark mode, the keyboard."""

from __future__ import annotations

import re
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.conftest import CASES, App, Server, Watched

BROKEN = """\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((16,), "float32")):
        for i in range(16)
            A[i] = 1.0
"""
HOSTILE = """\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((16,), "float32")):
        for i in range(__import__("os").system("touch {path}")):
            with T.sblock("<script>document.title='owned'</script>"):
                vi = T.axis.spatial(16, i)
                A[vi] = 1.0
"""


def test_an_old_module_is_migrated_and_said_so(app: App) -> None:
    app.upload("old.py", (CASES / "01_mlc_vecadd_block" / "module.py").read_text())
    expect(app.tree).to_be_visible()
    expect(app.page.get_by_text(re.compile(r"lines? (was|were) rewritten"))).to_be_visible()
    app.tab("Source")
    diff = app.page.get_by_role("region", name="as opened and as loaded, side by side")
    expect(diff).to_contain_text("T.sblock")
    expect(app.page.get_by_role("table")).to_contain_text("T.block")
    with app.page.expect_download() as download:
        app.page.get_by_role("button", name="Download the module as loaded").click()
    assert "T.sblock(" in Path(download.value.path()).read_text()


def test_a_schedule_behind_the_module_opens_with_one_click(app: App) -> None:
    app.upload("cell.py", (CASES / "05_whole_notebook_cell" / "module.py").read_text())
    app.button("Open the schedule found in the text").click()
    expect(app.variant("From the text")).to_be_visible()
    expect(app.steps()).to_have_count(2)
    expect(app.steps().nth(1)).to_contain_text('sch.bind(j, "threadIdx.x")')


def test_a_schedule_file_opens_as_steps(app: App) -> None:
    case = CASES / "01_mlc_vecadd_block"
    app.upload("module.py", (case / "module.py").read_text())
    expect(app.tree).to_be_visible()
    app.upload("sched.py", (case / "sched.py").read_text())
    expect(app.variant("sched")).to_be_visible()
    expect(app.steps().first).to_contain_text("sch.split")


def test_broken_text_names_the_line_and_keeps_everything(app: App) -> None:
    app.bind_outer_loop()
    app.upload("broken.py", BROKEN)
    alert = app.page.get_by_role("alert")
    expect(alert).to_contain_text("Line 5")
    shown = app.page.get_by_role("region", name="The text as opened")
    expect(shown.locator(".l.hit")).to_contain_text("for i in range(16)")
    app.button("Back to the workbench").click()
    expect(app.steps()).to_have_count(1)


def test_hostile_text_is_not_executed(app: App, tmp_path: Path) -> None:
    path = tmp_path / "owned"
    app.button("Open…").click()
    app.page.get_by_role("textbox", name="Text").fill(HOSTILE.replace("{path}", str(path)))
    app.button("Open the text").click()
    expect(app.page.get_by_role("alert")).to_contain_text("Line 5")
    app.page.get_by_role("textbox", name="Text").fill(
        HOSTILE.replace('__import__("os").system("touch {path}")', "16")
    )
    app.button("Open the text").click()
    expect(app.tree.or_(app.page.get_by_role("alert"))).to_be_visible()
    app.idle()
    assert app.page.title() == "TVM Schedule Explorer"
    assert app.page.locator("script", has_text="owned").count() == 0
    assert not path.exists()


def test_killed_workers_cost_nothing(app: App, server: Server) -> None:
    app.bind_outer_loop()
    children = psutil.Process(server.process.pid).children(recursive=True)
    assert children
    for child in children:
        child.kill()
    app.node("main/0/0").click()
    app.page.keyboard.press("t")
    failed = app.page.get_by_role("alert")
    expect(failed.or_(app.steps().nth(1)).first).to_be_visible()
    expect(app.steps().first).to_contain_text('sch.bind(i, "blockIdx.x")')
    if app.steps().count() < 2:
        app.node("main/0/0").click()
        app.page.keyboard.press("t")
    expect(app.steps()).to_have_count(2)
    expect(app.steps().nth(1)).to_contain_text('sch.bind(j, "threadIdx.x")')


def test_the_keyboard_alone(app: App) -> None:
    app.node("main").click()
    app.page.keyboard.press("ArrowDown")
    expect(app.node("main/0")).to_be_focused()
    expect(app.node("main/0")).to_have_attribute("aria-selected", "true")
    app.page.keyboard.press("m")
    menu = app.page.get_by_role("menu")
    expect(menu).to_contain_text("Bind to blockIdx.x")
    app.page.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    expect(app.node("main/0")).to_be_focused()
    app.page.keyboard.press("b")
    expect(app.steps()).to_have_count(1)
    expect(app.node("main/0")).to_be_focused()


def test_a_refused_step_is_explained_at_its_place(app: App) -> None:
    app.node("main/0/0/0").click()
    expect(app.page.get_by_text("Loop k", exact=True)).to_be_visible()
    expect(app.button("blockIdx.x")).to_be_disabled()
    app.page.keyboard.press("q")
    expect(app.page.get_by_role("alert")).to_contain_text('"q" does nothing on this node')
    expect(app.variant("My schedule")).to_have_count(0)


def test_a_line_of_code_selects_its_loop(app: App) -> None:
    script = app.page.get_by_role("region", name="TVMScript")
    number = script.locator(".l", has_text="for i, j, k in T.grid").locator("i")
    number.click()
    expect(app.node("main/0/0/0")).to_have_attribute("aria-selected", "true")
    expect(script.locator(".l.hit").first).to_contain_text("T.grid")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_roles_and_contrast(server: Server, chromium: Browser, scheme: str) -> None:
    """What assistive programs need: one heading, named controls, no control without a name."""
    watched = Watched(chromium, color_scheme=scheme, viewport={"width": 1280, "height": 800})
    app = App(watched.page(), server.url).open()
    expect(app.page.get_by_role("heading", level=1)).to_contain_text("TVM Schedule Explorer")
    for control in app.page.get_by_role("button").all():
        name = control.get_attribute("aria-label") or control.inner_text()
        assert name.strip(), control.evaluate("e => e.outerHTML")
    wide = app.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0
    ink, paper = app.page.evaluate(
        "() => [getComputedStyle(document.querySelector('.app-name')).color,"
        " getComputedStyle(document.querySelector('.stApp')).backgroundColor]"
    )
    light = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ink, paper)]
    assert (light[0] < light[1]) == (scheme == "light")
    watched.context.close()
    assert not watched.bad, watched.bad


def test_a_file_named_on_the_command_line(tmp_path: Path, chromium: Browser) -> None:
    path = tmp_path / "mine.py"
    path.write_text((CASES / "23_dynamic_broadcast" / "module.py").read_text())
    server = Server(tmp_path, str(path))
    watched = Watched(chromium)
    try:
        app = App(watched.page(), server.url).open()
        expect(app.page.get_by_role("heading", level=1)).to_contain_text("mine.py")
        app.page.get_by_role("button", name=re.compile("Sizes:")).click()
        box = app.page.get_by_role("spinbutton").first
        box.fill("7")
        app.button("Use these sizes").click()
        expect(app.page.get_by_role("button", name=re.compile("Sizes:.*= 7"))).to_be_visible()
    finally:
        watched.context.close()
        server.stop()
    assert not watched.bad, watched.bad
