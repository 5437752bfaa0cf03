"""Occupancy against NVIDIA's own cuda_occupancy.h, and by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer.analysis.limits import limits_of
from explorer.analysis.occupancy import occupancy

POINTS = json.loads((Path(__file__).parent / "data" / "occupancy.json").read_text())
"""arch, threads, registers, dynamic shared bytes, blocks an SM: made by compiling
cudaOccMaxActiveBlocksPerMultiprocessor of CUDA 13's cuda_occupancy.h with largest carve-out."""


@pytest.mark.parametrize("arch", sorted({point[0] for point in POINTS}))
def test_blocks_per_sm_as_nvidia_computes_them(arch: str) -> None:
    points = [point for point in POINTS if point[0] == arch]
    assert len(points) == 16
    for _, threads, registers, shared, blocks in points:
        assert occupancy(limits_of(arch), threads, registers, shared).blocks_per_sm == blocks


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "blocks", "limiters"),
    [
        # sm_89: 48 warps, 24 blocks, 100 KB (1 KB reserved a block), 64 K registers
        (256, 32, 0, 6, {"warps"}),  # 48 / 8 warps
        (32, 16, 0, 24, {"blocks"}),
        (256, 64, 0, 4, {"registers"}),  # 64 * 32 = 2048 a warp: 8 a part, 32 warps
        (256, 65, 0, 3, {"registers"}),  # rounds up to 72 registers: 7 a part, 28 warps
        (128, 32, 19 * 1024, 5, {"shared memory"}),  # 100 // 20
        (1024, 64, 0, 1, {"warps", "registers"}),
    ],
)
def test_by_hand(
    threads: int, registers: int, shared: int, blocks: int, limiters: set[str]
) -> None:
    result = occupancy(limits_of("sm_89"), threads, registers, shared)
    assert result.blocks_per_sm == blocks
    assert set(result.limiters) == limiters
    assert result.warps_per_sm == blocks * -(-threads // 32)


def test_cliffs_are_real() -> None:
    limits = limits_of("sm_89")
    result = occupancy(limits, 128, 48, 0)
    assert result.better is not None
    assert result.worse is not None
    for cliff, sign in ((result.better, 1), (result.worse, -1)):
        assert cliff.resource == "registers"
        at = occupancy(limits, 128, cliff.at, 0).blocks_per_sm
        beside = occupancy(limits, 128, cliff.at + sign, 0).blocks_per_sm
        assert at == cliff.blocks
        assert beside == result.blocks_per_sm


def test_a_block_that_does_not_fit() -> None:
    limits = limits_of("sm_75")
    assert occupancy(limits, 256, 32, 65 * 1024).blocks_per_sm == 0
    assert occupancy(limits, 1024, 128, 0).blocks_per_sm == 0


def test_registers_that_are_not_known_do_not_limit() -> None:
    result = occupancy(limits_of("sm_90"), 256, None, 0)
    assert result.limiters == ("warps",)
    assert result.fraction == 1.0
