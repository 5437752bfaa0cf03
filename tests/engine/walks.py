"""Random schedules made only of what the menus offer, for property tests."""

from __future__ import annotations

import random
from typing import Any

from explorer.engine.extract import nest_of
from explorer.engine.live import Live
from explorer.errors import StepRefused
from explorer.model.nest import Block, Loop
from explorer.primitives import Step, make, offers
from explorer.primitives.fields import suggested_factors


def walk(mod: Any, seed: int, length: int) -> tuple[Live, list[Step]]:
    """`mod` after up to `length` random legal steps, and the steps."""
    chance = random.Random(seed)
    live, steps = Live(mod), []
    for _ in range(length):
        nest = nest_of(live.mod, "")
        function = chance.choice([func for func in nest.functions if func.schedulable])
        node = chance.choice(function.nodes)
        offered = [offer for offer in offers(function, node) if not offer.refusal]
        # Binding has nine offers and would crowd out the rest.
        kinds = sorted({offer.op for offer in offered})
        if not kinds:
            continue
        op = chance.choice(kinds)
        offer = chance.choice([each for each in offered if each.op == op])
        step = offer.step or _filled(op, offer.known, function, node, chance)
        if step is None:
            continue
        try:
            live, _ = live.apply(step)
        except StepRefused as refused:
            assert refused.problem.what
            continue
        steps.append(step)
    return live, steps


def _filled(op: str, known: dict, function: Any, node: Any, chance: random.Random) -> Step | None:
    """A form filled with something sensible; None for forms that are not tried here."""
    if op in ("split", "loop_partition") and isinstance(node, Loop):
        inner = chance.choice(suggested_factors(node.extent_value)[:8] or [1])
        factors = chance.choice([f"None, {inner}", f"{inner} -1", [None, inner]])
        return make(op, {**known, "factors": factors}, function)
    if op == "annotate":
        value = chance.choice(["16", "True", "[0, 1]", "text", "1.5"])
        return make(op, {**known, "ann_key": "hint", "ann_val": value}, function)
    if op == "transform_layout":
        return make(op, {**known, "index_map": "lambda i, j: (j // 4, i, j % 4, 0)"}, function)
    if op == "transform_block_layout" and isinstance(node, Block):
        names = [f"v{n}" for n in range(len(node.iters))]
        text = f"lambda {', '.join(names)}: ({', '.join(reversed(names))},)"
        return make(op, {**known, "index_map": text}, function)
    if op == "storage_align":
        return make(op, {**known, "factor": 32, "offset": "1"}, function)
    if op == "pad_einsum" and isinstance(node, Block):
        return make(op, {**known, "padding": ", ".join("16" for _ in node.iters)}, function)
    if op == "reorder_block_iter_var" and isinstance(node, Block):
        order = list(range(len(node.iters)))
        chance.shuffle(order)
        return make(op, {**known, "new_order": order}, function)
    return None
