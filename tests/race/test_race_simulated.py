"""The whole heat on a clock of its own: the rounds, the budget, the end, who is out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from explorer.engine import race_heat
from explorer.engine.race_heat import Entry, HeatRun, Track
from explorer.engine.race_lane import Gone
from explorer.engine.race_line import Told
from explorer.model.race import Heat, Method, Provenance
from explorer.model.result import Check


class Clock:
    """Seconds that pass only when something runs."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


class FakeMaterial:
    """A function whose outputs are always right."""

    name = "main"
    needs_reference_first = False
    weighed = True
    ready: Any = None

    def fill(self, plan: int) -> None:
        pass

    def make_reference(self) -> None:
        self.ready = True

    def check(self, wrong: str, rounds: int) -> Check:
        status = "mismatch" if wrong else "match"
        return Check(status=status, detail=wrong or f"{rounds} rounds")  # type: ignore[arg-type]


class FakeLane:
    """Kernels of known times on a noisy machine."""

    def __init__(self, clock: Clock, times_us: list[float], seed: int, faults: dict[int, Any]):
        self.clock, self.times_us, self.faults = clock, times_us, faults
        self.rng = np.random.default_rng(seed)
        self.turns = 0

    def turn(self, variant: int, plan: int, calls: int, flush: bool, timeout_s: float) -> Told:
        self.turns += 1
        fault = self.faults.get(variant)
        if fault is not None and self.turns > 30:
            if isinstance(fault, Told):
                return fault
            self.clock.now += timeout_s if fault == "hangs" else 0
            raise Gone(fault)
        delay = 1 + (self.rng.random() < 0.2) * self.rng.pareto(1.2)
        drift = 1 + 0.2 * np.sin(self.clock.now)
        us = self.times_us[variant] * delay * drift * float(np.exp(self.rng.normal(0, 0.02)))
        self.clock.now += (calls + 2) * us / 1e6 + 300e-6
        return Told(us=us)

    def load(self, variant: int) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(race_heat, "time", SimpleNamespace(monotonic=clock.monotonic))
    return clock


def run(
    clock: Clock, times_us: list[float], seed: int = 0, *, budget_s: float = 5.0,
    faults: dict[int, Any] | None = None, back: bool = True, news: list[Heat] | None = None,
) -> Heat:  # fmt: skip
    faults = faults or {}
    opened: list[FakeLane] = []

    def lane() -> FakeLane:
        if opened and not back:
            raise Gone("it did not come back")
        opened.append(FakeLane(clock, times_us, seed + len(opened), faults))
        return opened[-1]

    track = Track(lane, lambda lane, at: lane.load(at))  # type: ignore[arg-type]
    heat = HeatRun(
        material=FakeMaterial(),  # type: ignore[arg-type]
        entries=[Entry(at, "abcdef"[at], track) for at in range(len(times_us))],
        method=Method(budget_s=budget_s), place=Provenance(runner="fake", device="fake"),
        show=lambda heat: None if news is None else news.append(heat),
    )  # fmt: skip
    return heat.run()


@pytest.mark.parametrize(
    ("ratio", "outcome"), [(1.0, "no_difference"), (1.05, "faster"), (1 / 1.05, "slower")]
)
def test_of_100_races_at_least_95_are_called_right(
    clock: Clock, ratio: float, outcome: str
) -> None:
    called = [
        run(clock, [100.0, 100.0 * ratio], seed, budget_s=1.0).verdicts[0].outcome
        for seed in range(0, 200, 2)
    ]
    assert called.count(outcome) >= 95  # type: ignore[arg-type]


def test_it_ends_within_the_budget_and_tells_what_it_knows_meanwhile(clock: Clock) -> None:
    news: list[Heat] = []
    heat = run(clock, [3000.0, 8000.0], news=news)
    assert clock.now <= 5.0 * 1.1
    assert heat.final
    assert len(news) >= 5
    assert not any(each.final or each.verdicts for each in news)
    assert [row.status for row in news[0].rows] == ["measured", "not_measured"]
    assert all(row.status == "measured" for row in news[1].rows)
    runs = [each.rows[0].runs for each in news]
    assert runs == sorted(runs)
    assert heat.rows[0].runs >= runs[-1] > runs[0]


def test_it_ends_early_when_enough_is_known(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(race_heat, "enough", lambda samples: True)
    run(clock, [100.0, 200.0])
    assert clock.now < 1.0


def test_slow_kernels_get_a_few_rounds_and_no_verdict(clock: Clock) -> None:
    heat = run(clock, [1.5e6, 3e6], budget_s=1.0)
    assert [row.status for row in heat.rows] == ["measured", "measured"]
    assert heat.verdicts[0].outcome == "undecided"
    assert heat.winner == ""


@pytest.mark.parametrize("fault", ["its process crashed (SIGSEGV)", "hangs"])
def test_a_variant_that_takes_its_process_down_loses_only_its_row(clock: Clock, fault: str) -> None:
    heat = run(clock, [100.0, 150.0, 120.0], faults={1: fault})
    assert [row.status for row in heat.rows] == ["measured", "not_measured", "measured"]
    assert fault in heat.rows[1].reason
    assert heat.lost == ""
    assert heat.winner == "a"


def test_a_device_that_does_not_come_back_loses_its_rows_and_says_so(clock: Clock) -> None:
    heat = run(clock, [100.0, 150.0], faults={0: "the server closed the connection"}, back=False)
    assert heat.lost == "the server closed the connection, and then it did not come back"
    assert all(row.status == "not_measured" for row in heat.rows)
    assert all("The device was lost" in row.reason for row in heat.rows)


def test_a_wrong_result_is_out_of_the_ranking(clock: Clock) -> None:
    wrong = Told(us=1.0, wrong="3 of 4 elements of C differ.")
    heat = run(clock, [100.0, 90.0, 200.0], faults={1: wrong})
    assert heat.rows[1].status == "not_measured"
    assert "3 of 4 elements of C differ." in heat.rows[1].reason
    assert heat.rows[1].check.status == "mismatch"
    assert heat.winner == "a"
    assert len(heat.verdicts) == 1
