"""The contract of a strategy: it proposes steps for a module and never changes the module."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from explorer.model.target import Target
from explorer.model.view import Proposal


@runtime_checkable
class Strategy(Protocol):
    """One automatic way to schedule.  Modules of this folder hold one each, as `STRATEGY`."""

    name: str
    """As in commands and variants, e.g. "default_gpu"."""
    title: str
    summary: str
    """What it gives and what it costs, in one or two sentences."""
    rules: tuple[str, ...]
    """Rules it can be narrowed to; empty when it has one way only."""

    def propose(
        self, live: Any, target: Target, functions: tuple[str, ...], rule: str = ""
    ) -> Proposal:
        """Steps to put behind those of `live` (an `explorer.engine.live.Live`), left unchanged.

        Per function an outcome says what became of it.  Raises UserError for an unknown rule.
        """

    def whole(self, mod: Any, target: Target, function: str, rule: str = "") -> Any:
        """A new IRModule with `function` scheduled in one go, for the opaque step.

        Raises StepRefused when the strategy does not apply.
        """
