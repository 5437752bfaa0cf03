"""What code is built for.  One file per form of target text; nothing else lists them.

A form is a module with `read(text, tags) -> Target | None`: None means "not my form".  `tags` are
TVM's NVIDIA tags as plain targets (`workbench.targets()`), so that no TVM is needed here.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from difflib import get_close_matches

from explorer.errors import TargetError
from explorer.model.target import Target
from explorer.targets.local import local_gpu
from explorer.targets.tag import search

Read = Callable[[str, tuple[Target, ...]], Target | None]

FORMS: tuple[Read, ...] = tuple(
    module.read
    for info in pkgutil.iter_modules(__path__)
    if hasattr(module := importlib.import_module(f"{__name__}.{info.name}"), "read")
)
DEFAULT = "nvidia/geforce-rtx-4090"
"""Target where the user has not chosen one."""


def resolve(text: str, tags: tuple[Target, ...]) -> Target:
    """The complete target that `text` names.

    Accepts a tag, an architecture (`sm_90`, `cuda -arch=sm_90`), TVM's JSON, `local` and `llvm`.
    Raises TargetError with the closest names when nothing fits.
    """
    cleaned = text.strip()
    for read in FORMS:
        target = read(cleaned, tags)
        if target is not None:
            return target
    raise TargetError(
        f'"{cleaned}" is not a target that is known here.',
        _closest(cleaned, tags),
        'Name a device (nvidia/geforce-rtx-4090), an architecture (sm_90), "local" or "llvm".',
    )


def _closest(text: str, tags: tuple[Target, ...]) -> str:
    lowered = text.lower()
    names = [target.tag for target in search(lowered, tags)[:3]]
    tails = {target.tag.partition("/")[2]: target.tag for target in tags}
    for near in get_close_matches(lowered.partition("/")[2] or lowered, tails, n=3, cutoff=0.5):
        if tails[near] not in names:
            names.append(tails[near])
    return f"Close names are {', '.join(names[:3])}." if names else ""


__all__ = ["DEFAULT", "FORMS", "local_gpu", "resolve", "search"]
