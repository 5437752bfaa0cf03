"""How long a user waits in the browser: page open to first drawn sample, click to redrawn graph.

    python bench/browser.py [--rounds 5] [--json]

Starts the app of this checkout, and beside it the least page that Streamlit can serve (floor.py),
with Debian's Chromium (headless) on the same machine, so that browser, servers and workers share
its cores.  Both pages are timed in turns: on a machine with other work the ratio to the least page
tells more than the time.  Times are taken in the page (performance.now), from the event to the
first frame after the new picture is in the document.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.sync_api import Browser, Page, sync_playwright

from bench.rows import Row, finish, row

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

# Counts what comes over the page's web socket: [messages, bytes] since it was last set to [0, 0].
COUNT = """
window.traffic = [0, 0];
window.WebSocket = class extends WebSocket {
    constructor(...given) {
        super(...given);
        this.addEventListener("message", ({data}) => {
            traffic[0] += 1;
            traffic[1] += data.byteLength ?? data.size ?? data.length;
        }, true);
    }
};"""

# Resolves to the milliseconds from now (or from a key press on `node`) until so many of `rest` are
# there, and until `node`'s label holds `words`; with the traffic of the latter.  They live in
# shadow roots, which querySelectorAll does not enter.
WAIT = """([node, words, key, rest, many]) => new Promise((done) => {
    const all = (root, wanted) => [
        ...root.querySelectorAll(wanted),
        ...[...root.querySelectorAll("*")].filter((e) => e.shadowRoot)
            .flatMap((e) => all(e.shadowRoot, wanted)),
    ];
    const first = () => all(document, `[data-testid="${node}"]`)[0];
    traffic[0] = traffic[1] = 0;
    const begun = key ? performance.now() : 0;
    if (key) {
        const target = first();
        target.focus();
        target.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, composed: true}));
    }
    let drawn = null;
    const look = () => {
        if (!drawn && (first()?.getAttribute("aria-label") ?? "").includes(words))
            requestAnimationFrame(() => { drawn = [performance.now() - begun, ...traffic]; });
        if (drawn && (!rest || all(document, rest).length === many))
            done([performance.now() - begun, ...drawn]);
        else requestAnimationFrame(look);
    };
    look();
})"""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    if not given.json:
        print(f"Load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    with served("app.py") as url, served("bench/floor.py") as least, sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("google-chrome"),
            args=["--no-sandbox", "--disable-gpu"],
        )
        rows, told = measured(browser, url, least, given.rounds)
        browser.close()
    code = finish(rows, given.json)
    if not given.json:
        print(told)
    return code


def measured(browser: Browser, url: str, least: str, rounds: int) -> tuple[list[Row], str]:
    """All rows, and a sentence on ratios and traffic."""
    (_, cold, *_) = opened(browser, url, "node-main/0", "loop")
    opened(browser, least, "box", "pressed")
    time.sleep(8)  # until the workers are warm
    bare: list[float] = []
    warm: list[list[float]] = []
    answered: list[float] = []
    clicks: list[list[float]] = []
    for number in range(rounds):
        bare.append(opened(browser, least, "box", "pressed")[1])
        warm.append(opened(browser, url, "node-main/0", "loop", ".st-key-open button"))
        answered += pressed(browser, least)
        clicks += clicked(browser, url, number)
    whole, first, *_ = zip(*warm, strict=True)
    steps, drawn, messages, size = zip(*clicks, strict=True)
    median = statistics.median
    rows = [
        row("least page opened → drawn", bare, None),
        row("page opened at once after the start → first sample drawn", [cold], None),
        row("page opened, workers warm → first sample drawn", list(first), 2000),
        row("the same → the buttons of the top line", list(whole), None),
        row("key in the least page → answer drawn", answered, None),
        row("click in the graph → redrawn graph", list(drawn), 250),
        row("the same → its line in the list of steps", list(steps), None),
    ]
    told = (
        f"Of the least page: opened {median(first) / median(bare):.2f} times, "
        f"click {median(drawn) / median(answered):.2f} times.  "
        f"A click until the graph is redrawn: {median(messages):.0f} messages, "
        f"{median(size) / 1000:.1f} kB (medians)."
    )
    return rows, told


def opened(browser: Browser, url: str, node: str, words: str, rest: str = "") -> list[float]:
    """[ms until the one of `rest`, ms until the node, …] from the start of the navigation.

    Each in a fresh profile.
    """
    with page_of(browser, url) as page:
        return list(page.evaluate(WAIT, [node, words, "", rest, 1]))


def pressed(browser: Browser, url: str) -> Iterator[float]:
    """Keys pressed on the one component of the least page, one after another."""
    with page_of(browser, url) as page:
        page.evaluate(WAIT, ["box", "pressed 0", "", "", 0])
        for count in range(1, 7):
            settled(page)
            yield float(page.evaluate(WAIT, ["box", f"pressed {count}", "x", "", 0])[1])


def clicked(browser: Browser, url: str, number: int) -> Iterator[list[float]]:
    """Loops of a module nobody has seen moved and bound by key, one after another.

    Gives [ms until the step is listed, ms until the graph is drawn, messages, bytes].  The text is
    new, so every state is; the first clicks still meet what opening it set off.
    """
    with page_of(browser, url) as page:
        page.evaluate(WAIT, ["node-main/0", "loop", "", "", 0])
        page.get_by_role("button", name="Open…").click()
        page.get_by_label("Text").fill(MODULE.format(extent=256, number=number))
        page.get_by_label("Text").press("Control+Enter")
        page.get_by_role("button", name="Open the text").click()
        page.evaluate(WAIT, ["node-main/0/0/0", "256", "", "", 0])
        acts = (
            *[("node-main/0", "r", name) for name in ("j in", "i in", "j in", "i in")],
            ("node-main/0", "b", "blockIdx.x"),
            ("node-main/0/0/0", "t", "threadIdx.x"),
        )
        for count, (node, key, words) in enumerate(acts, 1):
            page.locator(f'[data-testid="{node}"]').click()
            settled(page)
            yield page.evaluate(WAIT, [node, words, key, '[aria-label="Steps"] li', count])


def settled(page: Page) -> None:
    """Wait until no script runs for the page."""
    page.locator('[data-test-script-state="notRunning"]').wait_for(state="attached")


@contextmanager
def page_of(browser: Browser, url: str) -> Iterator[Page]:
    """A page in a profile of its own, at `url`."""
    context = browser.new_context(viewport={"width": 1600, "height": 1000})
    context.add_init_script(COUNT)
    page = context.new_page()
    page.goto(url)
    yield page
    context.close()


@contextmanager
def served(script: str) -> Iterator[str]:
    """A Streamlit script of this checkout on a free port; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", script, f"--server.port={port}"],
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
