"""The static model: how long a kernel should take, from what is known without running it.

docs/tuning.md has the formula in words, where the constants come from and what they leave out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from explorer.analysis.limits import SECTOR_BYTES, WARP, Limits, capability
from explorer.analysis.peaks import Gpu, gpu

LAUNCH_US = 2.0
"""From the end of one kernel to the start of the next in a stream."""
BLOCK_CLOCKS = 200.0
"""From a block's end to the first instruction of the one that takes its place, and to its end."""
OVERLAP = 0.1
"""The share of each other limit's time that does not hide behind the largest."""
L1_CLOCK_BYTES = 128
PORT_SECTORS = 2
"""Sectors a clock between an SM and the L2 cache (64 bytes)."""
SCHEDULERS = 4
OUTSTANDING = 16
"""Loads of device memory that one warp has under way at once, at most."""
LATENCY: Mapping[str, float] = {
    "device": 400.0, "l2": 200.0, "l1": 32.0, "shared": 24.0, "barrier": 20.0,
    "fp32": 4.0, "fp16": 4.0, "int": 4.0, "fp64": 8.0, "sfu": 20.0, "convert": 8.0,
    "shuffle": 24.0, "tensor": 32.0, "other": 4.0,
}  # fmt: skip
"""Clocks until a result can be used."""


class Rates(msgspec.Struct, frozen=True):
    """Results a clock of one SM, by kind of instruction, and bytes a clock from L2 for each SM."""

    fp32: float
    fp16: float
    fp64: float
    l2_bytes: float = 25.6
    int: float = 64.0
    sfu: float = 16.0
    convert: float = 64.0
    shuffle: float = 32.0
    other: float = 64.0


_RATES: dict[int, Rates] = {
    60: Rates(64, 128, 32), 61: Rates(128, 2, 4), 70: Rates(64, 128, 32),
    75: Rates(64, 128, 2), 80: Rates(64, 256, 32, 47.4), 86: Rates(128, 128, 2),
    87: Rates(128, 256, 2), 89: Rates(128, 128, 2), 90: Rates(128, 256, 64, 38.8),
    100: Rates(128, 256, 64, 38.8), 120: Rates(128, 128, 2),
}  # fmt: skip
STAND_INS = {
    60: "tesla-p100", 61: "geforce-gtx-1080-ti", 70: "nvidia-v100", 75: "nvidia-t4",
    80: "nvidia-a100", 86: "geforce-rtx-3090", 87: "jetson-agx-orin-64gb",
    89: "geforce-rtx-4090", 90: "nvidia-h100",
}  # fmt: skip
"""The GPU that is assumed where a target names only an architecture, or one without peaks."""
ASSUMED_L2_BYTES = 4 << 20
"""Where the target does not say how large the L2 cache is."""


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """What one launch of a kernel asks for.  "A warp's" numbers are means over the warps.

    `pipes` are instructions by unit ("tensor": operations), `wavefronts` passes of the L1 and
    shared-memory path, `fresh_sectors` what L1 asks of L2, `chain` the clocks one warp takes alone.
    """

    blocks: int
    threads: int
    resident_blocks: int
    """Blocks that an SM holds at once."""
    issued: float
    pipes: Mapping[str, float]
    wavefronts: float
    fresh_sectors: float
    chain: float
    device_bytes: float
    launches: int = 1

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return -(-self.threads // WARP)


def nearest(table: Iterable[int], arch: str) -> int:
    """The newest capability in `table` that is not newer than `arch`, else the oldest."""
    known = sorted(table)
    return max((number for number in known if number <= capability(arch)), default=known[0])


def card(tag: str, arch: str) -> tuple[Gpu, bool]:
    """The GPU whose peaks count, and whether it is only a stand-in for the one that is meant."""
    found = gpu(tag)
    if found is not None:
        return found, False
    stand_in = gpu(STAND_INS[nearest(STAND_INS, arch)])
    assert stand_in is not None
    return stand_in, True


def times(demand: Demand, on: Gpu, arch: str) -> dict[str, float]:
    """Microseconds that each limit alone would take for one launch."""
    rates = _RATES[nearest(_RATES, arch)]
    clock = on.fp32_tflops * 1e6 / (2 * on.sms * rates.fp32)  # MHz: clocks a microsecond
    blocks = -(-demand.blocks // on.sms)
    resident = max(min(demand.resident_blocks, blocks), 1)
    warps = blocks * demand.warps
    # Fewer warps than schedulers leave some of the SM's parts idle.
    parts = min(1.0, resident * demand.warps / SCHEDULERS)
    clocks = {"issue": warps * demand.issued / SCHEDULERS / parts}
    for pipe, count in demand.pipes.items():
        if pipe == "tensor":
            rate = on.fp16_tensor_tflops * 1e6 / (on.sms * clock)
            clocks["tensor"] = warps * count / rate / parts
        else:
            clocks[pipe] = warps * count * WARP / getattr(rates, pipe) / parts
    if rates.fp32 > rates.int:  # half of the FP32 lanes are the integer lanes
        both = demand.pipes.get("fp32", 0.0) + demand.pipes.get("int", 0.0)
        clocks["fp32"] = warps * both * WARP / rates.fp32 / parts
    clocks["l1"] = warps * demand.wavefronts
    clocks["port"] = warps * demand.fresh_sectors / PORT_SECTORS
    clocks["chain"] = (demand.chain + BLOCK_CLOCKS) * -(-blocks // resident)
    found = {name: value / clock for name, value in clocks.items()}
    sectors = demand.blocks * demand.warps * demand.fresh_sectors
    found["l2"] = sectors * SECTOR_BYTES / (on.sms * rates.l2_bytes * clock)
    found["device"] = demand.device_bytes / (on.memory_gbs * 1e3)
    return found


def together(limits: Mapping[str, float]) -> float:
    """The time of a launch whose limits would take so long one by one."""
    largest = max(limits.values(), default=0.0)
    return largest + OVERLAP * (sum(limits.values()) - largest)


def l1_bytes(limits: Limits, shared_bytes: int) -> int:
    """What an SM's L1 cache has left beside the shared memory of its blocks.

    The cache is 28 KB larger than the most that shared memory can take of it.
    """
    return max(limits.shared_per_sm_bytes + (28 << 10) - shared_bytes, 0)


def device_bytes(arrays: Mapping[str, tuple[float, float]], l2_bytes: int) -> float:
    """Bytes that move between device memory and L2.

    `arrays` are, by name, bytes of the array (or of what is touched of it) and bytes asked of L2.
    What does not fit in L2 together is fetched again in proportion.
    """
    whole = sum(min(size, moved) for size, moved in arrays.values())
    missed = max(0.0, 1.0 - l2_bytes / whole) if whole else 0.0
    return sum(
        min(size, moved) + missed * max(moved - size, 0.0) for size, moved in arrays.values()
    )
