"""A CUDA target completed: limits that its tag or text leaves out come from the guide's table."""

from __future__ import annotations

import re
from difflib import get_close_matches

from explorer.analysis.limits import GUIDE, MAX_THREADS_PER_BLOCK, STATIC_SHARED_BYTES, limits_of
from explorer.errors import TargetError
from explorer.model.target import Target

WARP_SIZE = 32
_BEFORE_TABLE = ("20", "21", "30", "32", "35", "37")
"""Capabilities TVM has tags for that today's CUDA, and so its table, no longer knows."""
_NEAR = [f"sm_{number}" for number in (70, 75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121)]


def check_architecture(arch: str) -> None:
    """Refuse what is no CUDA architecture.  Raises TargetError with the closest ones."""
    match = re.fullmatch(r"sm_(\d+)([af]?)", arch)
    exists = match is not None and (match[1] in _BEFORE_TABLE or limits_of(arch).known)
    if match is None or not exists or (match[2] and int(match[1]) < 90):
        near = get_close_matches(arch, _NEAR, n=3, cutoff=0.5)
        raise TargetError(
            f"{arch} is not a CUDA architecture.",
            f"Close ones are {', '.join(near)}." if near else "",
            "Give sm_ and the compute capability without the dot, e.g. sm_90 for 9.0.",
        )


def complete(tag: str, arch: str, stated: dict[str, int], assumed: tuple[str, ...] = ()) -> Target:
    """A CUDA target from the limits `stated` by a tag or text; the others come from the guide.

    Every limit filled in is named in `assumed` with its value and source.  Raises TargetError.
    """
    check_architecture(arch)
    known = limits_of(arch)
    table = {
        "max_threads_per_block": MAX_THREADS_PER_BLOCK,
        "max_shared_memory_per_block": STATIC_SHARED_BYTES,
        "thread_warp_size": WARP_SIZE,
        "registers_per_block": known.registers_per_block,
    }
    filled = {name: value for name, value in table.items() if name not in stated}
    notes = tuple(f"{name} = {value} ({GUIDE})" for name, value in filled.items())
    limits = {**filled, **{name: stated[name] for name in table if name in stated}}
    for name, value in limits.items():
        if value < 1:
            raise TargetError(f"{name} is {value}.", "A limit must be at least 1.")
    return Target(
        tag=tag,
        kind="cuda",
        arch=arch,
        l2_cache_size_bytes=stated.get("l2_cache_size_bytes"),
        max_dynamic_shared_memory_per_block=max(
            known.shared_per_block_bytes, limits["max_shared_memory_per_block"]
        ),
        assumed=assumed + notes,
        **limits,
    )
