"""A crash, hang or blow-up costs its own request: a sentence, and the next one works."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from concurrent.futures import CancelledError

import pytest

from explorer.errors import WorkerDied
from explorer.model.loaded import Source


@pytest.mark.parametrize(
    ("verb", "args", "timeout_s", "why"),
    [
        ("crash", (), 10, r"Its process crashed \(SIGSEGV\)\."),
        ("hang", (), 0.5, r"It did not finish within 0\.5 s and was stopped\."),
        ("leave", (), 10, r"Its process ended with status 3\."),
        ("blow_up", (), 20, "It needed more memory than one request may have."),
        ("bad_alloc", (), 10, "It needed more memory than one request may have."),
        ("shout", (2 << 20,), 10, r"The answer is too large \(2 MB, 1 MB are allowed\)\."),
        ("print_forever", (), 20, "It wrote more than one request may write."),
        ("garbage", (), 10, "Its answer made no sense."),
    ],
)
def test_it_costs_its_own_request_only(pool, verb, args, timeout_s, why):
    with pytest.raises(WorkerDied, match=why) as caught:
        pool.ask(verb, int, *args, timeout_s=timeout_s)
    assert "Your steps are all there" in caught.value.problem.do
    source = Source("after it")
    assert pool.ask("echo", list[Source], source) == [source]


def test_what_it_printed_is_kept_as_details(pool):
    with pytest.raises(WorkerDied) as caught:
        pool.ask("crash", int)
    assert "last words of a crash" in caught.value.problem.details


def test_where_it_hung_is_kept_as_details(pool):
    with pytest.raises(WorkerDied) as caught:
        pool.ask("hang", int, timeout_s=1)
    assert re.search(r"verbs\.py\", line \d+ in hang", caught.value.problem.details)


def test_a_large_answer_that_is_allowed_arrives_whole(pool):
    assert len(pool.ask("shout", str, (1 << 20) - 100)) == (1 << 20) - 100


def test_sessions_do_not_wait_for_one_that_hangs(pool):
    failures: list[WorkerDied] = []

    def hang() -> None:
        with pytest.raises(WorkerDied) as caught:
            pool.ask("hang", int, timeout_s=60)
        failures.append(caught.value)

    thread = threading.Thread(target=hang)
    thread.start()
    answered = [pool.ask("echo", list[Source], Source(str(n))) for n in range(5)]
    assert len(answered) == 5
    assert thread.is_alive()  # it was still hanging all the while
    pool.close()
    thread.join(10)
    assert "The workers were closed." in str(failures[0])


def test_more_requests_than_workers_are_refused_in_time(make_pool):
    pool = make_pool(most=1)
    job = pool.submit("hang", int, timeout_s=60)
    _wait_until_begun(job)
    with pytest.raises(WorkerDied, match="No worker was free in time"):
        pool.ask("pid", int, timeout_s=0.2)
    job.cancel()


def test_background_work_yields_and_gives_its_result(pool):
    mine = os.nice(0)
    assert pool.submit("nice", int).result(20) == min(mine + 10, 19)
    assert pool.ask("nice", int) == mine


def test_background_work_yields_to_other_sessions_too(pool):
    waited_for = pool.ask("autogroup", str)
    aside = pool.submit("autogroup", str).result(20)
    assert "nice 10" not in waited_for
    assert "nice 10" in aside or not waited_for


def test_a_background_error_is_raised_by_its_result(pool):
    with pytest.raises(WorkerDied, match="SIGSEGV"):
        pool.submit("crash", int).result(20)


def test_cancelling_stops_work_that_has_begun(pool):
    job = pool.submit("hang", int, timeout_s=60)
    _wait_until_begun(job)
    pid = job.child.hello.pid
    assert job.cancel()
    with pytest.raises(CancelledError):
        job.result(20)
    assert job.cancelled()
    _wait_until_gone(pid)
    assert pool.ask("pid", int) != pid


def test_cancelling_stops_work_that_waits(make_pool):
    pool = make_pool()
    running = [pool.submit("hang", int, timeout_s=60) for _ in range(os.cpu_count() or 1)]
    waiting = pool.submit("pid", int)
    assert waiting.cancel()
    assert waiting.cancelled()
    for job in running:
        assert job.cancel()
        with pytest.raises(CancelledError):
            job.result(20)
    assert pool.submit("pid", int).result(20) > 0


def test_a_finished_job_can_not_be_cancelled(pool):
    job = pool.submit("pid", int)
    assert job.result(20) > 0
    assert not job.cancel()
    assert not job.cancelled()


def test_a_killed_server_is_replaced_without_a_word(pool):
    first = pool.ask("pid", int)
    server = pool._server.pid
    os.kill(server, signal.SIGKILL)
    _wait_until_gone(first)  # no child outlives it
    second = pool.ask("pid", int)
    assert second != first
    assert pool._server.pid != server


def test_a_request_under_way_survives_the_server(pool):
    pool.ask("pid", int)
    job = pool.submit("hang", int, timeout_s=60)
    _wait_until_begun(job)
    before = job.child
    os.kill(pool._server.pid, signal.SIGKILL)
    _until(lambda: job.child is not before)  # asked again, on a new server
    assert not job.done()
    job.cancel()


def test_children_that_die_together_are_all_told_and_take_nothing_along(pool):
    assert pool.wait_until_ready(30)
    server = pool._server
    for _ in range(8):
        children = [server.spawn(background=False) for _ in range(16)]
        pids = [child.greet(60).pid for child in children]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        assert {server.exit_status(pid, 30) for pid in pids} == {-signal.SIGKILL}
        for child in children:
            child.close()
    assert pool._server is server
    assert server.stage == "ready"


def test_an_idle_child_that_was_killed_is_replaced_without_a_word(pool):
    assert pool.wait_until_ready(30)
    first = pool.ask("count", int, Source("a"))
    pid = pool._idle[-1].hello.pid
    os.kill(pid, signal.SIGKILL)
    _wait_until_gone(pid)
    assert first == 1
    assert pool.ask("count", int, Source("a")) == 1


def test_what_a_request_started_ends_with_its_child(pool):
    assert pool.wait_until_ready(30)
    source = Source("one child's subject")
    sleeper = pool.ask("start_sleeper", int, source)
    with pytest.raises(WorkerDied):
        pool.ask("crash", int, source)
    _wait_until_gone(sleeper)


def test_nothing_outlives_the_program():
    code = """
import sys
from explorer.worker.limits import Settings
from explorer.model.loaded import Source
from explorer.worker.pool import Pool
pool = Pool(Settings(answers="tests.worker.verbs:ANSWERS", warm_up="tests.worker.verbs:warm_up"))
sleeper = pool.ask("start_sleeper", int, Source(""))
print(sleeper, pool.ask("pid", int), pool._server.pid, flush=True)
pool.submit("hang", int, timeout_s=600)
sys.stdin.read()
"""
    program = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    pids = [int(word) for word in program.stdout.readline().split()]
    assert len(pids) == 3
    program.kill()  # SIGKILL: no handler of ours runs
    program.wait()
    program.stdin.close()
    program.stdout.close()
    for pid in pids:
        _wait_until_gone(pid)


def _wait_until_begun(job) -> None:
    _until(lambda: job.child is not None and job.child.hello is not None)


def _wait_until_gone(pid: int) -> None:
    _until(lambda: not _alive(pid))


def _alive(pid: int) -> bool:
    """Running; a zombie that nobody has buried yet is not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _until(condition, timeout_s: float = 20) -> None:
    ticker = threading.Event()
    for _ in range(int(timeout_s / 0.02)):
        if condition():
            return
        ticker.wait(0.02)
    raise AssertionError("it never came true")
