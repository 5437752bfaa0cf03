"""A running job obeys: it pauses, goes on, stops, is steered, and is resumed after a kill -9."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from explorer.errors import ExperimentError
from explorer.tuning.events import Candidate, Design, Event, Finished, Steered
from explorer.tuning.folder import Control
from explorer.tuning.job import Ban, Pin, Steering
from tests.tuning.jobs import events, new, run, run_apart, summary, trials
from tests.tuning.test_job import database


def is_trial(event: Event) -> bool:
    return isinstance(event, Candidate) and bool(event.trial)


def test_killed_at_once_and_resumed(tmp_path: Path) -> None:
    folder = new(tmp_path, trials=8)

    def kill_at_the_third(event: Event) -> None:
        if is_trial(event) and len(trials(folder)) == 3:
            os.kill(os.getpid(), signal.SIGKILL)

    assert run_apart(folder, kill_at_the_third) == -signal.SIGKILL
    assert not folder.running()
    assert summary(folder).state(running=False) == "killed"
    before = trials(folder)
    assert len(before) == 3
    assert run(folder).how == "done"
    after = trials(folder)
    assert after[:3] == before or {e.id for e in before} <= {e.id for e in after}
    assert len({each.trial for each in after}) == summary(folder).trials() == 8
    assert len({each.digest for each in after}) == 8  # nothing was tried twice
    assert len(database(folder)) == summary(folder).funnel()["measured"]


def test_one_process_works_on_a_job(tmp_path: Path) -> None:
    folder = new(tmp_path)
    with folder.working(), pytest.raises(ExperimentError, match="already running"):
        run(folder)


def test_paused_nothing_is_measured_until_it_is_resumed(tmp_path: Path) -> None:
    folder = new(tmp_path, trials=4, top=1)

    def pause_then_go_on(event: Event) -> None:
        if is_trial(event) and len(trials(folder)) == 2:
            folder.wish(Control(wish="pause"))
        if isinstance(event, Steered) and event.what == "paused":
            folder.wish(Control(wish="run"))

    assert run(folder, pause_then_go_on).how == "done"
    steered = [event.what for event in events(folder) if isinstance(event, Steered)]
    assert steered[:2] == ["paused", "resumed"]
    assert summary(folder).funnel()["measured"] == 4


def test_stopped_it_ends_and_goes_on_later(tmp_path: Path) -> None:
    folder = new(tmp_path, trials=5, top=1)

    def stop_soon(event: Event) -> None:
        if is_trial(event):
            folder.wish(Control(wish="stop"))

    assert run(folder, stop_soon).how == "stopped"
    first = summary(folder)
    assert 0 < first.trials() < 5
    assert isinstance(events(folder)[-1], Finished)
    folder.wish(Control())
    assert run(folder).how == "done"
    assert summary(folder).trials() == 5


def test_a_pin_and_a_ban_hold_from_then_on(tmp_path: Path) -> None:
    folder = new(tmp_path, trials=10, top=1)
    wanted: list[Steering] = []

    def steer(event: Event) -> None:
        if is_trial(event) and not wanted:
            designs = [each for each in events(folder) if isinstance(each, Design)]
            tile = next(each for each in designs[-1].decisions if each.parts == 2)
            pin = Pin("main", designs[-1].number, tile.at, (8, 4))
            ban = Ban("main", designs[0].number)
            wanted.append(Steering(pins=(pin,), bans=(ban,)))
            folder.wish(Control(steering=wanted[0]))

    assert run(folder, steer).how == "done"
    told = events(folder)
    at = next(n for n, event in enumerate(told) if isinstance(event, Steered))
    assert told[at].words == "1 pin, 1 ban"  # type: ignore[union-attr]
    (pin,), (ban,) = wanted[0].pins, wanted[0].bans
    before = {event.id for event in told[:at] if isinstance(event, Candidate)}
    later = [each for each in told[at:] if isinstance(each, Candidate) and each.trial]
    fresh = [each for each in later if each.id not in before]
    assert fresh
    assert all(each.design != ban.design for each in fresh)
    own = [each for each in fresh if each.design == pin.design]
    assert all(dict(each.decisions)[pin.at] == pin.value for each in own)
    assert len({each.trial for each in trials(folder)}) == 10


def test_rules_may_be_left_out_and_impossible_ones_are_refused(tmp_path: Path) -> None:
    folder = new(tmp_path, trials=8, top=1)
    tried = [
        Steering(without_rules=("NoSuchRule",)), Steering(without_rules=("AddRFactor",)),
    ]  # fmt: skip

    def steer(event: Event) -> None:
        if tried and (is_trial(event) or isinstance(event, Steered)):
            folder.wish(Control(steering=tried.pop(0)))

    assert run(folder, steer).how == "done"
    words = [event.words for event in events(folder) if isinstance(event, Steered)]
    assert words[0].startswith("Not possible. There is no schedule rule NoSuchRule")
    assert words[1] == "without AddRFactor"
    assert summary(folder).trials() == 8
