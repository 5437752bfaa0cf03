"""Hardware limits per compute capability, to complete targets whose tag or text leaves them out.

Source of every number: NVIDIA CUDA C++ Programming Guide, "Compute Capabilities", table of
technical specifications per compute capability.
"""

from __future__ import annotations

import re
from difflib import get_close_matches

from explorer.errors import TargetError
from explorer.model.target import Target

GUIDE = "CUDA C++ Programming Guide, table of technical specifications"

MAX_THREADS_PER_BLOCK = 1024
WARP_SIZE = 32
STATIC_SHARED_BYTES = 48 * 1024
"""Static shared memory of a block, on every architecture; more must be dynamic and asked for."""

_KIB = 1024
_REGISTERS = {"20": 32768, "21": 32768, "53": 32768, "62": 32768}
_OPT_IN_SHARED_BYTES = {
    "70": 96 * _KIB, "72": 96 * _KIB, "75": 64 * _KIB,
    "80": 163 * _KIB, "86": 99 * _KIB, "87": 163 * _KIB, "89": 99 * _KIB,
    "90": 227 * _KIB, "100": 227 * _KIB, "103": 227 * _KIB, "110": 227 * _KIB,
    "120": 99 * _KIB, "121": 99 * _KIB,
}  # fmt: skip
CAPABILITIES = (
    "20", "21", "30", "32", "35", "37", "50", "52", "53", "60", "61", "62", *_OPT_IN_SHARED_BYTES,
)  # fmt: skip
"""Compute capabilities there are, as in `sm_<capability>`."""


def capability(arch: str) -> str:
    """The number in an architecture's name: "90" of "sm_90a".

    Raises TargetError when there is no such architecture.
    """
    match = re.fullmatch(r"sm_(\d+)([af]?)", arch)
    if match is None or match[1] not in CAPABILITIES:
        near = get_close_matches(arch, [f"sm_{number}" for number in CAPABILITIES], n=3, cutoff=0.5)
        raise TargetError(
            f"{arch} is not a CUDA architecture.",
            f"Close ones are {', '.join(near)}." if near else "",
            "Give sm_ and the compute capability without the dot, e.g. sm_90 for 9.0.",
        )
    return match[1]


def opt_in_shared_bytes(arch: str) -> int:
    """Most dynamic shared memory a block can ask for, in bytes.  Raises TargetError."""
    return _OPT_IN_SHARED_BYTES.get(capability(arch), STATIC_SHARED_BYTES)


def complete(tag: str, arch: str, stated: dict[str, int], assumed: tuple[str, ...] = ()) -> Target:
    """A CUDA target from the limits `stated` by a tag or text; the others come from the guide.

    Every limit filled in is named in `assumed` with its value and source.  Raises TargetError.
    """
    number = capability(arch)
    table = {
        "max_threads_per_block": MAX_THREADS_PER_BLOCK,
        "max_shared_memory_per_block": STATIC_SHARED_BYTES,
        "thread_warp_size": WARP_SIZE,
        "registers_per_block": _REGISTERS.get(number, 65536),
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
            opt_in_shared_bytes(arch), limits["max_shared_memory_per_block"]
        ),
        assumed=assumed + notes,
        **limits,
    )
