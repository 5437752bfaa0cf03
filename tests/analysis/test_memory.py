"""Sectors and bank conflicts of hand-computed patterns."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.analysis.kernel import Access
from explorer.analysis.memory import global_pattern, matrix_wavefronts, reuse, shared_pattern

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


def test_a_vector_of_three_is_served_like_one_of_four() -> None:
    found = shared_pattern(access(LANES * 3, 4, 3))
    assert found is not None
    assert (found.wavefronts, found.ways) == (4, 1)


def pairs(step: int, *, start: np.ndarray = LANES) -> Access:
    """Two rows: a round of a loop and the next, `step` elements on."""
    return access(np.stack([start, start + step]), 4)


@pytest.mark.parametrize(
    ("each", "asked", "fresh"),
    [
        ((pairs(32),), 4, 4),  # a coalesced walk: nothing comes again
        ((pairs(1, start=LANES * 64),), 32, 4),  # a row a lane: eight rounds to a sector
        ((pairs(0),), 4, 0),  # the same in every round
        ((pairs(32), pairs(32)), 8, 4),  # twice in one round
    ],
)
def test_what_a_loop_asks_for_again(each: tuple[Access, ...], asked: float, fresh: float) -> None:
    found = reuse(each, loop=True)
    assert found is not None
    assert (found.asked, found.fresh) == (asked, fresh)
    once = reuse(each, loop=False)
    assert once is not None
    assert once.fresh == once.held


@pytest.mark.parametrize(("apart", "wavefronts"), [(32, 8), (128, 32), (144, 4), (None, 8)])
def test_matrices_conflict_when_their_rows_start_in_one_bank(
    apart: int | None, wavefronts: float
) -> None:
    # 16 x 16 halves: 512 bytes a warp, four phases of eight pieces.
    assert matrix_wavefronts(apart, 16.0) == wavefronts
