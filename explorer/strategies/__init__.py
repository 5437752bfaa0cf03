"""One file per strategy.  `STRATEGIES` finds them all; nothing else lists them."""

from __future__ import annotations

import importlib
import pkgutil

from explorer.strategies.base import Strategy

STRATEGIES: dict[str, Strategy] = {}
"""Every strategy by name, in the order of the file names.  Importing them does not import TVM."""

for _module in pkgutil.iter_modules(__path__):
    _strategy = getattr(importlib.import_module(f"{__name__}.{_module.name}"), "STRATEGY", None)
    if _strategy is not None:
        STRATEGIES[_strategy.name] = _strategy

__all__ = ["STRATEGIES", "Strategy"]
