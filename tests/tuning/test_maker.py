"""Candidates made on order: the same order the same candidate; mutations, pins, bans, seeds."""

from __future__ import annotations

import json

import msgspec
import pytest

from explorer.engine.live import Live
from explorer.engine.load import module
from explorer.engine.trace import steps_of
from explorer.engine.tuning.maker import Gene, Made, Wanted, make
from explorer.engine.tuning.orders import Value
from explorer.engine.tuning.space import Space
from explorer.model.loaded import Source
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives import STEPS, Step
from explorer.tuning.job import Ban, Pin, Steering
from tests.tuning.spaces import GPU, matmul, softmax, space_of

C = BlockRef("C")


def sampled(space: Space, design: int, seed: int = 1) -> Made:
    """The first valid sample of a design."""
    for more in range(200):
        made = make(space, Wanted(seed=seed + 1_000_003 * more, design=design))
        if not made.fate:
            return made
    raise AssertionError("no sample is valid")


def decided(made: Made, at: int) -> Value:
    """What a candidate decided at an instruction."""
    return dict(made.gene.decisions)[at]


@pytest.mark.parametrize("target", ["llvm", GPU])
def test_an_order_is_carried_out_the_same_each_time(target: str) -> None:
    one, other = space_of(softmax(), target), space_of(softmax(), target)
    for seed in (1, 12_345_678):
        order = Wanted(seed=seed, design=0)
        made = make(one, order)
        assert made == make(other, order)
        assert make(other, Wanted(seed=9, gene=made.gene)).digest == made.digest
        change = Wanted(seed=seed, parent=made.gene, parent_id=3)
        assert make(one, change) == make(other, change)


def test_orders_are_plain_values() -> None:
    made = sampled(space_of(matmul(16, 16, 16)), 0)
    order = Wanted(seed=3, parent=made.gene, parent_id=7)
    assert msgspec.json.decode(msgspec.json.encode(order), type=Wanted) == order
    assert msgspec.json.decode(msgspec.json.encode(made), type=Made) == made


def test_a_mutation_differs_and_says_from_what() -> None:
    space = space_of(matmul())
    parent = sampled(space, 1)
    children = [
        make(space, Wanted(seed=seed, parent=parent.gene, parent_id=12))
        for seed in range(1, 2**31 - 1, 2**27)
    ]
    assert {child.origin for child in children} == {"mutated from 12"}
    assert all(child.gene != parent.gene and child.gene.design == 1 for child in children)
    assert len({child.digest for child in children if not child.fate}) > len(children) / 2


def test_a_mutation_of_more_than_decisions_holds_its_trace_and_can_be_made_again() -> None:
    space = space_of(matmul())
    parent = sampled(space, 0)
    whole = next(
        made for seed in range(1, 2**31 - 1, 2**21)
        if (made := make(space, Wanted(seed=seed, parent=parent.gene, parent_id=1))).gene.trace
    )  # fmt: skip
    instructions = json.loads(whole.gene.trace)[0]
    assert instructions != json.loads(space.designs[0].trace)[0]
    again = make(space, Wanted(seed=5, gene=whole.gene))
    assert (again.gene, again.digest) == (whole.gene, whole.digest)
    child = make(space, Wanted(seed=77, parent=whole.gene, parent_id=2))
    assert child.origin == "mutated from 2"


def test_where_nothing_can_change_a_sample_is_taken() -> None:
    space = space_of(matmul(), steering=Steering(without_rules=(
        "MultiLevelTiling", "AddRFactor",
    )))  # fmt: skip
    (decision,) = space.designs[0].decisions
    made = make(space, Wanted(seed=3, design=0))
    assert decision.candidates[int(str(decided(made, decision.at)))] in (0, 16, 64, 512)


def test_features_describe_the_program() -> None:
    space = space_of(matmul())
    one, other = sampled(space, 0), sampled(space, 2, 5)
    assert len(one.features) == len(other.features) == 164
    assert one.features != other.features


# Steering


def test_a_pin_is_kept_by_samples_and_mutations_of_its_design() -> None:
    at = space_of(matmul()).designs[0].decisions[0].at
    pin = Pin("main", 0, at, (2, 4, 4, 4))
    space = space_of(matmul(), steering=Steering(pins=(pin,)))
    parent = sampled(space, 0)
    assert decided(parent, at) == (2, 4, 4, 4)
    for seed in range(1, 2**31 - 1, 2**28):
        child = make(space, Wanted(seed=seed, parent=parent.gene, parent_id=1))
        assert decided(child, at) == (2, 4, 4, 4)
    assert any(decided(sampled(space, 1, seed), at) != (2, 4, 4, 4) for seed in (1, 2**20, 2**29))


def test_a_pin_that_does_not_fit_is_refused_with_a_sentence() -> None:
    at = space_of(matmul()).designs[0].decisions[0].at
    space = space_of(matmul(), steering=Steering(pins=(Pin("main", 0, at, (3, 4, 4, 4)),)))
    made = make(space, Wanted(seed=1, design=0))
    assert (made.fate, made.by) == ("rejected", "steering")
    assert made.reason == "Tile of i in block C is pinned to [3, 4, 4, 4], which does not fit."


def test_a_banned_region_is_left_out() -> None:
    tile, *_, unroll = space_of(matmul()).designs[0].decisions
    bans = (
        Ban("main", 0, tile.at, part=3, low=2, high=128),
        Ban("main", 0, unroll.at, low=3, high=3),
    )
    space = space_of(matmul(), steering=Steering(bans=bans))
    fates = set()
    for seed in range(1, 2**31 - 1, 2**26):
        made = make(space, Wanted(seed=seed, design=0))
        fates.add(made.fate)
        inner = decided(made, tile.at)
        assert isinstance(inner, tuple)
        assert (made.fate == "banned") == (inner[3] >= 2 or decided(made, unroll.at) == 3)
        if made.fate and inner[3] >= 2:
            assert made.reason == (
                f"Factor 3 of the tile of i in block C is {inner[3]}; 2 to 128 is left out."
            )
    assert fates == {"", "banned"}


def test_a_banned_design_is_left_out() -> None:
    space = space_of(matmul(), steering=Steering(bans=(Ban("main", 1),)))
    made = make(space, Wanted(seed=1, design=1))
    assert (made.fate, made.reason) == ("banned", "Design 1 is left out.")


# Seeds


def steps_for(space: Space, text: str, gene: Gene, *, whole: bool) -> tuple[Step, ...]:
    """A candidate as the steps of a variant; `whole` with what postprocessing did."""
    sch = space.schedule(gene.design, gene.decisions, gene.trace) if whole else space.replay(gene)
    assert sch.trace is not None
    return steps_of(Live(module(Source(text=text))), sch.trace, "main")[1]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    ("text", "target"),
    [(matmul(), "llvm"), (softmax(), "llvm"), (softmax(), GPU), (matmul(dtype="float16"), GPU)],
)
def test_a_candidate_kept_as_a_variant_is_found_again(text: str, target: str, whole: bool) -> None:
    space = space_of(text, target)
    for design in space.designs[-2:]:
        made = sampled(space, design.number)
        steps = steps_for(space, text, made.gene, whole=whole)
        seeded = space_of(text, target, steering=Steering(seeds=(("mine", "main", steps),)))
        found = make(seeded, Wanted(seed=1, seed_name="mine"))
        assert found.origin == "seed mine"
        assert found.digest == made.digest


def test_a_variant_made_by_hand_is_found_by_its_tiles() -> None:
    def tile(depth: int, factors: tuple[int, ...]) -> Step:
        return STEPS["split"](loop=LoopRef(C, depth), factors=factors)

    order = (0, 4, 1, 5, 8, 2, 6, 9, 3, 7)
    steps = (
        tile(0, (2, 4, 4, 4)), tile(4, (1, 8, 2, 8)), tile(8, (32, 4)),
        STEPS["reorder"](ordered_loops=tuple(LoopRef(C, depth) for depth in order)),
    )  # fmt: skip
    space = space_of(matmul(), steering=Steering(seeds=(("hand", "main", steps),)))
    made = make(space, Wanted(seed=1, seed_name="hand"))
    assert not made.fate
    values = [value for _, value in made.gene.decisions]
    assert values == [(2, 4, 4, 4), (1, 8, 2, 8), (32, 4), 0]


def test_a_variant_that_fits_no_design_is_told_why() -> None:
    steps = (STEPS["split"](loop=LoopRef(C, 0), factors=(None, 16)),)
    space = space_of(matmul(), steering=Steering(seeds=(("hand", "main", steps),)))
    made = make(space, Wanted(seed=1, seed_name="hand"))
    assert (made.fate, made.by, made.origin) == ("rejected", "steering", "seed hand")
    assert made.reason.startswith("Its steps are those of no design. Nearest is design ")
    assert "tiles into 4" in made.reason


def test_a_seed_begins_with_the_steps_of_the_job() -> None:
    first = STEPS["cache_read"](block=C, read_buffer_index=0, storage_scope="global")
    steering = Steering(seeds=(("hand", "main", (STEPS["parallel"](loop=LoopRef(C, 0)),)),))
    space = space_of(matmul(), steps=(first,), steering=steering)
    made = make(space, Wanted(seed=1, seed_name="hand"))
    assert made.reason == "hand does not begin with the steps of the job."
