"""dlight_rule: one dlight rule on one function as a step, where its trace can't be followed."""

from __future__ import annotations

from typing import Any

from explorer.primitives.base import Resolver, Step


class DlightRule(Step, frozen=True, tag="dlight_rule"):
    """Run a dlight rule on one function for a target.

    Before: any loop nests; after: the rule's schedule.  Used when the rule leaves no trace that
    gives the same module.
    """

    rule: str
    function: str
    target: str

    def apply(self, live: Resolver) -> tuple[Any, ...]:
        """Replace the function by the rule's result.  Raises StepRefused."""
        live.whole("dlight", self.function, self.target, self.rule)
        return ()
