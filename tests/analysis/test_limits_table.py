"""The table of limits against NVIDIA's own traits in the CUDA headers."""

from __future__ import annotations

import re

import pytest

from explorer.analysis.limits import capability, limits_of
from explorer.engine.nvrtc import include_folders


def nvidia_traits() -> dict[int, dict[str, int]]:
    """Numbers per compute capability from cccl's arch_traits.h."""
    _, cccl = include_folders()
    text = (cccl / "cuda" / "__device" / "arch_traits.h").read_text()
    found: dict[int, dict[str, int]] = {}
    for body in re.split(r"template <>\s", text)[1:]:
        head = re.search(r"arch_traits<arch_id::sm_(\d+)>\(\) noexcept", body)
        if head is None:
            continue
        values = {
            name: int(first) * int(second or 1)
            for name, first, second in re.findall(
                r"__traits\.(\w+)\s*=\s*(\d+)(?: \* (\d+))?;", body
            )
        }
        base = re.search(r"__traits\s*=\s*::cuda::arch_traits<arch_id::sm_(\d+)>", body)
        if base is not None:
            values = {**found.get(int(base[1]), {}), **values}
        if "max_threads_per_multiprocessor" in values:
            found[int(head[1])] = values
    return found


@pytest.mark.parametrize("number", sorted(nvidia_traits()))
def test_agrees_with_arch_traits(number: int) -> None:
    traits, ours = nvidia_traits()[number], limits_of(f"sm_{number}")
    assert ours.known
    assert ours.warps_per_sm * 32 == traits["max_threads_per_multiprocessor"]
    assert ours.blocks_per_sm == traits["max_blocks_per_multiprocessor"]
    assert ours.shared_per_sm_bytes == traits["max_shared_memory_per_multiprocessor"]
    block = traits.get("max_shared_memory_per_block_optin")
    if block is not None:
        assert ours.shared_per_block_bytes == block
    elif number >= 80:
        assert ours.shared_per_block_bytes == ours.shared_per_sm_bytes - 1024


def test_the_table_of_nvidia_was_read() -> None:
    assert len(nvidia_traits()) >= 10


@pytest.mark.parametrize(
    ("arch", "number", "known"), [("sm_90a", 90, True), ("sm_89", 89, True), ("sm_999", 999, False)]
)
def test_architectures(arch: str, number: int, known: bool) -> None:
    assert capability(arch) == number
    assert limits_of(arch).known is known
