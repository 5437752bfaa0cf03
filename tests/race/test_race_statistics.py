"""Verdicts under drift, heavy tails and stretches of noise: never a ranking that noise made."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.model.race import Verdict
from explorer.race.interval import median_interval
from explorer.race.rounds import Samples, calls, enough, order
from explorer.race.verdict import LEAST_ROUNDS, judge, verdicts, winner

RACES, ROUNDS = 100, 400


def machine(rng: np.random.Generator, rounds: int) -> np.ndarray:
    """How slow a machine is in each round: it warms up, wanders, and is disturbed for a while."""
    wander = np.cumsum(rng.normal(0, 0.004, rounds))
    warm_up = 0.3 * np.exp(-np.arange(rounds) / 60)
    stretch = np.zeros(rounds)
    for start in rng.integers(0, rounds, 4):
        stretch[start : start + rounds // 20] = rng.uniform(0.2, 1.0)
    return np.exp(wander + warm_up + stretch)


def noise(rng: np.random.Generator, rounds: int) -> np.ndarray:
    """Of one turn: a little jitter, and in one of four turns a delay without a bound."""
    delayed = rng.random(rounds) < 0.25
    return np.exp(rng.normal(0, 0.03, rounds)) * (1 + delayed * rng.pareto(1.2, rounds))


def simulated(ratio: float, seed: int, rounds: int = ROUNDS) -> Verdict:
    rng = np.random.default_rng(seed)
    slow = machine(rng, rounds)
    own = 100 * slow * noise(rng, rounds)
    return judge("a", "b", own, 100 * ratio * slow * noise(rng, rounds))


@pytest.mark.parametrize(
    ("ratio", "outcome", "opposite"),
    [
        (1.0, "no_difference", None),
        (1.05, "faster", "slower"),
        (1 / 1.05, "slower", "faster"),
        (1.3, "faster", "slower"),
    ],
)
def test_at_least_95_of_100_are_called_right(
    ratio: float, outcome: str, opposite: str | None
) -> None:
    called = [simulated(ratio, seed).outcome for seed in range(RACES)]
    assert called.count(outcome) >= 95
    if opposite:
        assert called.count(opposite) == 0


def test_a_difference_below_two_percent_is_never_a_ranking() -> None:
    called = [simulated(1.005, seed).outcome for seed in range(RACES)]
    assert called.count("no_difference") >= 95


def test_words_say_ratio_and_error_or_how_much_could_hide() -> None:
    rng = np.random.default_rng(1)
    own = 10 * np.exp(rng.normal(0, 0.01, 200))
    assert judge("a", "b", own, own * 1.34).words == "1.34× ± 0.00 faster"
    assert judge("b", "a", own * 1.34, own).words == "1.34× ± 0.00 slower"
    same = judge("a", "b", own, 10 * np.exp(rng.normal(0, 0.01, 200)))
    assert same.words.startswith("no difference seen (±0.")


def test_a_ratio_that_is_hardly_known_is_said_as_a_range() -> None:
    rng = np.random.default_rng(2)
    own = 10 * np.exp(rng.normal(0, 0.01, 60))
    vague = judge("a", "b", own, 200 * np.exp(rng.normal(0, 2.0, 60)))
    assert vague.outcome == "faster"
    assert vague.words.startswith("between ")


def test_too_few_common_rounds_decide_nothing() -> None:
    own = np.full(LEAST_ROUNDS + 5, 1.0)
    other = np.full(LEAST_ROUNDS + 5, 9.0)
    other[LEAST_ROUNDS - 1 :] = np.nan
    found = judge("a", "b", own, other)
    assert found.outcome == "undecided"
    assert found.words.startswith(f"not decided: {LEAST_ROUNDS - 1} common rounds")


def test_intervals_hold_the_median_also_when_neighbours_are_alike() -> None:
    inside = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        steps = np.repeat(rng.normal(0, 0.02, 100), 4) + rng.normal(0, 0.01, 400)
        found = median_interval(100 * np.exp(steps))
        inside += found.low <= 100 <= found.high
    assert inside >= 85


def test_a_winner_beats_everybody_by_a_verdict() -> None:
    rng = np.random.default_rng(3)

    def times(us: float) -> np.ndarray:
        return us * np.exp(rng.normal(0, 0.01, 100))

    rounds = {"a": times(10), "b": times(20), "c": times(10)}
    found = verdicts(rounds)
    assert [(v.variant, v.other, v.outcome) for v in found] == [
        ("a", "b", "faster"), ("a", "c", "no_difference"), ("b", "c", "slower"),
    ]  # fmt: skip
    assert winner(list(rounds), found) == ""  # a and c share the first place
    rounds["c"] = times(11)
    assert winner(list(rounds), verdicts(rounds)) == "a"
    assert winner(["a"], ()) == ""


def test_disturbed_rounds_are_set_aside_once_there_are_enough_others() -> None:
    samples = Samples()
    for number in range(30):
        samples.add(100.0 if number % 2 else 900.0, bool(number % 2), 2)
    assert samples.set_aside() == 15
    assert set(samples.counted()) == {100.0}
    assert samples.calls == 60
    few = Samples()
    for number in range(12):
        few.add(float(number), number < 3, 1)
    assert few.set_aside() == 0
    assert len(few.counted()) == 12


def test_the_order_changes_from_round_to_round_and_is_the_same_again() -> None:
    orders = [order(4, round_, 0) for round_ in range(50)]
    assert all(sorted(each) == [0, 1, 2, 3] for each in orders)
    assert {each[0] for each in orders} == {0, 1, 2, 3}
    assert orders == [order(4, round_, 0) for round_ in range(50)]
    assert orders != [order(4, round_, 1) for round_ in range(50)]


def test_turns_are_short_and_cold_calls_single() -> None:
    assert calls(0.5, "warm") == 800
    assert calls(1e-3, "warm") == 1000
    assert calls(5000, "warm") == 1
    assert calls(0.5, "flushed") == 1


def test_it_is_enough_when_every_interval_is_narrow() -> None:
    rng = np.random.default_rng(4)
    samples = {"a": Samples(), "b": Samples()}
    assert not enough(samples)
    for _ in range(200):
        samples["a"].add(10 * float(np.exp(rng.normal(0, 0.01))), True, 1)
        samples["b"].add(12 * float(np.exp(rng.normal(0, 0.01))), True, 1)
    assert enough(samples)
    samples["b"] = Samples()
    for _ in range(200):
        samples["b"].add(12 * float(np.exp(rng.normal(0, 0.5))), True, 1)
    assert not enough(samples)
