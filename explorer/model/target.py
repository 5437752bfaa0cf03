"""What code is built for: a complete target, with the limits that checks and searches need."""

from __future__ import annotations

from typing import Literal

import msgspec


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A build target.  Sizes in bytes, counts as numbers; `tag` is TVM's name or the text given.

    `assumed` names the limits that the tag did not state and that were filled in, with the value's
    source, so that the user is told.
    """

    tag: str
    kind: Literal["cuda", "llvm"]
    arch: str
    """"sm_90", or "" for llvm."""
    max_threads_per_block: int = 1024
    max_shared_memory_per_block: int = 49152
    thread_warp_size: int = 32
    registers_per_block: int = 65536
    l2_cache_size_bytes: int | None = None
    max_dynamic_shared_memory_per_block: int = 49152
    """Most that a launch may ask for (opt-in); static shared memory keeps to the limit above."""
    assumed: tuple[str, ...] = ()
