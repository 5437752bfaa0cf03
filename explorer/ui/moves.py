"""Moves that ask the workers: opening a text, trying a step, letting TVM schedule, reading files.

Like the moves of `desk` they take a desk and give the next one, or raise a UserError and change
nothing.
"""

from __future__ import annotations

from typing import Any

import msgspec

from explorer import workbench
from explorer.errors import StepRefused, UserError
from explorer.experiment import Experiment
from explorer.model.diagnosis import TriedCure
from explorer.model.loaded import Source
from explorer.model.nest import Function
from explorer.model.result import RuleOutcome
from explorer.model.view import Proposal
from explorer.primitives import AnyStep, Offer, make, offers
from explorer.ui import ask
from explorer.ui import desk as desks
from explorer.ui.desk import Desk

RESERVED_KEYS = {"u", "y", "m"}
"""Letters the page keeps for undo, redo and the graph's menu."""
STRATEGIES = {"default_gpu": "DefaultGPUSchedule", "dlight": "dlight"}
"""Automatic ways with a button of their own, by the workbench's name."""


def open_text(source: Source, *, title: str, target: str) -> Desk:
    """A desk for a text.  Raises LoadError with the line."""
    loaded = ask.opened(source)
    return desks.start(loaded, source, title=title, target=target)


def open_experiment(experiment: Experiment) -> Desk:
    """A desk for a saved experiment.  Raises LoadError when its text does not load."""
    return desks.reopen(ask.opened(experiment.source), experiment)


def other_module(desk: Desk, module: str) -> Desk:
    """Open another module of the same text; variants of the old one don't carry over."""
    source = Source(desk.source.text, module)
    return open_text(source, title=desk.experiment.title, target=desk.experiment.target)


def fix_sizes(desk: Desk) -> Desk:
    """Open the module with its sizes as numbers; variants come along.  Raises SizeError."""
    known = desk.experiment
    at = sizes_text(desk)
    return open_experiment(
        msgspec.structs.replace(
            known, title=f"{known.title or desk.loaded.module}, {at}", sizes={},
            source=workbench.fix_sizes(desk.source, known.sizes),
        )
    )  # fmt: skip


def sizes_text(desk: Desk) -> str:
    """The symbolic sizes with their values, "n = 128, m = ?"."""
    known = desk.experiment.sizes
    return ", ".join(f"{name} = {known.get(name, '?')}" for name in desk.loaded.symbols)


def node_offers(desk: Desk) -> list[Offer]:
    """What can be done with the selected node now; letters the page needs are left out."""
    found = desks.selected_node(desk, ask.view(desk).nest)
    if found is None:
        return []
    return [
        msgspec.structs.replace(offer, key="") if offer.key in RESERVED_KEYS else offer
        for offer in offers(*found)
    ]


def act(desk: Desk, step: Any) -> Desk:
    """Put a step behind the variant if TVM takes it.  Raises StepRefused with one sentence."""
    after = desks.add_steps(desk, step)
    shown = ask.view(after).steps[-1]
    if shown.refusal is not None:
        refusal = shown.refusal
        raise StepRefused(refusal.what, refusal.why, refusal.do, details=refusal.details)
    return after


def take(desk: Desk, offer: Offer) -> Desk:
    """Do what is offered, or open the form it needs.  Raises StepRefused."""
    if offer.refusal:
        raise StepRefused(offer.refusal)
    if offer.step is None:
        return desks.open_form(desk, desk.selected or "", offer.op, offer.label)
    return act(desk, offer.step)


def fill(desk: Desk, offer: Offer, given: dict[str, Any], function: Function) -> Desk:
    """Do what is offered with the values of its form.  Raises StepRefused naming the field."""
    return act(desk, make(offer.op, {**offer.known, **given}, function))


def offered(found: list[Offer], op: str, label: str) -> Offer | None:
    """The offer of that name among those found."""
    return next((o for o in found if (o.op, o.label) == (op, label)), None)


def take_named(desk: Desk, op: str, label: str) -> Desk:
    """Do what is offered for the selected node under that name.  Raises StepRefused."""
    offer = offered(node_offers(desk), op, label)
    if offer is None:
        raise StepRefused("This is no longer offered here.", do="Select the node again.")
    return take(desk, offer)


def graph_action(desk: Desk, action: dict[str, str]) -> Desk:
    """A menu item ({"node", "op", "label"}) or a letter ({"node", "key"}) from the graph."""
    desk = desks.select(desk, action.get("node") or None)
    key = action.get("key")
    if not key:
        return take_named(desk, action.get("op", ""), action.get("label", ""))
    for offer in node_offers(desk):
        if offer.key == key:
            return take(desk, offer)
    raise StepRefused(
        f'"{key}" does nothing on this node.', do="M opens the menu with what can be done."
    )


def strategy(
    desk: Desk, name: str, function: str = "", rule: str = "", behind: bool = False
) -> Desk:
    """Let TVM schedule the original, or with `behind` what the current variant is so far.

    The result is a variant of its own either way.  Raises UserError when nothing was scheduled.
    """
    label = rule or STRATEGIES.get(name, name)
    if behind and desk.current.steps:
        proposal = ask.proposed(desk, desk.current.steps, name, function, rule)
        return _propose(desk, f"{desk.variant} + {label}", proposal, desk.current.steps)
    return _propose(desk, label, ask.proposed(desk, (), name, function, rule), ())


def cure(desk: Desk, cure_id: str) -> Desk:
    """A one-click cure of a finding.  Raises UserError when it does not apply any more."""
    known = ask.tried(desk, cure_id).value
    if known is not None and known.offered:
        return _take_cure(desk, known)
    kind, _, what = cure_id.partition(":")
    if kind == "strategy":
        return strategy(desk, what, behind=True)
    steps = workbench.steps_of(ask.cured(desk, cure_id))
    return desks.add_steps(desk, *steps)


def _take_cure(desk: Desk, known: TriedCure) -> Desk:
    """The very steps that were tried; a strategy's become a variant of its own."""
    steps = msgspec.convert(known.steps, tuple[AnyStep, ...])
    kind, _, what = known.id.partition(":")
    if kind != "strategy":
        return desks.add_steps(desk, *steps)
    name = STRATEGIES.get(what, what)
    name = f"{desk.variant} + {name}" if desk.current.steps else name
    return desks.new_variant(desk, name, (*desk.current.steps, *steps), known.outcomes)


def schedule_text(desk: Desk, text: str, name: str) -> Desk:
    """Open a schedule (Python or JSON trace) as steps of a new variant."""
    return _propose(desk, name, ask.schedule_read(desk, text), ())


def _propose(desk: Desk, name: str, proposal: Proposal, before: tuple[Any, ...]) -> Desk:
    """The proposal behind the steps `before`, as a new variant that is shown."""
    steps = workbench.steps_of(proposal)
    if not steps:
        told = "\n".join(why(outcome) for outcome in proposal.outcomes)
        raise UserError(_why_nothing(proposal), do="Nothing was changed.", details=told)
    return desks.new_variant(desk, name, (*before, *steps), proposal.outcomes)


def _why_nothing(proposal: Proposal) -> str:
    """The note, else what failed, else that every rule declined."""
    failed = [why(outcome) for outcome in proposal.outcomes if outcome.status == "failed"]
    if proposal.note or failed:
        return proposal.note or "; ".join(failed[:3]) + "."
    declined = [why(outcome) for outcome in proposal.outcomes]
    return "; ".join(declined[-2:]) + "." if declined else "Nothing here could be scheduled."


def why(outcome: RuleOutcome) -> str:
    """One outcome as a phrase."""
    reason = f": {outcome.reason.rstrip('.')}" if outcome.reason else ""
    return f"{outcome.rule} {outcome.status} {outcome.function}{reason}"
