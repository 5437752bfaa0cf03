"""The desk: the experiment and what the user is looking at, with every move on it as a function.

A move takes a desk and gives the next one; nothing here knows Streamlit, TVM or the workers.
The original is a variant without steps that can't be changed: a step on it opens a new variant.
"""

from __future__ import annotations

from typing import Any

import msgspec

from explorer.errors import UserError
from explorer.experiment import Experiment, Variant
from explorer.model.loaded import Loaded, Source
from explorer.model.nest import Function, Nest, Node
from explorer.model.result import RuleOutcome

ORIGINAL = "Original"
MANUAL = "My schedule"
NAME_CHARS = 40


class Form(msgspec.Struct, frozen=True):
    """The form that is open in the inspector: an offer of the selected node that needs values."""

    node: str
    op: str
    label: str


class Desk(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the page shows is derived from this value."""

    experiment: Experiment
    loaded: Loaded
    variant: str = ORIGINAL
    selected: str | None = None
    only: str = ""
    """The one function that is drawn; "" for all of them."""
    form: Form | None = None
    outcomes: dict[str, tuple[RuleOutcome, ...]] = {}
    """What the rules said, by the variant their proposal became."""

    @property
    def current(self) -> Variant:
        """The variant on screen."""
        found = self.experiment.variant(self.variant)
        return found if found is not None else self.experiment.variants[0]

    @property
    def source(self) -> Source:
        """The text that was opened."""
        return self.experiment.source


def start(
    loaded: Loaded, source: Source, *, title: str, target: str, sizes: dict[str, int] | None = None
) -> Desk:
    """A new desk with the original on it."""
    experiment = Experiment(
        title=title, source=source, target=target, sizes=sizes or {}, variants=(Variant(ORIGINAL),)
    )
    return Desk(experiment=experiment, loaded=loaded)


def reopen(loaded: Loaded, experiment: Experiment) -> Desk:
    """A desk for a saved experiment; the last variant is shown, an original is added if missing."""
    first = experiment.variants[0] if experiment.variants else None
    if first is None or first.name != ORIGINAL or first.steps:
        rest = tuple(v for v in experiment.variants if v.name != ORIGINAL or v.steps)
        taken = [ORIGINAL]
        variants = [Variant(ORIGINAL)]
        for variant in rest:
            name = free_name(taken, variant.name)
            taken.append(name)
            variants.append(variant.rename(name))
        experiment = msgspec.structs.replace(experiment, variants=tuple(variants))
    return Desk(experiment=experiment, loaded=loaded, variant=experiment.variants[-1].name)


def free_name(taken: list[str], wish: str) -> str:
    """`wish`, or `wish 2`, `wish 3`… when it is taken; trimmed to what a tab can show."""
    wish = " ".join(wish.split())[:NAME_CHARS] or "Variant"
    name, n = wish, 2
    while name in taken:
        name, n = f"{wish} {n}", n + 1
    return name


def names(desk: Desk) -> list[str]:
    """The variants' names in order."""
    return [variant.name for variant in desk.experiment.variants]


def show(desk: Desk, variant: str) -> Desk:
    """Look at another variant."""
    return msgspec.structs.replace(desk, variant=variant, form=None)


def select(desk: Desk, node: str | None) -> Desk:
    """Select a node; a form that was open for another one closes."""
    keep = desk.form if desk.form is not None and desk.form.node == node else None
    return msgspec.structs.replace(desk, selected=node, form=keep)


def narrow(desk: Desk, function: str) -> Desk:
    """Draw one function, or all with ""."""
    return msgspec.structs.replace(desk, only=function)


def open_form(desk: Desk, node: str, op: str, label: str) -> Desk:
    """Ask for the values an offer needs."""
    return msgspec.structs.replace(desk, selected=node, form=Form(node, op, label))


def close_form(desk: Desk) -> Desk:
    """Put the form away."""
    return msgspec.structs.replace(desk, form=None)


def add_steps(desk: Desk, *steps: Any) -> Desk:
    """Put steps behind the current variant's own; on the original they open a new variant."""
    if desk.variant == ORIGINAL:
        return new_variant(desk, MANUAL, steps)
    return _put(desk, desk.current.add(*steps))


def new_variant(
    desk: Desk, name: str, steps: tuple[Any, ...] = (), outcomes: tuple[RuleOutcome, ...] = ()
) -> Desk:
    """Add a variant under a free name and look at it."""
    name = free_name(names(desk), name)
    told = {**desk.outcomes, name: outcomes} if outcomes else desk.outcomes
    return msgspec.structs.replace(
        desk, experiment=desk.experiment.put(Variant(name, tuple(steps))), variant=name,
        form=None, outcomes=told,
    )  # fmt: skip


def duplicate(desk: Desk) -> Desk:
    """Copy the current variant and look at the copy."""
    wish = MANUAL if desk.variant == ORIGINAL else f"{desk.variant} copy"
    name = free_name(names(desk), wish)
    copy = Variant(name, desk.current.steps, desk.current.undone)
    return msgspec.structs.replace(
        desk, experiment=desk.experiment.put(copy), variant=name, form=None
    )


def rename(desk: Desk, name: str) -> Desk:
    """Rename the current variant.  Raises UserError on the original and on a taken name."""
    name = " ".join(name.split())[:NAME_CHARS]
    if name == desk.variant:
        return desk
    if desk.variant == ORIGINAL:
        raise UserError("The original keeps its name.", do="Duplicate it and name the copy.")
    if not name:
        raise UserError("A variant needs a name.")
    if name in names(desk):
        raise UserError(f'There is a variant "{name}" already.', do="Pick another name.")
    outcomes = {name if key == desk.variant else key: told for key, told in desk.outcomes.items()}
    return msgspec.structs.replace(
        desk, experiment=desk.experiment.put(desk.current.rename(name), at=desk.variant),
        variant=name, outcomes=outcomes,
    )  # fmt: skip


def delete(desk: Desk) -> Desk:
    """Drop the current variant and look at its neighbour.  Raises UserError on the original."""
    if desk.variant == ORIGINAL:
        raise UserError("The original can't be deleted.")
    at = names(desk).index(desk.variant)
    outcomes = {key: told for key, told in desk.outcomes.items() if key != desk.variant}
    return msgspec.structs.replace(
        desk, experiment=desk.experiment.drop(desk.variant), variant=names(desk)[at - 1],
        form=None, outcomes=outcomes,
    )  # fmt: skip


def undo(desk: Desk) -> Desk:
    """Take the last step back."""
    return _put(desk, desk.current.undo())


def redo(desk: Desk) -> Desk:
    """Do the step again that was taken back last."""
    return _put(desk, desk.current.redo())


def jump(desk: Desk, count: int) -> Desk:
    """Keep the first `count` steps; the others stay for redo."""
    return _put(desk, desk.current.jump(count))


def remove(desk: Desk, at: int) -> Desk:
    """Remove one step from the middle; nothing when there is none at `at`."""
    if not 0 <= at < len(desk.current.steps):
        return desk
    return _put(desk, desk.current.remove(at))


def set_target(desk: Desk, target: str) -> Desk:
    """Build for another target."""
    return msgspec.structs.replace(
        desk, experiment=msgspec.structs.replace(desk.experiment, target=target)
    )


def set_sizes(desk: Desk, sizes: dict[str, int]) -> Desk:
    """Give values to symbolic sizes."""
    return msgspec.structs.replace(
        desk, experiment=msgspec.structs.replace(desk.experiment, sizes=sizes)
    )


def selected_node(desk: Desk, nest: Nest) -> tuple[Function, Node] | None:
    """The selected loop, block or statement in this nest, or None."""
    name, _, _ = (desk.selected or "").partition("/")
    function = nest.function(name.partition("#")[0])
    node = function.node(desk.selected or "") if function is not None else None
    return (function, node) if function is not None and node is not None else None


def _put(desk: Desk, variant: Variant) -> Desk:
    return msgspec.structs.replace(desk, experiment=desk.experiment.put(variant), form=None)
