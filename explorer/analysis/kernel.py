"""A lowered kernel on plain data: launch, memory, and a sample of every access it makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Extents = tuple[int | None, int | None, int | None]
"""Extents x, y, z; None where a size is missing."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Access:
    """One load or store of a kernel, evaluated for whole warps at sampled points.

    `element` and `active` have one row per sample (a block, a warp of it, and a value of every
    loop around) and 32 columns, one per lane: the first element touched, and whether the lane
    runs this statement at all.  `element` is None when the index depends on data or on a size that
    has no value.  `lanes` are
    the elements one thread touches (a vector access has more than 1); `width_bytes` its bytes.
    """

    buffer: str
    identity: int
    """Tells buffers of one name apart."""
    scope: str
    kind: Literal["load", "store"]
    dtype: str
    item_bytes: int
    lanes: int
    index: str
    """The index as TVMScript, for messages."""
    element: Ints | None
    active: Bools
    by_data: bool = False
    """The index is read from memory."""
    contiguous: bool = True
    """The elements of a vector access are neighbours in memory."""
    runs_per_thread: float = 1.0
    """How often one thread comes here: the product of the loops around it."""

    @property
    def width_bytes(self) -> int:
        """Bytes that one thread asks for."""
        return self.item_bytes * self.lanes

    @property
    def is_global(self) -> bool:
        """The buffer lies in device memory."""
        return self.scope in ("", "global")

    @property
    def is_shared(self) -> bool:
        """The buffer lies in shared memory, static or dynamic."""
        return self.scope.startswith("shared")


@dataclass(frozen=True, kw_only=True, eq=False)
class Kernel:
    """One `__global__` function as lowered, and how the host launches it.

    `grid` and `block` are extents x, y, z; None where a size is missing.  `launches` is how often
    one call of the function launches it (1, or the product of the host loops around).
    """

    name: str
    function: str
    grid: Extents
    block: Extents
    grid_text: tuple[str, str, str]
    block_text: tuple[str, str, str]
    shared_bytes: int
    """Static shared memory."""
    dynamic_shared_bytes: int | None = 0
    shared_arrays: tuple[tuple[str, str, int], ...] = ()
    """Name, scope and bytes of every shared array."""
    local_arrays: tuple[tuple[str, int], ...] = ()
    """Name and bytes of every per-thread array."""
    accesses: tuple[Access, ...] = ()
    statements: int = 0
    """Statements after unrolling: how long the code is, not how often it runs."""
    dtypes: frozenset[str] = frozenset()
    intrinsics: frozenset[str] = frozenset()
    launches: int | None = 1
    duplicates: tuple[Duplicate, ...] = ()
    unknown: tuple[str, ...] = ()
    """Constructs that were not followed, by name."""

    @property
    def threads(self) -> int | None:
        """Threads a block, None when a size is missing."""
        return product(self.block)

    @property
    def blocks(self) -> int | None:
        """Blocks of the grid, None when a size is missing."""
        return product(self.grid)


@dataclass(frozen=True, kw_only=True)
class Duplicate:
    """A store to memory that threads share, in which several threads write one element."""

    buffer: str
    scope: str
    index: str
    threads: int
    """How many threads write the most written element."""
    between_blocks: bool
    accumulates: bool
    same_value: bool
    """Every thread writes the same value, as far as can be seen."""
    axes: tuple[str, ...]
    """Thread axes that the index does not use."""


def requests(kernel: Kernel, access: Access) -> float:
    """Warp requests that all blocks make here in one launch, from the share of sampled warps."""
    blocks, threads = kernel.blocks, kernel.threads
    if blocks is None or threads is None or not len(access.active):
        return 0.0
    live = float(np.mean(access.active.any(axis=1)))
    return blocks * -(-threads // 32) * access.runs_per_thread * live


def product(extents: tuple[int | None, ...]) -> int | None:
    """The product of the extents, None when one is unknown."""
    result = 1
    for extent in extents:
        if extent is None:
            return None
        result *= extent
    return result
