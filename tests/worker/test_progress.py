"""What a long request finds meanwhile arrives before its answer, and costs others nothing."""

from __future__ import annotations

import os
import threading
from concurrent.futures import CancelledError

import pytest

from explorer.errors import WorkerDied


def test_everything_told_arrives_in_order_before_the_answer(pool):
    told: list[int] = []
    job = pool.watch("tell", int, 5, on_news=told.append)
    assert job.result(30) == 5
    assert told == [0, 1, 2, 3, 4]
    assert job.latest == 4


def test_who_only_asks_gets_the_answer(pool):
    assert pool.ask("tell", int, 3) == 3
    job = pool.submit("tell", int, 3)
    assert job.result(30) == 3
    assert job.latest == 2


def test_watched_work_does_not_yield_to_others(pool):
    assert pool.watch("nice", int).result(30) == os.nice(0)


def test_cancelling_keeps_what_was_told(pool):
    heard = threading.Event()
    job = pool.watch("tell", int, -3, on_news=lambda number: number == 2 and heard.set())
    assert heard.wait(30)
    assert job.cancel()
    with pytest.raises(CancelledError):
        job.result(20)
    assert job.latest == 2
    assert pool.ask("pid", int) > 0


def test_telling_does_not_stretch_the_time_limit(pool):
    job = pool.watch("tell", int, -3, timeout_s=1.0)
    with pytest.raises(WorkerDied, match="did not finish within 1 s"):
        job.result(30)
