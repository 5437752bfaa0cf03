"""Questions are asked once, waited for briefly, and asked again after a worker died."""

from __future__ import annotations

import threading

import pytest

from explorer.errors import LoadError, WorkerDied
from explorer.ui.background import Background


def test_a_question_is_asked_once() -> None:
    asked: list[int] = []

    def double(n: int) -> int:
        asked.append(n)
        return 2 * n

    background = Background()
    assert background.ask(double, 4, wait_s=10).value == 8
    assert background.ask(double, 4, wait_s=10).value == 8
    assert background.ask(double, 5, wait_s=10).value == 10
    assert asked == [4, 5]
    assert background.finished == 2


def test_a_slow_answer_is_pending_and_comes_later() -> None:
    gate = threading.Event()

    def slow() -> str:
        gate.wait(30)
        return "done"

    background = Background()
    assert background.ask(slow).pending
    gate.set()
    assert background.ask(slow, wait_s=30).value == "done"


def test_a_refusal_is_kept_and_a_dead_worker_forgiven() -> None:
    asked: list[str] = []

    def refused() -> None:
        asked.append("refused")
        raise LoadError("No.", line=3)

    def died() -> None:
        asked.append("died")
        raise WorkerDied("It ended.")

    background = Background()
    for verb in (refused, died):
        assert background.ask(verb, wait_s=10).problem is not None
        assert background.ask(verb, wait_s=10).problem is not None
    assert background.ask(refused, wait_s=10).problem.line == 3
    assert asked == ["refused", "died"]
    background.forgive()
    background.ask(refused, wait_s=10)
    background.ask(died, wait_s=10)
    assert asked == ["refused", "died", "died"]


def test_a_bug_on_this_side_is_raised() -> None:
    def wrong() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        Background().ask(wrong, wait_s=10)


def test_a_timeout_of_the_verb_itself_is_not_a_pending_answer() -> None:
    def late() -> None:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        Background().ask(late, wait_s=10)
