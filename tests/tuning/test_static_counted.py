"""The static model against an independent count: what the emulated device's warps really touch."""

from __future__ import annotations

import functools
from itertools import combinations

import pytest
from tvm import ir

from explorer.engine.load import module
from explorer.engine.targets import cuda_tags
from explorer.engine.tuning.static import predict
from explorer.model.loaded import Source
from explorer.targets import resolve
from tests.tuning import families as family
from tests.tuning.counted import Traffic, count
from tests.tuning.sampled import candidates, rank_correlation

TARGET = resolve("nvidia/geforce-rtx-4090", cuda_tags())
WORKLOADS = {"product": family.matmul(64), "row sums": family.row_sums(128, 256)}
SAMPLES = 8


def traffic(text: str, scheduled: ir.IRModule) -> Traffic:
    return count(module(Source(text)), scheduled, "main", TARGET)


@pytest.mark.parametrize(
    ("text", "schedule"),
    [
        (family.scale(2**14), family.flat(256)),
        (family.copy(256, 256), family.by_rows),
        (family.copy(256, 256, turned=True), family.flat(256)),
        (family.copy(256, 256, turned=True), family.tiled_transpose(pad=False)),
        (family.copy(256, 256, turned=True), family.tiled_transpose(pad=True)),
        (family.matmul(64), family.naive_matmul(32, 8)),
        (family.matmul(64), family.tiled_matmul()),
    ],
    ids=["copy", "strided", "transpose", "conflicts", "padded", "product", "tiled product"],
)
def test_sectors_and_wavefronts_are_those_that_are_counted(
    text: str, schedule: family.Schedule
) -> None:
    scheduled = family.scheduled(text, schedule)
    counted = traffic(text, scheduled)
    parts = predict(scheduled, "main", TARGET, {}).parts
    assert counted.verdict == "match"
    assert parts["l1_sectors"] == counted.sectors
    assert parts["shared_wavefronts"] == counted.wavefronts


@functools.cache
def compared(name: str) -> list[tuple[float, float, Traffic]]:
    """Predicted time and sectors of sampled candidates, and their traffic as counted."""
    text = WORKLOADS[name]
    found = []
    for scheduled in candidates(text, "main", TARGET, SAMPLES):
        word = predict(scheduled, "main", TARGET, {})
        if word.us is not None:
            found.append((word.us, word.parts["l1_sectors"], traffic(text, scheduled)))
    return found


@pytest.mark.parametrize("name", WORKLOADS)
def test_sampled_candidates_are_ordered_as_counted(name: str) -> None:
    found = compared(name)
    assert len(found) >= 6
    assert {each.verdict for _, _, each in found} == {"match"}
    sectors = rank_correlation([s for _, s, _ in found], [t.sectors for _, _, t in found])
    assert sectors > 0.8


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_best_predicted_of_a_few_beats_a_random_one(name: str) -> None:
    found = compared(name)
    clocks = [traffic.clocks for _, _, traffic in found]
    chosen = [min(few, key=lambda each: each[0])[2].clocks for few in combinations(found, 3)]
    assert sum(chosen) / len(chosen) < 0.9 * sum(clocks) / len(clocks)
