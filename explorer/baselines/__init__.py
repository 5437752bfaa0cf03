"""What installed libraries offer for the same work: one file per library, found by folder."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from typing import cast

from explorer.baselines.base import Array, Baseline, Buffer, Call, NotOffered, Processor

BASELINES: dict[str, Baseline] = {
    module.NAME: cast(Baseline, module)
    for info in pkgutil.iter_modules(__path__)
    if hasattr(module := importlib.import_module(f"{__name__}.{info.name}"), "NAME")
}
"""Every baseline by its name, installed or not."""


def installed(processor: Processor) -> tuple[Baseline, ...]:
    """The baselines whose library is installed and runs there.  Imports no library."""
    return tuple(
        each for each in BASELINES.values()
        if processor in each.PROCESSORS and _found(each.PACKAGE)
    )  # fmt: skip


def _found(package: str) -> bool:
    spec = importlib.util.find_spec(package)
    return spec is not None and spec.origin is not None  # a folder of that name has no origin


__all__ = [
    "BASELINES",
    "Array",
    "Baseline",
    "Buffer",
    "Call",
    "NotOffered",
    "Processor",
    "installed",
]
