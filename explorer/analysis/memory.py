"""What one warp asks of memory: sectors of global memory, wavefronts of shared memory.

Inputs are sampled accesses (`explorer.analysis.kernel.Access`): rows are samples, columns lanes.
Buffers are taken to start on a sector and bank boundary (cudaMalloc aligns to 256 bytes).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from explorer.analysis.kernel import Access, Bools, Ints
from explorer.analysis.limits import BANK_BYTES, BANKS, SECTOR_BYTES, WARP

Pattern = Literal["broadcast", "coalesced", "strided", "scattered", "data-dependent"]


class GlobalPattern(msgspec.Struct, frozen=True, kw_only=True):
    """How a warp walks global memory.

    `sectors` is the mean per warp request, `needed` the fewest that could hold the bytes asked for.
    `stride_bytes` is the step from lane to lane where it is one number.
    """

    pattern: Pattern
    sectors: float = 0.0
    needed: float = 0.0
    stride_bytes: int | None = None

    @property
    def efficiency(self) -> float:
        """The share of moved bytes that were asked for, 1 at best."""
        return self.needed / self.sectors if self.sectors else 1.0


class SharedPattern(msgspec.Struct, frozen=True, kw_only=True):
    """How a warp walks shared memory: wavefronts per request, and the fewest possible."""

    wavefronts: float
    needed: float
    ways: int
    """The worst conflict: n lanes want different words of one bank at once; 1 is none."""


def global_pattern(access: Access) -> GlobalPattern | None:
    """How warps touch global memory here; None when no sampled lane comes here or a size lacks."""
    if access.element is None:
        return GlobalPattern(pattern="data-dependent") if access.by_data else None
    rows = access.active.any(axis=1)
    if not rows.any():
        return None
    first = access.element[rows] * access.item_bytes
    live = access.active[rows]
    sectors = _distinct(_pieces(first, access.width_bytes, SECTOR_BYTES), live)
    asked = _distinct(first[:, :, None], live) * access.width_bytes
    stride = _stride(access)
    moved, needed = float(np.mean(sectors)), float(np.mean(-(-asked // SECTOR_BYTES)))
    return GlobalPattern(
        pattern=_name(access, stride, moved, needed),
        sectors=moved,
        needed=needed,
        stride_bytes=None if stride is None else stride * access.item_bytes,
    )


def shared_pattern(access: Access) -> SharedPattern | None:
    """How warps touch shared memory; None when unknown.

    A request of 8 bytes a lane is served per half warp, of 16 bytes per quarter warp; lanes that
    want the same word share it.
    """
    if access.element is None:
        return None
    rows = access.active.any(axis=1)
    if not rows.any() or access.element.shape[1] != WARP:
        return None
    # Vectors of three are served like those of four.
    words_each = max(access.width_bytes // BANK_BYTES, 1)
    phases = min(1 << (words_each - 1).bit_length(), 8)
    # Each phase of a request is served by itself: make it a row of its own.
    first = (access.element[rows] * access.item_bytes).reshape(-1, WARP // phases)
    live = access.active[rows].reshape(-1, WARP // phases)
    words = _pieces(first, access.width_bytes, BANK_BYTES)
    worst, count = _busiest_bank(words, live)
    best = -(-count // BANKS)
    per_request = (int(rows.sum()), phases)
    return SharedPattern(
        wavefronts=float(worst.reshape(per_request).sum(axis=1).mean()),
        needed=float(best.reshape(per_request).sum(axis=1).mean()),
        ways=int(worst.max()),
    )


ROUNDS = 9
"""Rounds of a loop that are followed: a sector of eight 4-byte elements is entered and left."""


class Reuse(msgspec.Struct, frozen=True):
    """Sectors of global memory that a warp asks for in one round of a loop body, as means.

    `asked` counts a sector once for each request, `fresh` once if neither this round nor the one
    before asked for it, `held` is how many different ones a round asks for.
    """

    asked: float
    fresh: float
    held: float


def reuse(accesses: Sequence[Access], *, loop: bool) -> Reuse | None:
    """How a warp comes back to sectors, from all accesses to one array in one loop body.

    Rows are pairs: an even row and, after it, the next round of the innermost loop at the same
    place; later rounds are taken to go on like that.  `loop` False: there is only one round.  None
    when an index is unknown or no sampled lane comes here.
    """
    rounds = ROUNDS if loop else 1
    asked = 0.0
    parts: list[Ints] = []
    for access in accesses:
        if access.element is None:
            return None
        first = access.element[::2]
        step = access.element[1::2] - first
        element = first[:, None] + step[:, None] * np.arange(rounds).reshape(1, -1, 1)
        live = np.repeat(access.active[::2], rounds, axis=0)
        element = element.reshape(-1, element.shape[2]) * access.item_bytes
        ordered = _sorted(_pieces(element, access.width_bytes, SECTOR_BYTES), live)
        asked += float(_fresh(ordered).sum(axis=1).mean())
        parts.append(ordered)
    if not asked:
        return None
    each = np.sort(np.concatenate(parts, axis=1), axis=1)
    held = _fresh(each).sum(axis=1)
    fresh = float(held.mean())
    if loop:
        by_round = each.reshape(-1, rounds, each.shape[1])
        both = np.concatenate([by_round[:, :-1], by_round[:, 1:]], axis=2)
        both = np.sort(both.reshape(-1, both.shape[2]), axis=1)
        before = held.reshape(-1, rounds)[:, :-1].reshape(-1)
        fresh = float((_fresh(both).sum(axis=1) - before).mean())
    return Reuse(asked, fresh, float(held.mean()))


def matrix_wavefronts(apart_bytes: int | None, width: float) -> float:
    """Wavefronts of a warp that loads a matrix of 16-byte pieces of rows so many bytes apart.

    `width` is bytes a thread.  Eight pieces make a phase, as for ldmatrix; None: rows whose
    distance is unknown are taken to conflict in pairs.
    """
    phases = max(width * WARP / (BANKS * BANK_BYTES), 1.0)
    if apart_bytes is None:
        return 2.0 * phases
    words = (np.arange(8)[:, None] * apart_bytes + np.arange(0, 16, BANK_BYTES)) // BANK_BYTES
    busiest = np.bincount(np.unique(words) % BANKS, minlength=BANKS).max()
    return phases * float(busiest)


def _pieces(first: Ints, width: int, piece: int) -> Ints:
    """The pieces (sectors, words) touched by `width` bytes at each `first`: one more axis."""
    starts = np.append(np.arange(0, width, piece), width - 1)
    return (first[:, :, None] + starts) // piece


def _sorted(pieces: Ints, live: Bools) -> Ints:
    """The pieces of each row in order; those of lanes that do nothing are -1, in front."""
    masked = np.where(live[:, :, None], pieces, -1)
    return np.sort(masked.reshape(len(masked), -1), axis=1)


def _fresh(ordered: Ints) -> Bools:
    """Where a row has a piece that it did not have before."""
    fresh = np.ones(ordered.shape, bool)
    fresh[:, 1:] = np.diff(ordered, axis=1) != 0
    return fresh & (ordered >= 0)


def _distinct(pieces: Ints, live: Bools) -> Ints:
    """How many different pieces each row has."""
    return _fresh(_sorted(pieces, live)).sum(axis=1)


def _busiest_bank(words: Ints, live: Bools) -> tuple[Ints, Ints]:
    """Per row: the most distinct words in one bank, and all distinct words."""
    ordered = _sorted(words, live)
    fresh = _fresh(ordered)
    loads = np.zeros((len(ordered), BANKS), np.int64)
    row, column = np.nonzero(fresh)
    np.add.at(loads, (row, ordered[row, column] % BANKS), 1)
    return loads.max(axis=1), fresh.sum(axis=1)


def _stride(access: Access) -> int | None:
    """The step in elements from lane to lane, if all sampled lanes agree; 0 is a broadcast."""
    assert access.element is not None
    both = access.active[:, 1:] & access.active[:, :-1]
    steps = np.unique(np.diff(access.element, axis=1)[both])
    return int(steps[0]) if len(steps) == 1 else None


def _name(access: Access, stride: int | None, sectors: float, needed: float) -> Pattern:
    if stride == 0:
        return "broadcast"
    if stride is not None and abs(stride) == access.lanes:
        return "coalesced"
    if sectors <= needed * 1.5:
        return "coalesced"
    return "strided" if stride is not None else "scattered"
