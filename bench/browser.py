"""How long a user waits in the browser: page open to first drawn sample, click to redrawn graph.

    python bench/browser.py [--rounds 5] [--json]

Starts the app of this checkout, with Debian's Chromium (headless) on the same machine, so browser
and workers share its cores.  Times are taken in the page (performance.now), from the event to the
first frame after the new picture is in the document.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.sync_api import Browser, Page, sync_playwright

from bench.rows import finish, row

ROOT = Path(__file__).parents[1]
MODULE = """@I.ir_module
class Clicks:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64, 128, 256), "float32"), B: T.Buffer((64, 128, 256), "float32")):
        for i, j, k in T.grid(64, 128, {extent}):
            with T.sblock("B"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                B[vi, vj, vk] = A[vi, vj, vk] + T.float32({number})
"""

# Resolves to milliseconds from now (or from a key press on node `id`) until `node`'s label holds
# `words`.  The graph lives in a shadow root, which querySelector does not enter.
WAIT = """([node, words, key]) => new Promise((done) => {
    const find = (root) => {
        for (const host of root.querySelectorAll("*")) {
            if (host.dataset?.testid === node) return host;
            const below = host.shadowRoot && find(host.shadowRoot);
            if (below) return below;
        }
    };
    const begun = performance.now();
    if (key) {
        const target = find(document);
        target.focus();
        target.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, composed: true}));
    }
    const look = () => {
        const found = find(document);
        if (found && (found.getAttribute("aria-label") ?? "").includes(words))
            requestAnimationFrame(() => done(key ? performance.now() - begun : performance.now()));
        else requestAnimationFrame(look);
    };
    look();
})"""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    with app() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("google-chrome"),
            args=["--no-sandbox", "--disable-gpu"],
        )
        cold = opened(browser, url)
        time.sleep(8)  # until the workers are warm
        warm = [opened(browser, url) for _ in range(given.rounds)]
        clicks = [ms for number in range(given.rounds) for ms in clicked(browser, url, number)]
        browser.close()
    rows = [
        row("page opened at once after the start → first sample drawn", [cold], None),
        row("page opened, workers warm → first sample drawn", warm, 2000),
        row("click in the graph → redrawn graph", clicks, 250),
    ]
    return finish(rows, given.json)


def opened(browser: Browser, url: str) -> float:
    """Milliseconds from the start of the navigation to the first drawn loop, in a fresh profile."""
    with page_of(browser, url) as page:
        return float(page.evaluate(WAIT, ["node-main/0", "loop", ""]))


def clicked(browser: Browser, url: str, number: int) -> Iterator[float]:
    """Loops of a module nobody has seen moved and bound by key, one after another.

    The text is new, so every state is; the first clicks still meet what opening it set off.
    """
    with page_of(browser, url) as page:
        page.evaluate(WAIT, ["node-main/0", "loop", ""])
        page.get_by_role("button", name="Open…").click()
        page.get_by_label("Text").fill(MODULE.format(extent=256, number=number))
        page.get_by_label("Text").press("Control+Enter")
        page.get_by_role("button", name="Open the text").click()
        page.evaluate(WAIT, ["node-main/0/0/0", "256", ""])
        for node, key, words in (
            *[("node-main/0", "r", name) for name in ("j in", "i in", "j in", "i in")],
            ("node-main/0", "b", "blockIdx.x"),
            ("node-main/0/0/0", "t", "threadIdx.x"),
        ):
            page.locator(f'[data-testid="{node}"]').click()
            page.locator('[data-test-script-state="notRunning"]').wait_for(state="attached")
            yield float(page.evaluate(WAIT, [node, words, key]))


@contextmanager
def page_of(browser: Browser, url: str) -> Iterator[Page]:
    """A page in a profile of its own, at `url`."""
    context = browser.new_context(viewport={"width": 1600, "height": 1000})
    page = context.new_page()
    page.goto(url)
    yield page
    context.close()


@contextmanager
def app() -> Iterator[str]:
    """The app of this checkout on a free port; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}"],
        cwd=ROOT,
        env=dict(os.environ),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(200):
            with suppress(OSError), urllib.request.urlopen(f"{url}/_stcore/health", timeout=1):
                break
            time.sleep(0.1)
        yield url
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


if __name__ == "__main__":
    sys.exit(main())
