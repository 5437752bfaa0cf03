"""Races over TVM's RPC on loopback: a server, a tracker with three, devices that are lost."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from explorer.emulator import compiler as cc
from explorer.engine import progress, race_build, race_device, race_heat
from explorer.experiment import Variant
from explorer.model.loaded import Source
from explorer.model.race import Method, Race, Where
from explorer.runners import rpc
from explorer.targets.host import LLVM

Run = Callable[..., Race]
Start = Callable[..., tuple[subprocess.Popen[bytes], int]]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def start() -> Iterator[Start]:
    """Start an RPC program on loopback; all are gone after the test."""
    running: list[subprocess.Popen[bytes]] = []

    def run(program: str, *options: str) -> tuple[subprocess.Popen[bytes], int]:
        port = free_port()
        running.append(
            subprocess.Popen(
                [sys.executable, "-m", f"tvm.exec.{program}", "--host", "127.0.0.1",
                 "--port", str(port), "--port-end", str(port + 1), *options],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            )
        )  # fmt: skip
        return running[-1], port

    yield run
    for process in running:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 90
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def farm(start: Start) -> tuple[list[subprocess.Popen[bytes]], list[int], Where]:
    """A tracker and three servers that have registered: their processes, ports, and how to ask."""
    _, tracker = start("rpc_tracker")
    address = f"127.0.0.1:{tracker}"
    servers = [start("rpc_server", "--tracker", address, "--key", "cpu") for _ in range(3)]
    where = Where(tracker=address, key="cpu")

    def registered() -> bool:
        places = rpc.places(where, LLVM)
        return isinstance(places, tuple) and len(places) == 3

    wait_for(registered)
    return [process for process, _ in servers], [port for _, port in servers], where


def test_a_server_by_its_address(start: Start, matmul: Source, fast: Variant, on_cpu: Run) -> None:
    _, port = start("rpc_server")
    wait_for(lambda: listens(port))
    found = on_cpu(
        matmul, Variant("plain"), fast, where=Where(server=f"127.0.0.1:{port}"),
        method=Method(budget_s=1.5),
    )  # fmt: skip
    assert "no authentication" in found.warning
    (heat,) = found.heats
    assert heat.place.runner == "rpc"
    assert heat.place.device == f"CPU at 127.0.0.1:{port}"
    assert [row.status for row in heat.rows] == ["measured", "measured"]
    assert [row.check.status for row in heat.rows] == ["match", "match"]
    assert heat.verdicts[0].outcome == "slower"


def test_object_files_go_where_no_library_can_be_made_here(
    start: Start, matmul: Source, on_cpu: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(race_build, "can_link", lambda triple, own: False)
    _, port = start("rpc_server")
    wait_for(lambda: listens(port))
    (heat,) = on_cpu(matmul, Variant("plain"), where=Where(server=f"127.0.0.1:{port}")).heats
    assert heat.rows[0].status == "measured"


def test_nobody_listens(matmul: Source, on_cpu: Run) -> None:
    where = Where(server=f"127.0.0.1:{free_port()}")
    (heat,) = on_cpu(matmul, Variant("plain"), where=where).heats
    assert heat.rows[0].status == "not_measured"
    assert "gives no session" in heat.rows[0].reason
    assert "tunnel" in heat.rows[0].reason
    (heat,) = on_cpu(matmul, Variant("plain"), where=where).heats
    assert "left alone" in heat.rows[0].reason


def test_one_of_three_hangs_and_one_is_killed(
    farm: tuple[list[subprocess.Popen[bytes]], list[int], Where], matmul: Source, fast: Variant,
    on_cpu: Run, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    processes, ports, where = farm
    monkeypatch.setattr(race_heat, "LEAST_TURN_S", 3.0)
    monkeypatch.setattr(race_device, "AGAIN_S", 3.0)
    killed, hung, good = (f"CPU at 127.0.0.1:{port}" for port in ports)
    broken: list[Race] = []

    def break_two(so_far: Race) -> None:
        running = {heat.place.device for heat in so_far.heats if heat.rows[0].runs}
        if not broken and running == {killed, hung, good}:
            broken.append(so_far)
            os.killpg(processes[0].pid, signal.SIGKILL)
            os.killpg(processes[1].pid, signal.SIGSTOP)

    with progress.told_to(break_two):
        found = on_cpu(matmul, Variant("plain"), fast, where=where, method=Method(budget_s=4.0))
    assert broken
    heats = {heat.place.device: heat for heat in found.heats}
    assert set(heats) == {killed, hung, good}
    assert [row.status for row in heats[good].rows] == ["measured", "measured"]
    assert heats[good].winner == "fast"
    assert heats[good].lost == ""
    assert "the server closed the connection" in heats[killed].lost
    assert "no answer within" in heats[hung].lost
    assert any("3 of these servers run on one machine" in n for n in heats[good].place.notes)
    for name in (killed, hung):
        assert all(row.status == "not_measured" for row in heats[name].rows)
        assert all("The device was lost" in row.reason for row in heats[name].rows)
        assert heats[name].winner == ""


def test_what_is_needed_to_link_for_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    own = "x86_64-conda-linux-gnu"
    assert race_build.can_link("x86_64-unknown-linux-gnu", own)
    assert not race_build.can_link("aarch64-linux-gnu", own)
    monkeypatch.setattr(cc, "find_compiler", lambda: None)
    assert not race_build.can_link(own, own)
