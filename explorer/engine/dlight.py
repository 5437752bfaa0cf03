"""dlight's rules, one function and one rule at a time: applied, declined or failed, and why.

TVM's own pass changes its input, says nothing when a rule declines, and gives up the whole module
when one rule raises.  Calling each rule by itself avoids all three and leaves a trace.
"""

from __future__ import annotations

from typing import Any

import msgspec
from tvm import ir, s_tir
from tvm.s_tir import dlight
from tvm_ffi import structural_equal

from explorer.engine.candidates import SCHEDULED, note_of, skip_reason
from explorer.engine.default_gpu import with_function
from explorer.engine.dlight_words import applied_in_words, declined_in_words, failed_in_words
from explorer.engine.live import Live
from explorer.engine.targets import tvm_target
from explorer.engine.trace import steps_of
from explorer.engine.warm import warm
from explorer.engine.xray import Exit, decisive, watch
from explorer.errors import ScheduleTextError, StepRefused
from explorer.model.result import RuleOutcome
from explorer.model.target import Target
from explorer.model.view import Proposal
from explorer.primitives import Step
from explorer.primitives.dlight_rule import DlightRule


def propose(
    live: Live, target: Target, functions: tuple[str, ...], rules: tuple[str, ...]
) -> Proposal:
    """For each function the first of `rules` that applies, as steps; an outcome for every rule."""
    steps: list[Step] = []
    outcomes: list[RuleOutcome] = []
    manual, notes = True, []
    for name in functions:
        reason = skip_reason(live.mod, name)
        if reason:
            rule = rules[0] if len(rules) == 1 else "dlight"
            outcomes.append(RuleOutcome(rule=rule, function=name, status="skipped", reason=reason))
            continue
        stale = note_of(live.mod[name])
        winner = ""
        for rule in rules:
            if winner:
                outcomes.append(
                    RuleOutcome(
                        rule=rule, function=name, status="skipped", reason=f"{winner} applied."
                    )
                )
                continue
            found, outcome = try_rule(live.mod, target, name, rule)
            if found is not None:
                winner = rule
                live, made, whole = _as_steps(live, name, found, rule, target)
                steps += made
                if whole:
                    manual = False
                    notes.append(f"{name}: {whole}")
                if stale:
                    outcome = msgspec.structs.replace(outcome, reason=f"{outcome.reason} {stale}")
            outcomes.append(outcome)
    return Proposal(
        steps=msgspec.to_builtins(steps),
        outcomes=tuple(outcomes),
        manual=manual,
        note=" ".join(notes),
    )


def try_rule(
    mod: ir.IRModule, target: Target, name: str, rule: str
) -> tuple[s_tir.Schedule | None, RuleOutcome]:
    """One rule on one function: its schedule, or None, and what to say about it."""
    warm()  # a rule imports TVM's intrinsics itself otherwise, the slow way and while watched
    func = _input(mod, name)
    tvm_side = tvm_target(target)

    def run() -> Any:
        with tvm_side:
            return getattr(dlight.gpu, rule)().apply(func, tvm_side, False)

    result, error, exits = watch(run)
    if isinstance(result, (list, tuple)):
        result = result[0] if result else None
    if error is not None:
        reason, details = failed_in_words(rule, error, func)
        return None, RuleOutcome(
            rule=rule, function=name, status="failed", reason=reason, details=details
        )
    if result is None:
        reason, details = declined_in_words(rule, decisive(exits))
        return None, RuleOutcome(
            rule=rule, function=name, status="declined", reason=reason, details=details
        )
    return result, RuleOutcome(
        rule=rule,
        function=name,
        status="applied",
        reason=applied_in_words(rule, result, exits),
    )


def run_rule(mod: ir.IRModule, target: Target, name: str, rule: str) -> ir.IRModule:
    """A new module with one rule run on one function.  Raises StepRefused when it does not."""
    found, outcome = try_rule(mod, target, name, rule)
    if found is None:
        raise StepRefused(
            f"dlight {rule} {outcome.status}.", outcome.reason, details=outcome.details
        )
    return with_function(mod, name, _output(mod, name, found))


def _as_steps(
    live: Live, name: str, found: s_tir.Schedule, rule: str, target: Target
) -> tuple[Live, tuple[Step, ...], str]:
    """The rule's schedule as steps, proved by structural equality; else one step and why."""
    wanted = _output(live.mod, name, found)
    try:
        after, steps = steps_of(live, found.trace, name)
        if structural_equal(after.mod[name], wanted):
            return after, steps, ""
        why = "the steps of its trace give another module"
    except (StepRefused, ScheduleTextError) as error:
        why = f"its trace can't be followed ({error.problem.what} {error.problem.why})"
    step = DlightRule(rule=rule, function=name, target=target.tag)
    after, _ = live.apply(step)
    return after, (step,), f"{rule} stays one step: {why}."


def _input(mod: ir.IRModule, name: str) -> Any:
    """The function as a rule gets it: without a stale mark."""
    func = mod[name]
    return func.without_attr(SCHEDULED) if SCHEDULED in func.attrs else func


def _output(mod: ir.IRModule, name: str, found: s_tir.Schedule) -> Any:
    """The rule's function with the attributes that the module's had."""
    func = found.mod["main"]
    for key, value in mod[name].attrs.items():
        func = func.with_attr(key, value)
    return func


__all__ = ["Exit", "propose", "run_rule", "try_rule"]
