"""Sectors and bank conflicts of hand-computed patterns."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.analysis.kernel import Access
from explorer.analysis.memory import global_pattern, shared_pattern

LANES = np.arange(32)


def access(element: np.ndarray, item_bytes: int, lanes: int = 1, active: np.ndarray | None = None,
           scope: str = "global") -> Access:  # fmt: skip
    rows = np.atleast_2d(element)
    return Access(
        buffer="A", identity=0, scope=scope, kind="load", dtype="", item_bytes=item_bytes,
        lanes=lanes, index="", element=rows,
        active=np.ones(rows.shape, bool) if active is None else np.atleast_2d(active),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("element", "item_bytes", "lanes", "sectors", "pattern"),
    [
        (LANES, 4, 1, 4, "coalesced"),  # 128 bytes
        (LANES, 2, 1, 2, "coalesced"),
        (LANES, 1, 1, 1, "coalesced"),
        (LANES, 8, 1, 8, "coalesced"),
        (LANES * 4, 4, 4, 16, "coalesced"),  # float4: 512 bytes
        (31 - LANES, 4, 1, 4, "coalesced"),  # backwards
        (LANES * 2, 4, 1, 8, "strided"),
        (LANES * 8, 4, 1, 32, "strided"),
        (LANES * 1000, 4, 1, 32, "strided"),
        (LANES * 0, 4, 1, 1, "broadcast"),
        (LANES + 1, 4, 1, 5, "coalesced"),  # off by 4 bytes: one sector more
        # Rows 400 bytes apart: every other one starts in the middle of a sector.
        (LANES // 8 * 100 + LANES % 8, 4, 1, 6, "coalesced"),
        (LANES % 16 * 16 + LANES // 16, 4, 1, 16, "scattered"),
    ],
)
def test_sectors_per_request(
    element: np.ndarray, item_bytes: int, lanes: int, sectors: int, pattern: str
) -> None:
    found = global_pattern(access(element, item_bytes, lanes))
    assert found is not None
    assert found.sectors == sectors
    assert found.pattern == pattern


def test_lanes_that_do_nothing_ask_for_nothing() -> None:
    found = global_pattern(access(LANES * 8, 4, active=LANES < 3))
    assert found is not None
    assert found.sectors == 3
    assert global_pattern(access(LANES, 4, active=LANES < 0)) is None


def test_the_mean_is_over_requests_that_happen() -> None:
    rows = np.stack([LANES, LANES * 8, LANES])
    active = np.stack([LANES >= 0, LANES >= 0, LANES < 0])
    found = global_pattern(access(rows, 4, active=active))
    assert found is not None
    assert found.sectors == (4 + 32) / 2


@pytest.mark.parametrize(
    ("element", "item_bytes", "lanes", "ways", "wavefronts"),
    [
        (LANES, 4, 1, 1, 1),
        (LANES * 2, 4, 1, 2, 2),
        (LANES * 32, 4, 1, 32, 32),
        (LANES * 33, 4, 1, 1, 1),  # padded
        (LANES * 0, 4, 1, 1, 1),  # broadcast
        (LANES, 2, 1, 1, 1),  # two halves share a word
        (LANES * 2, 2, 1, 1, 1),
        (LANES * 64, 2, 1, 32, 32),
        (LANES, 8, 1, 1, 2),  # a double: half warps
        (LANES * 4, 4, 4, 1, 4),  # float4: quarter warps
        (LANES * 8, 4, 4, 2, 8),
        (LANES % 8 * 32 + LANES // 8, 4, 1, 8, 8),
    ],
)
def test_bank_conflicts(
    element: np.ndarray, item_bytes: int, lanes: int, ways: int, wavefronts: int
) -> None:
    found = shared_pattern(access(element, item_bytes, lanes, scope="shared"))
    assert found is not None
    assert found.ways == ways
    assert found.wavefronts == wavefronts
