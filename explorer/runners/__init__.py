"""Where variants are timed: one file per runner, found by folder; nothing else lists them."""

from __future__ import annotations

import importlib
import pkgutil
from typing import cast

from explorer.errors import Refusal
from explorer.model.race import Where
from explorer.model.target import Target
from explorer.runners.base import Connection, Place, Runner, Say, Unreachable

RUNNERS: dict[str, Runner] = {
    module.NAME: cast(Runner, module)
    for info in pkgutil.iter_modules(__path__)
    if hasattr(module := importlib.import_module(f"{__name__}.{info.name}"), "NAME")
}
"""Every runner by its name."""


def chosen(where: Where, target: Target) -> Runner | Refusal:
    """The runner asked for, or the one that suits: RPC where an address is given, else local."""
    name = where.runner
    if not name and (where.server or where.tracker):
        name = "rpc"
    if not name:
        name = "llvm" if target.kind == "llvm" else "local_cuda"
    runner = RUNNERS.get(name)
    if runner is None:
        names = ", ".join(RUNNERS)
        return Refusal(what=f"There is no runner {name}.", why=f"There are: {names}.")
    return runner.can_run(target) or runner


__all__ = ["RUNNERS", "Connection", "Place", "Runner", "Say", "Unreachable", "chosen"]
