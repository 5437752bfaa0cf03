"""One candidate made on order: sampled, mutated, from a seed or again; then postprocessed.

Runs in a hand.  What is made depends on the order alone.
"""

from __future__ import annotations

import random

from explorer.engine.tuning.features import folded
from explorer.engine.tuning.orders import Gene, Made, Wanted
from explorer.engine.tuning.space import Rejected, Space, digest

__all__ = ["Gene", "Made", "Wanted", "make"]

TRIES = 8
"""Mutators that may find nothing to change before a sample is taken instead."""
ANOTHER = 0.3
"""The chance, after each mutation, that one more follows."""


def make(space: Space, wanted: Wanted) -> Made:
    """Carry out an order; a candidate that comes to nothing says why."""
    origin = "sampled"
    gene = wanted.parent or Gene(wanted.design)
    try:
        if wanted.seed_name:
            origin = f"seed {wanted.seed_name}"
            gene = space.seed(wanted.seed_name)
            sch = space.replay(gene)
        elif wanted.gene is not None:
            origin, gene = "imported", wanted.gene
            sch = space.replay(gene)
        elif wanted.parent and (mutated := _mutated(space, wanted.parent, wanted.seed)):
            origin, gene = f"mutated from {wanted.parent_id}", mutated
            sch = space.replay(gene)
        else:
            gene = Gene(gene.design)
            sch = space.sample(gene.design, wanted.seed)
        gene = Gene(gene.design, space.decided(gene.design, sch.trace), gene.trace)
    except Rejected as refused:
        return _refused(refused, gene, origin)
    reason = space.rudder.off_pin(gene)
    if reason:
        return _refused(Rejected("steering", reason), gene, origin)
    reason = space.rudder.banned(gene)
    if reason:
        return Made(gene=gene, fate="banned", by="steering", reason=reason, origin=origin)
    try:
        space.postprocess(sch)
    except Rejected as refused:
        return _refused(refused, gene, origin)
    features = folded(space.features(sch))
    return Made(gene=gene, origin=origin, digest=digest(sch), features=features)


def _mutated(space: Space, parent: Gene, seed: int) -> Gene | None:
    """The parent with one or a few changes, by TVM's mutators; None when none finds any."""
    draw = random.Random(seed)
    mutators, shares = list(space.mutators), list(space.mutators.values())
    gene, changed = parent, False
    for _ in range(TRIES):
        mutator = draw.choices(mutators, shares)[0]
        after = space.mutate(gene, mutator, draw.randrange(1, 2**31 - 1))
        if after is None:
            continue
        gene, changed = space.rudder.with_pins(after), True
        if draw.random() >= ANOTHER:
            break
    return gene if changed and gene != parent else None


def _refused(refused: Rejected, gene: Gene, origin: str) -> Made:
    return Made(
        gene=refused.gene or gene, fate="rejected", by=refused.by, reason=refused.reason,
        origin=origin,
    )  # fmt: skip
