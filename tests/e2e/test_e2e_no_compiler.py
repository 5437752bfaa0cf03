"""A machine without a C++ compiler: said once, one click fetches one, and the verdicts follow."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from explorer.emulator.compiler import ZIGLANG
from tests.e2e.conftest import App, Server, Watched

NAME, VERSION = ZIGLANG.split("==")
MAIN = """\
# Answers as ziglang does, through the g++ of this machine.
import os, sys
args = sys.argv[2:]
while "-mllvm" in args:
    del args[args.index("-mllvm") : args.index("-mllvm") + 2]
if "-include-pch" in args:
    at = args.index("-include-pch")
    args[at : at + 2] = ["-include", "emu.h"]
args = [arg for arg in args if arg != "-fno-sanitize-trap=all"]
os.execv({gxx!r}, [{gxx!r}, *args])
"""
GXX = shutil.which("g++")
SKIPPED = ("g++", "clang", "c++", "gcc")
pytestmark = pytest.mark.skipif(GXX is None, reason="what stands in for ziglang needs g++")


def wheel(folder: Path, gxx: str) -> None:
    """A wheel of the name and version that is fetched."""
    info = f"{NAME}-{VERSION}.dist-info"
    with zipfile.ZipFile(folder / f"{NAME}-{VERSION}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{NAME}/__init__.py", "")
        archive.writestr(f"{NAME}/__main__.py", MAIN.format(gxx=gxx))
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")


def programs_without_compilers(folder: Path) -> None:
    """Links to every program on PATH that is no C or C++ compiler."""
    folder.mkdir()
    for directory in os.environ["PATH"].split(os.pathsep):
        for program in Path(directory).glob("*"):
            link = folder / program.name
            if not any(part in program.name for part in SKIPPED) and not link.is_symlink():
                link.symlink_to(program)


@pytest.fixture
def page(
    tmp_path: Path, chromium: Browser, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[App, Callable[[], None]]]:
    """The app without a compiler and without an index, and what puts the wheel in reach of pip."""
    wheels, target, programs = (tmp_path / name for name in ("wheels", "target", "programs"))
    wheels.mkdir()
    programs_without_compilers(programs)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(target), os.environ["PYTHONPATH"]]))
    monkeypatch.setenv("PIP_TARGET", str(target))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    server = Server(tmp_path)
    watched = Watched(chromium)
    yield App(watched.page(), server.url).open(), lambda: wheel(wheels, str(GXX))
    watched.context.close()
    server.stop()
    assert not watched.bad, watched.bad


def test_a_compiler_is_fetched_on_the_users_word(page: tuple[App, Callable[[], None]]) -> None:
    app, put_wheel_in_reach = page
    told = app.page.get_by_text("this machine has no C++ compiler")
    expect(told).to_be_visible()
    app.button("Use dlight").click()
    expect(app.variant("dlight")).to_contain_text("not checked")
    app.cuda()
    kernel = app.page.locator(".kernel")
    expect(kernel).to_contain_text("not checked")
    app.button("Fetch one").click()  # offline
    alert = app.page.get_by_role("alert")
    expect(alert).to_contain_text("The compiler could not be fetched.")
    expect(alert).to_contain_text("install g++ or clang++")
    put_wheel_in_reach()
    app.button("Fetch one").click()
    expect(app.variant("dlight")).to_contain_text("match")
    expect(kernel).to_contain_text("match")
    expect(told).to_have_count(0)


def test_a_compiler_that_was_installed_meanwhile_is_found(
    page: tuple[App, Callable[[], None]], tmp_path: Path
) -> None:
    app, _ = page
    app.button("Use dlight").click()
    expect(app.variant("dlight")).to_contain_text("not checked")
    expect(app.button("Look again")).to_be_visible()
    (tmp_path / "programs" / "g++").symlink_to(str(GXX))
    app.button("Look again").click()
    expect(app.variant("dlight")).to_contain_text("match")
    expect(app.page.get_by_text("this machine has no C++ compiler")).to_have_count(0)
