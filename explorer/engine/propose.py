"""Ask a strategy for steps."""

from __future__ import annotations

from explorer.engine.candidates import chosen
from explorer.engine.live import Live
from explorer.errors import UserError
from explorer.model.loaded import Source
from explorer.model.target import Target
from explorer.model.view import Proposal
from explorer.primitives import Step
from explorer.strategies import STRATEGIES


def propose(
    source: Source,
    steps: tuple[Step, ...],
    strategy: str,
    target: Target,
    function: str = "",
    rule: str = "",
) -> Proposal:
    """What `strategy` would do after `steps`: steps to put behind them, and outcomes.

    `function` is the one to schedule (all when ""), `rule` one rule of the strategy.  The module is
    not changed.  Raises UserError for an unknown strategy, function or rule.
    """
    from explorer.engine.replay import replay

    return propose_on(replay(source, steps).live, strategy, target, function, rule)


def propose_on(
    live: Live, strategy: str, target: Target, function: str = "", rule: str = ""
) -> Proposal:
    """`propose` for a schedule that is there already."""
    if strategy not in STRATEGIES:
        raise UserError(f"There is no strategy {strategy}.", f"There are: {', '.join(STRATEGIES)}.")
    functions = chosen(live.mod, function)
    known = {gv.name_hint for gv in live.mod.get_global_vars()}
    if function and function not in known:
        raise UserError(
            f"The module has no function {function}.", f"It has: {', '.join(sorted(known))}."
        )
    return STRATEGIES[strategy].propose(live, target, functions, rule)


def strategies() -> dict[str, tuple[str, ...]]:
    """Every strategy by name, with the rules it can be narrowed to."""
    return {name: tuple(strategy.rules) for name, strategy in STRATEGIES.items()}
