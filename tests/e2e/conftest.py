"""The real page in Chromium, with real workers; a request off the machine is a failure."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "cases"
PATIENCE_MS = 300_000
"""For a machine with much else to do; only a failing test waits so long."""
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip
expect.set_options(timeout=PATIENCE_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.e2e)


class Server:
    """The app as a user starts it, on a free port."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.log = folder / "server.log"
        self.process = subprocess.Popen(
            [
                sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}",
                "--", *arguments,
            ],
            cwd=ROOT,
            env={**os.environ, "XDG_STATE_HOME": str(folder / "state")},
            stdout=self.log.open("w"),
            stderr=subprocess.STDOUT,
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while not self._healthy():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, "the server did not come up"
            time.sleep(0.1)

    def _healthy(self) -> bool:
        try:
            with urllib.request.urlopen(self.url + "/_stcore/health", timeout=1) as reply:
                return reply.read() == b"ok"
        except OSError:
            return False

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)
        assert "Traceback" not in self.log.read_text(), self.log.read_text()[-4000:]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("server"))
    yield running
    running.stop()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    assert program, "apt-get install chromium: the end-to-end tests need a browser"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


class Watched:
    """A browser context that remembers page errors, console errors and requests to elsewhere."""

    def __init__(self, browser: Browser, **options: object) -> None:
        options.setdefault("viewport", {"width": 1440, "height": 1000})
        self.context: BrowserContext = browser.new_context(accept_downloads=True, **options)  # type: ignore[arg-type]
        self.context.set_default_timeout(PATIENCE_MS)
        self.bad: list[str] = []
        self.context.on("request", self._request)

    def page(self) -> Page:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.bad.append(f"page error: {error}"))
        page.on("console", lambda m: self.bad.append(m.text) if m.type == "error" else None)
        return page

    def _request(self, request: object) -> None:
        url = str(getattr(request, "url", ""))
        if not url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")):
            self.bad.append(f"request to elsewhere: {url}")


class App:
    """The page with the few things that tests do on it."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url

    def open(self) -> App:
        self.page.goto(self.url)
        expect(self.tree).to_be_visible()
        self.idle()
        return self

    @property
    def tree(self) -> Locator:
        return self.page.get_by_role("tree", name="Loop nest")

    def idle(self) -> None:
        state = "[data-testid=stApp][data-test-script-state=notRunning]"
        expect(self.page.locator(state)).to_be_attached()

    def node(self, node_id: str) -> Locator:
        return self.page.get_by_test_id(f"node-{node_id}")

    def variant(self, name: str) -> Locator:
        return self.page.get_by_role("tablist", name="Variants").get_by_role("tab", name=name)

    def tab(self, name: str) -> None:
        self.page.get_by_test_id("stTab").get_by_text(name, exact=True).click()
        self.idle()

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def steps(self) -> Locator:
        return self.page.get_by_role("list", name="Steps").get_by_role("listitem")

    def cuda(self) -> Locator:
        self.tab("CUDA")
        return self.page.get_by_role("region", name="CUDA source")

    def bind_outer_loop(self) -> None:
        self.node("main/0").click()
        self.page.keyboard.press("b")
        expect(self.steps()).to_have_count(1)

    def sample(self, title: str) -> None:
        self.button("Open…").click()
        self.button(title).click()
        expect(self.tree).to_be_visible()
        self.idle()

    def upload(self, name: str, text: str | bytes) -> None:
        data = text.encode() if isinstance(text, str) else text
        self.button("Open…").click()
        expect(self.page.get_by_role("heading", name="Open", exact=True)).to_be_visible()
        self.idle()
        self.page.locator("input[type=file]").set_input_files(
            {"name": name, "mimeType": "text/plain", "buffer": data}
        )


@pytest.fixture
def app(server: Server, chromium: Browser) -> Iterator[App]:
    watched = Watched(chromium)
    yield App(watched.page(), server.url).open()
    watched.context.close()
    assert not watched.bad, watched.bad
