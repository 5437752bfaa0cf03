"""A remote race from the form of the page: a tracker with two servers, then one that is dead."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from explorer.experiment import Experiment, Variant, dump
from explorer.model.loaded import Source
from explorer.model.race import Where
from explorer.runners import rpc
from explorer.targets.host import LLVM

TEXT = """\
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32")):
    for i in range(4096):
        with T.sblock("B"):
            vi = T.axis.spatial(4096, i)
            B[vi] = T.sqrt(A[vi])
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(program: str, port: int, *options: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", f"tvm.exec.{program}", "--host", "127.0.0.1", "--port", str(port),
         "--port-end", str(port + 1), *options],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


@pytest.fixture(scope="module")
def farm() -> Iterator[tuple[str, list[int]]]:
    """A tracker's address, and the ports of two servers that it has with the key "bench"."""
    tracker, ports = free_port(), [free_port() for _ in range(2)]
    address = f"127.0.0.1:{tracker}"
    running = [start("rpc_tracker", tracker)]
    running += [start("rpc_server", p, "--tracker", address, "--key", "bench") for p in ports]
    deadline = time.monotonic() + 120
    while True:
        places = rpc.places(Where(tracker=address, key="bench"), LLVM)
        if isinstance(places, tuple) and len(places) == 2:
            break
        assert time.monotonic() < deadline, "the servers did not register"
        time.sleep(0.1)
    yield address, ports
    for process in running:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_the_form_races_on_every_server_and_says_which_one_is_dead(app, farm) -> None:
    address, ports = farm
    experiment = Experiment(
        title="Roots", source=Source(TEXT), target="llvm", variants=(Variant("Original"),)
    )
    app.upload("roots.experiment.json", dump(experiment))
    expect(app.page.get_by_text("Roots").first).to_be_visible()
    app.idle()
    app.tab("Timing")
    expect(app.button("Start the race")).to_be_visible()
    app.idle()
    app.page.get_by_role("combobox", name=re.compile("Where")).click()
    app.page.get_by_role("option", name="Remote device (TVM RPC)").click()
    field = app.page.get_by_role("textbox", name="Address")
    expect(field).to_have_value("127.0.0.1:9090")
    expect(app.page.get_by_text(re.compile("no authentication")).first).to_be_visible()
    app.idle()
    app.page.get_by_role("radio", name="tracker").click()
    expect(field).to_have_value("127.0.0.1:9190")
    expect(app.page.get_by_text("The tracker needs a key.")).to_be_visible()
    app.idle()
    field.fill(address)
    app.page.get_by_role("textbox", name="Key").fill("bench")
    app.page.get_by_role("textbox", name="Key").press("Enter")
    expect(app.page.get_by_text("The tracker needs a key.")).not_to_be_visible()
    app.button("Start the race").click()
    for port in ports:
        table = app.page.get_by_role("table").filter(has_text=f"CPU at 127.0.0.1:{port}")
        expect(table).to_contain_text("match")
        expect(table).to_contain_text("2 of these servers run on one machine")
    expect(app.button("Start the race")).to_be_visible()
    app.idle()
    app.page.get_by_role("radio", name="server").click()
    expect(field).to_have_value("127.0.0.1:9090")
    app.idle()
    dead = free_port()
    field.fill(f"127.0.0.1:{dead}")
    app.button("Start the race").click()  # what was typed counts, though nobody pressed Enter
    row = app.page.get_by_role("row").filter(has_text="gives no session")
    expect(row).to_contain_text("not measured")
    expect(row).to_contain_text(f"127.0.0.1:{dead}")
    expect(row).to_contain_text("Is the server running, and the tunnel open?")
