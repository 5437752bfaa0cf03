"""What one warp asks of memory: sectors of global memory, wavefronts of shared memory.

Inputs are sampled accesses (`explorer.analysis.kernel.Access`): rows are samples, columns lanes.
Buffers are taken to start on a sector and bank boundary (cudaMalloc aligns to 256 bytes).
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from explorer.analysis.kernel import Access, Ints
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
    """How a warp walks shared memory: wavefronts per request, and how many it would need at best."""

    wavefronts: float
    needed: float
    ways: int
    """The worst conflict: n lanes want different words of one bank at once; 1 is none."""


def global_pattern(access: Access) -> GlobalPattern | None:
    """How warps touch global memory here; None when no sampled lane comes here."""
    if access.element is None:
        return GlobalPattern(pattern="data-dependent")
    rows = [row for row in range(len(access.element)) if access.active[row].any()]
    if not rows:
        return None
    counts, fewest = [], []
    for row in rows:
        first = access.element[row][access.active[row]] * access.item_bytes
        moved = _pieces(first, access.width_bytes, SECTOR_BYTES)
        counts.append(len(moved))
        asked = len(np.unique(first)) * access.width_bytes
        fewest.append(-(-asked // SECTOR_BYTES))
    stride = _stride(access)
    return GlobalPattern(
        pattern=_name(access, stride, float(np.mean(counts)), float(np.mean(fewest))),
        sectors=float(np.mean(counts)),
        needed=float(np.mean(fewest)),
        stride_bytes=None if stride is None else stride * access.item_bytes,
    )


def shared_pattern(access: Access) -> SharedPattern | None:
    """How warps touch shared memory; None when unknown.

    A request of 8 bytes a lane is served per half warp, of 16 bytes per quarter warp; lanes that
    want the same word share it.
    """
    if access.element is None:
        return None
    phases = max(1, access.width_bytes // BANK_BYTES)
    group = WARP // min(phases, 8)
    waves, best, ways = [], [], 1
    for row in range(len(access.element)):
        live = access.active[row]
        if not live.any():
            continue
        total = fewest = 0
        for start in range(0, WARP, group):
            part = slice(start, start + group)
            first = access.element[row][part][live[part]] * access.item_bytes
            if not len(first):
                continue
            words = _pieces(first, access.width_bytes, BANK_BYTES)
            per_bank = np.bincount(words % BANKS, minlength=BANKS)
            total += int(per_bank.max())
            fewest += -(-len(words) // BANKS)
            ways = max(ways, int(per_bank.max()))
        waves.append(total)
        best.append(fewest)
    if not waves:
        return None
    return SharedPattern(wavefronts=float(np.mean(waves)), needed=float(np.mean(best)), ways=ways)


def _pieces(first: Ints, width: int, piece: int) -> Ints:
    """The distinct pieces (sectors, words) that accesses of `width` bytes at `first` touch."""
    steps = np.arange(0, width, min(piece, width))
    last = (first[:, None] + np.minimum(steps + min(piece, width) - 1, width - 1)[None, :]) // piece
    begin = (first[:, None] + steps[None, :]) // piece
    return np.unique(np.concatenate([begin.ravel(), last.ravel()]))


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
