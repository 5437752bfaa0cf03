"""dlight: TVM's hand-written schedule rules, in the order of TVM's own CUDA pipeline."""

from __future__ import annotations

from typing import Any

from explorer.errors import UserError
from explorer.model.target import Target
from explorer.model.view import Proposal

CHAIN = ("Matmul", "GEMV", "Reduction", "GeneralReduction", "Fallback")
"""The rules TVM's CUDA pipeline tries on each function; the first that applies wins."""
SINGLE = ("LowBatchGEMV", "RMSNorm", "Transpose")
"""Rules dlight has besides, used only when asked for."""


class Dlight:
    """The first rule of the chain that applies to each function, or one rule of the user's."""

    name = "dlight"
    title = "dlight"
    summary = (
        "Schedules written for kinds of kernels (matmul with tensor cores, GEMV, reductions, "
        "softmax and norms), with a fallback for the rest. Fast kernels where a rule fits, in "
        "milliseconds, without tuning."
    )
    rules = CHAIN + SINGLE

    def propose(
        self, live: Any, target: Target, functions: tuple[str, ...], rule: str = ""
    ) -> Proposal:
        """Steps of the rule that applied, and for every rule why it did or did not."""
        from explorer.engine import dlight

        return dlight.propose(live, target, functions, self._rules(rule))

    def whole(self, mod: Any, target: Target, function: str, rule: str = "") -> Any:
        """One rule run on one function.  Raises StepRefused."""
        from explorer.engine import dlight

        return dlight.run_rule(mod, target, function, self._rules(rule)[0])

    def _rules(self, rule: str) -> tuple[str, ...]:
        if not rule:
            return CHAIN
        if rule not in self.rules:
            raise UserError(
                f"dlight has no rule {rule}.", f"Its rules are: {', '.join(self.rules)}."
            )
        return (rule,)


STRATEGY = Dlight()
