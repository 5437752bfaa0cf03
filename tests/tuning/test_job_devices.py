"""Devices of tuning jobs: shared between jobs in turns, and reached over RPC."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from explorer.engine.device_lock import Turn
from explorer.model.race import Where
from tests.tuning.jobs import new, run, run_apart, summary, trials
from tests.tuning.test_job import database


def test_turns_come_in_order() -> None:
    first, second = Turn("shared"), Turn("shared")
    assert first.take()
    assert not second.take()  # it stands in the gate now
    first.give()
    assert not first.take()  # and comes before whoever asks again
    assert second.take()
    assert not first.take()
    second.give()
    assert first.take()
    first.give()


def test_nobody_waits_for_one_who_gave_up() -> None:
    first, second, third = Turn("shared"), Turn("shared"), Turn("shared")
    assert first.take()
    assert not second.take()
    second.give()
    first.give()
    assert third.take()
    third.give()


def test_a_forked_child_holds_no_turn() -> None:
    turn = Turn("shared")
    assert turn.take()
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(told, b"!")
        signal.pause()
        os._exit(0)
    os.read(ready, 1)
    turn.give()
    free = turn.take()
    turn.give()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(ready)
    os.close(told)
    assert free


def test_two_jobs_share_the_processor(tmp_path: Path) -> None:
    one, other = new(tmp_path / "one", trials=4, top=1), new(tmp_path / "other", trials=4, top=1)
    pid = os.fork()
    if pid == 0:
        run_apart(one)
        os._exit(0)
    assert run(other).how == "done"
    os.waitpid(pid, 0)
    for folder in (one, other):
        assert summary(folder).funnel()["measured"] == 4


@pytest.fixture
def server() -> Iterator[Where]:
    """An RPC server on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    process = subprocess.Popen(
        [sys.executable, "-m", "tvm.exec.rpc_server", "--host", "127.0.0.1", "--port", str(port),
         "--port-end", str(port + 1)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        assert time.monotonic() < deadline
        time.sleep(0.1)
    yield Where(server=f"127.0.0.1:{port}")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_candidates_run_on_a_server(tmp_path: Path, server: Where) -> None:
    folder = new(tmp_path, runner="rpc", where=server, trials=3, top=1, build_timeout_s=60.0)
    ended = run(folder)
    assert (ended.how, ended.reason) == ("done", "")
    assert [each.fate for each in trials(folder)] == ["measured"] * 3
    assert len(database(folder)) == 3
    place = summary(folder).started[0].place
    assert place is not None
    assert (place.runner, place.device) == ("rpc", server.server)


def test_a_server_that_is_not_there_ends_the_job(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        where = Where(server=f"127.0.0.1:{probe.getsockname()[1]}")
    ended = run(new(tmp_path, runner="rpc", where=where, trials=3))
    assert ended.how == "failed"
    assert "gives no session" in ended.reason
