"""What is made and tried next, on made-up landscapes: no TVM needed."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from explorer.engine.tuning.brain import FIRST, POOL, Brain
from explorer.engine.tuning.orders import Gene, Made, Wanted
from explorer.model.loaded import Source
from explorer.tuning.events import Decision, Design
from explorer.tuning.job import Ban, Steering, Task, TuneJob

Landscape = Callable[[Gene], float | None]

DESIGNS = tuple(
    Design(function="f", number=number, trace="", decisions=(
        Decision(4, "tile of i in block C", parts=2), Decision(6, "tile of j in block C", parts=2),
        Decision(9, "limit of unrolling", candidates=(0, 16, 64)),
    ))
    for number in range(2)
)  # fmt: skip
FACTORS = [2**n for n in range(11)]


def job_of(**more: object) -> TuneJob:
    """A job for function f."""
    return TuneJob(
        source=Source(text=""), target="llvm", tasks=(Task("f"),), runner="llvm",
        **{"trials": 48, **more},
    )  # fmt: skip


def candidate(draw: random.Random, wanted: Wanted) -> Made:
    """What a hand would make: factors at random, or a parent with one decision changed."""
    values: list[int | tuple[int, ...]] = []
    for _ in range(2):
        inner = draw.choice(FACTORS)
        values.append((1024 // inner, inner))
    values.append(draw.randrange(3))
    gene = Gene(wanted.design, tuple(zip((4, 6, 9), values, strict=True)))
    origin = "sampled"
    if wanted.parent is not None:
        at = draw.randrange(3)
        kept = list(wanted.parent.decisions)
        kept[at] = gene.decisions[at]
        gene = Gene(wanted.parent.design, tuple(kept))
        origin = f"mutated from {wanted.parent_id}"
    return Made(gene=gene, origin=origin, digest=str(gene), features=[1.0, 2.0])


def smooth(gene: Gene) -> float | None:
    """Best at factors 16 and 64, design 1 and unrolling 2; 100 us there."""
    (_, i), (_, j), (_, unroll) = gene.decisions
    assert isinstance(i, tuple)
    assert isinstance(j, tuple)
    away = abs(math.log2(i[1]) - 4) + abs(math.log2(j[1]) - 6) + (unroll != 2) + (gene.design != 1)
    return 100 * 1.3**away


def search(job: TuneJob, landscape: Landscape, designs: tuple[Design, ...] = DESIGNS) -> list[Gene]:
    """Try as many candidates as the job says; what was tried, in order."""
    brain = Brain(job, job.tasks[0], designs)
    made: dict[int, Gene] = {}
    tried: list[Gene] = []
    for _ in range(20_000):
        for id, _ in brain.choose(2):
            tried.append(made[id])
            brain.learn(id, landscape(made[id]))
        if len(tried) >= job.trials:
            break
        for wanted in brain.wants(4):
            id = len(made) + 1
            one = candidate(random.Random(wanted.seed), wanted)
            made[id] = one.gene
            brain.take(id, one)
    return tried


def best(tried: list[Gene], landscape: Landscape) -> float:
    """The best time of those that ran."""
    return min(us for gene in tried if (us := landscape(gene)) is not None)


def test_it_finds_what_chance_does_not() -> None:
    learned = [best(search(job_of(seed=seed), smooth), smooth) for seed in range(2)]
    blind = [
        best(search(job_of(seed=seed, strategy="random"), smooth), smooth) for seed in range(2)
    ]
    assert max(learned) < 1.5 * 100
    assert max(learned) < min(blind)


def test_it_learns_to_leave_alone_what_fails() -> None:
    def half(gene: Gene) -> float | None:
        (_, i), *_ = gene.decisions
        assert isinstance(i, tuple)
        return None if i[1] >= 32 else smooth(gene)

    tried = search(job_of(trials=48), half)
    failed = [half(gene) is None for gene in tried]
    assert sum(failed[:10]) >= 3
    assert sum(failed[-10:]) <= 2


def test_all_failing_is_no_reason_to_stop() -> None:
    assert len(search(job_of(trials=30), lambda gene: None)) == 30


def test_the_same_job_searches_the_same_way_and_another_seed_another() -> None:
    one = search(job_of(seed=5, trials=24), smooth)
    assert one == search(job_of(seed=5, trials=24), smooth)
    assert one[0] != search(job_of(seed=6, trials=4), smooth)[0]


def test_the_first_valid_candidate_is_tried_at_once() -> None:
    brain = Brain(job_of(), Task("f"), DESIGNS)
    assert brain.choose(4) == []
    (wanted,) = brain.wants(1)
    brain.take(1, candidate(random.Random(1), wanted))
    assert brain.choose(4) == [(1, None)]
    assert brain.choose(4) == []


def test_the_model_chooses_among_many_and_says_what_it_expects() -> None:
    brain = Brain(job_of(), Task("f"), DESIGNS)
    genes: dict[int, Gene] = {}
    draw = random.Random(0)

    def more(count: int) -> None:
        while count:
            made = candidate(draw, Wanted(seed=1, design=draw.randrange(2)))
            id = len(genes) + 1
            genes[id] = made.gene
            count -= brain.take(id, made) is None

    more(FIRST)
    for id, _ in brain.choose(FIRST):
        brain.learn(id, smooth(genes[id]))
    assert brain.rounds == 0
    more(POOL - 1)
    assert brain.choose(1) == []
    more(1)
    ((id, score),) = brain.choose(1)
    assert brain.rounds == 1
    assert score is not None
    assert id in genes
    assert len(brain.passed_over()) == POOL - 1


def test_a_program_is_made_once() -> None:
    brain = Brain(job_of(), Task("f"), DESIGNS)
    made = candidate(random.Random(1), Wanted(seed=1, design=0))
    assert brain.take(1, made) is None
    assert brain.take(2, made) == "duplicate"
    assert brain.twin(made.digest) == 1


@pytest.mark.parametrize("fate", ["rejected", "banned"])
def test_what_came_to_nothing_is_not_tried(fate: str) -> None:
    brain = Brain(job_of(), Task("f"), DESIGNS)
    assert brain.take(1, Made(gene=Gene(0), fate=fate, by="steering", reason="So.")) == fate
    assert brain.choose(1) == []
    assert brain.passed_over() == []


def test_seeds_come_first() -> None:
    steering = Steering(seeds=(("mine", "f", ()), ("yours", "g", ()), ("ours", "f", ())))
    brain = Brain(job_of(steering=steering), Task("f"), DESIGNS)
    assert [wanted.seed_name for wanted in brain.wants(3)] == ["mine", "ours", ""]
    for id in (1, 2, 3):
        brain.take(id, candidate(random.Random(id), Wanted(seed=id, design=0)))
    seed = candidate(random.Random(9), Wanted(seed=9, design=1))
    brain.take(4, Made(gene=seed.gene, origin="seed mine", digest="seed"))
    assert brain.choose(1)[0][0] == 4


def test_banned_designs_are_not_asked_for() -> None:
    brain = Brain(job_of(steering=Steering(bans=(Ban("f", 0),))), Task("f"), DESIGNS)
    assert {wanted.design for wanted in brain.wants(20)} == {1}
    none = Brain(job_of(steering=Steering(bans=(Ban("f", 0), Ban("f", 1)))), Task("f"), DESIGNS)
    assert none.wants(20) == []


def test_earlier_results_are_learned_and_their_programs_not_made_again() -> None:
    brain = Brain(job_of(), Task("f"), DESIGNS)
    made = candidate(random.Random(3), Wanted(seed=1, design=0))
    brain.take(17, made)
    brain.learn(17, 123.0)
    assert brain.choose(1) == []
    assert brain.take(18, made) == "duplicate"
    parents = {wanted.parent_id for wanted in brain.wants(40) if wanted.parent}
    assert parents == {17}


def test_without_a_cost_model_candidates_come_in_their_order() -> None:
    brain = Brain(job_of(cost_model="none"), Task("f"), DESIGNS)
    for id in range(1, 60):
        brain.take(id, candidate(random.Random(id), Wanted(seed=id, design=0)))
    first = [id for id, _ in brain.choose(40)]
    assert first == sorted(first)
    assert brain.rounds == 0


def test_every_order_has_a_seed_of_its_own() -> None:
    brain = Brain(job_of(), Task("f"), DESIGNS)
    seeds = [wanted.seed for wanted in brain.wants(500)]
    assert len(set(seeds)) == 500
    assert all(0 < seed < 2**31 - 1 for seed in seeds)


def test_a_design_whose_samples_are_refused_is_asked_for_less() -> None:
    brain = Brain(job_of(), Task("f"), DESIGNS)
    for id in range(1, 41):
        made = candidate(random.Random(id), Wanted(seed=id, design=id % 2))
        refused = Made(gene=made.gene, fate="rejected", by="VerifyGPUCode", reason="So.")
        brain.take(id, refused if id % 2 else made)
    asked = [wanted.design for wanted in brain.wants(200)]
    assert 0 < asked.count(1) < 40
