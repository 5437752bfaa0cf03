"""Several races in one question: a sweep over sizes, a recipe's history, and its ablation."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from math import prod

import msgspec

from explorer import workbench
from explorer.analysis.extents import evaluate
from explorer.comparison import PARALLEL
from explorer.errors import SizeError, UserError
from explorer.experiment import Variant
from explorer.model.analysis import Analysis
from explorer.model.loaded import Source
from explorer.model.nest import Block, Loop, Nest
from explorer.model.race import HERE, USUAL, Heat, Method, Race, Verdict, Where
from explorer.model.refs import LoopRef
from explorer.model.studies import (
    Ablation,
    History,
    Static,
    StepTime,
    StepWorth,
    Sweep,
    SweepPoint,
)
from explorer.primitives import STEPS, Step

KEPT = 0.95
"""The shortest recipe may lose so much of the speed."""
WHOLE = "whole recipe"


def sweep(
    source: Source,
    variants: tuple[Variant, ...],
    target: str,
    sizes: dict[str, int],
    name: str,
    values: Iterable[int],
    *,
    function: str = "",
    where: Where = HERE,
    method: Method = USUAL,
    on_news: Callable[[Sweep], None] | None = None,
) -> Sweep:
    """The variants raced at each value of `name`: a symbolic size, or a number in the text.

    A number is replaced wherever it stands alone as an integer in the text.  Raises SizeError when
    it is neither.
    """
    symbols = workbench.open_source(source).symbols
    points: list[SweepPoint] = []
    for value in values:
        here, given = source, dict(sizes)
        if name in symbols:
            given[name] = value
        else:
            here = scaled(source, name, value)
        race = workbench.race(
            here, variants, target, given, function=function, where=where, method=method
        ).result()
        left = {v.name: remainders(here, v.steps, given) for v in variants}
        points.append(
            SweepPoint(
                value=value, sizes=given, race=race,
                remainders={variant: words for variant, words in left.items() if words},
            )
        )  # fmt: skip
        if on_news is not None:
            on_news(Sweep(name=name, points=tuple(points), final=False))
    return Sweep(name=name, points=tuple(points))


def scaled(source: Source, number: str, value: int) -> Source:
    """The text with an integer replaced, e.g. 1024 by 2048.  Raises SizeError when it has none."""
    found = False
    tokens = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
            if token.type == tokenize.NUMBER and token.string == number:
                found, token = True, token._replace(string=str(value))
            tokens.append(token)
    except (tokenize.TokenError, IndentationError) as failure:
        raise SizeError("The text can't be scaled.", f"{failure}.") from failure
    if not found:
        raise SizeError(
            f"The module has no size {number}.",
            "It is neither a symbolic size nor an integer of the text.",
            "Name one of its symbolic sizes, or a number that its shapes use.",
        )
    lines = source.text.splitlines(keepends=True)
    for token in reversed([t for t in tokens if t.type == tokenize.NUMBER]):
        (row, start), (_, end) = token.start, token.end
        lines[row - 1] = lines[row - 1][:start] + token.string + lines[row - 1][end:]
    return msgspec.structs.replace(source, text="".join(lines))


def remainders(source: Source, steps: tuple[Step, ...], sizes: dict[str, int]) -> tuple[str, ...]:
    """Splits of a recipe whose factors do not divide the loop, in words."""
    found = []
    for at, step in enumerate(steps):
        if not isinstance(step, STEPS["split"]):
            continue
        loop = _loop(workbench.view(source, steps[:at]).nest, getattr(step, "loop", None))
        factors = [each for each in getattr(step, "factors", ()) if each is not None]
        extent = None if loop is None else evaluate(loop.extent, sizes)
        tile = prod(int(str(each)) for each in factors if str(each).isdigit())
        if loop is not None and extent is not None and tile > 1 and extent % tile:
            found.append(
                f"{loop.name} ({extent}) is no multiple of {tile}: {extent % tile} are left over"
            )
    return tuple(found)


def history(
    source: Source, steps: tuple[Step, ...], target: str, sizes: dict[str, int], *,
    function: str = "", where: Where = HERE, method: Method = USUAL,
    on_news: Callable[[Race], None] | None = None,
) -> History:  # fmt: skip
    """The recipe raced after each of its steps; libraries take no part."""
    method = msgspec.structs.replace(method, baselines=False)
    names = [str(at) for at in range(len(steps) + 1)]
    variants = tuple(Variant(name, steps[:at]) for at, name in enumerate(names))
    race = workbench.race(
        source, variants, target, sizes, function=function, where=where, method=method,
        on_news=on_news,
    ).result()  # fmt: skip
    heat, lines = first_heat(race), _lines(source, steps)
    rows = []
    for at, name in enumerate(names):
        row = heat.row(name) if heat is not None else None
        line = lines[at - 1] if at else ""
        if row is None:
            rows.append(StepTime(step=at, line=line, reason="No function is timed."))
            continue
        change = _verdict(heat, name, str(at - 1))
        rows.append(
            StepTime(step=at, line=line, median_us=row.median_us, low_us=row.low_us,
                     high_us=row.high_us, reason=row.reason, change=change)
        )  # fmt: skip
    return History(function="" if heat is None else heat.function, steps=tuple(rows), race=race)


def ablation(
    source: Source, steps: tuple[Step, ...], target: str, sizes: dict[str, int], *,
    function: str = "", where: Where = HERE, method: Method = USUAL,
    on_news: Callable[[Race | Ablation], None] | None = None,
) -> Ablation:  # fmt: skip
    """The recipe raced without each of its steps, and the shortest that keeps KEPT of its speed.

    Where nothing can be timed, static figures of every recipe instead.  Libraries take no part.
    """
    method = msgspec.structs.replace(method, baselines=False)

    def raced(*variants: Variant) -> Race:
        return workbench.race(
            source, variants, target, sizes, function=function, where=where, method=method,
            on_news=on_news,
        ).result()  # fmt: skip

    left = [_applying(source, steps, {at}) for at in range(len(steps))]
    without = [
        Variant(f"without {at + 1}", tuple(steps[each] for each in kept))
        for at, kept in enumerate(left)
    ]
    race = raced(Variant(WHOLE, steps), *without)
    heat, lines = first_heat(race), _lines(source, steps)
    worths = []
    for at, variant in enumerate(without):
        row = heat.row(variant.name) if heat is not None else None
        verdict = _verdict(heat, WHOLE, variant.name)
        worths.append(
            StepWorth(
                step=at, line=lines[at], verdict=verdict,
                also=tuple(o for o in range(len(steps)) if o != at and o not in left[at]),
                worth=None if verdict is None else verdict.ratio,
                reason="" if row is None else row.reason,
            )
        )  # fmt: skip
    name = "" if heat is None else heat.function
    if not any(each.verdict for each in worths):
        return _figures(source, steps, worths, without, target, sizes, name, race, on_news)
    shortest, kept = _shortest(source, steps, worths, raced)
    return Ablation(function=name, steps=tuple(worths), shortest=shortest, kept=kept, race=race)


def _figures(
    source: Source, steps: tuple[Step, ...], worths: list[StepWorth], without: list[Variant],
    target: str, sizes: dict[str, int], function: str, race: Race,
    on_news: Callable[[Race | Ablation], None] | None,
) -> Ablation:  # fmt: skip
    """Static figures of the whole recipe and of it without each step, told as they come.

    What `on_news` raises ends it.
    """
    recipes = [steps, *(variant.steps for variant in without)]
    pool = ThreadPoolExecutor(PARALLEL)
    try:
        found = pool.map(lambda recipe: _static(source, recipe, target, sizes), recipes)
        so_far = Ablation(function=function, steps=(), static=next(found), race=race, final=False)
        for worth, static in zip(worths, found, strict=True):
            if on_news is not None:
                on_news(so_far)
            done = (*so_far.steps, msgspec.structs.replace(worth, static=static))
            so_far = msgspec.structs.replace(so_far, steps=done)
    finally:
        pool.shutdown(cancel_futures=True)
    return msgspec.structs.replace(so_far, final=True)


def whole_reason(race: Race) -> str:
    """Why the whole recipe of an ablation has no time, "" when it has one."""
    rows = (heat.row(WHOLE) for heat in race.heats)
    return next((row.reason for row in rows if row is not None), "")


def _applying(source: Source, steps: tuple[Step, ...], out: set[int]) -> tuple[int, ...]:
    """The steps left without those of `out`, and without those that no longer apply then."""
    left = tuple(at for at in range(len(steps)) if at not in out)
    shown = workbench.view(source, tuple(steps[at] for at in left)).steps
    refused = {at for at, step in zip(left, shown, strict=True) if step.refusal is not None}
    return _applying(source, steps, out | refused) if refused else left


def _shortest(
    source: Source, steps: tuple[Step, ...], worths: list[StepWorth],
    raced: Callable[..., Race],
) -> tuple[tuple[int, ...], float]:  # fmt: skip
    """Steps left after those worth least were taken out one after another, while it stays fast."""
    left, kept = tuple(range(len(steps))), 1.0
    for worth in sorted(worths, key=lambda each: each.worth or float("inf")):
        if worth.worth is None or worth.worth > 1 / KEPT:
            break
        if worth.step not in left:
            continue
        gone = {at for at in range(len(steps)) if at not in left} | {worth.step}
        fewer = _applying(source, steps, gone)
        heat = first_heat(
            raced(Variant(WHOLE, steps), Variant("shorter", tuple(steps[at] for at in fewer)))
        )
        verdict = _verdict(heat, WHOLE, "shorter")
        if verdict is not None and verdict.outcome != "undecided" and 1 / verdict.ratio >= KEPT:
            left, kept = fewer, 1 / verdict.ratio
    return left, kept


def first_heat(race: Race) -> Heat | None:
    """The first heat that measured something, else the first."""
    measured = (h for h in race.heats if any(row.status == "measured" for row in h.rows))
    return next(measured, next(iter(race.heats), None))


def _verdict(heat: Heat | None, variant: str, other: str) -> Verdict | None:
    """The verdict of `variant` against `other`, whichever way round it was given."""
    for each in heat.verdicts if heat is not None else ():
        if (each.variant, each.other) == (variant, other):
            return each
        if (each.variant, each.other) == (other, variant):
            return reverse(each)
    return None


def reverse(verdict: Verdict) -> Verdict:
    """The same verdict seen from the other variant."""
    swap = {"faster": "slower", "slower": "faster"}
    words = verdict.words
    if verdict.outcome in swap:
        words = words.replace(verdict.outcome, swap[verdict.outcome])
    return msgspec.structs.replace(
        verdict, variant=verdict.other, other=verdict.variant, words=words,
        outcome=swap.get(verdict.outcome, verdict.outcome),
        ratio=1 / verdict.ratio, low=1 / verdict.high, high=1 / verdict.low,
    )  # fmt: skip


def _lines(source: Source, steps: tuple[Step, ...]) -> list[str]:
    return [
        step.lines[-1] if step.lines else "(does not apply)"
        for step in workbench.view(source, steps).steps
    ]


def _loop(nest: Nest, ref: object) -> Loop | None:
    """The loop that a reference means."""
    if not isinstance(ref, LoopRef):
        return None
    function = nest.function(ref.block.func)
    nodes = () if function is None else function.nodes
    for block in nodes:
        if isinstance(block, Block) and block.ref == ref.block:
            around = [n for n in nodes if isinstance(n, Loop) and block.id.startswith(f"{n.id}/")]
            return around[ref.depth] if ref.depth < len(around) else None
    return None


def _static(
    source: Source, steps: tuple[Step, ...], target: str, sizes: dict[str, int]
) -> Static | None:
    try:
        found: Analysis = workbench.analyse(source, steps, target, sizes)
    except UserError:
        return None  # no figures: the row's own reason says what is wrong with the variant
    kernels = found.kernels
    if not kernels:
        return None
    occupancies = [k.occupancy.fraction for k in kernels if k.occupancy is not None]
    bounds = [k.roofline.bound_us for k in kernels if k.roofline is not None]
    return Static(
        registers=max(k.registers for k in kernels),
        spill_bytes=sum(k.spill_store_bytes + k.spill_load_bytes for k in kernels),
        shared_bytes=sum(k.static_shared_bytes + (k.dynamic_shared_bytes or 0) for k in kernels),
        instructions=sum(k.instructions for k in kernels),
        occupancy=min(occupancies, default=None),
        bound_us=sum(bounds) if bounds else None,
    )
