"""What an NVIDIA GPU allows, by compute capability, each number with its source.

Numbers that differ between architectures are rows of `_TABLE`; the others are the same on every
architecture that CUDA 13 and 12 know.
"""

from __future__ import annotations

import re

import msgspec

GUIDE = "CUDA C++ Programming Guide, Technical Specifications per Compute Capability"
OCCUPANCY_HEADER = "cuda_occupancy.h of the CUDA Toolkit"

MAX_THREADS_PER_BLOCK = 1024
MAX_BLOCK = (1024, 1024, 64)
MAX_GRID = (2**31 - 1, 65535, 65535)
STATIC_SHARED_BYTES = 48 * 1024
MAX_REGISTERS_PER_THREAD = 255
REGISTER_UNIT = 256
"""Registers are given to a warp in units of 256."""
WARP = 32
SECTOR_BYTES = 32
"""Global memory moves in sectors of 32 bytes."""
BANKS = 32
BANK_BYTES = 4


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one architecture; bytes, counts and registers are plain numbers."""

    arch: str
    warps_per_sm: int
    blocks_per_sm: int
    shared_per_sm_bytes: int
    shared_per_block_bytes: int
    """Most that a block can opt into with dynamic shared memory."""
    reserved_shared_bytes: int
    """Shared memory the driver takes from each block."""
    shared_unit_bytes: int
    partitions: int = 4
    """Parts of an SM with a register file each; warps are dealt out to them."""
    registers_per_sm: int = 65536
    registers_per_block: int = 65536
    known: bool = True
    """False when the architecture is not in the table and its nearest older one is shown."""


_KIB = 1024
# capability: (warps, blocks, shared per SM KiB, shared per block KiB)
_TABLE: dict[int, tuple[int, int, int, int]] = {
    50: (64, 32, 64, 48),
    52: (64, 32, 96, 48),
    53: (64, 32, 64, 48),
    60: (64, 32, 64, 48),
    61: (64, 32, 96, 48),
    62: (64, 32, 64, 48),
    70: (64, 32, 96, 96),
    72: (64, 32, 96, 96),
    75: (32, 16, 64, 64),
    80: (64, 32, 164, 163),
    86: (48, 16, 100, 99),
    87: (48, 16, 164, 163),
    88: (48, 16, 100, 99),
    89: (48, 24, 100, 99),
    90: (64, 32, 228, 227),
    100: (64, 32, 228, 227),
    103: (64, 32, 228, 227),
    107: (32, 16, 228, 227),
    110: (48, 24, 228, 227),
    120: (48, 24, 100, 99),
    121: (48, 24, 100, 99),
}

FEATURES: dict[str, tuple[int, str]] = {
    "float8": (89, "PTX ISA, cvt with .e4m3x2 and .e5m2x2"),
    "float4": (100, "PTX ISA, cvt with .e2m1x2"),
    "bfloat16": (80, "PTX ISA, .bf16 arithmetic"),
    "float16": (53, "PTX ISA, .f16 arithmetic"),
    "wmma": (70, "PTX ISA, wmma"),
    "mma.sync.m16n8k16": (80, "PTX ISA, mma.sync.aligned.m16n8k16"),
    "ldmatrix": (75, "PTX ISA, ldmatrix"),
    "cp.async": (80, "PTX ISA, cp.async"),
}
"""The lowest compute capability with a feature in hardware, and where that is written."""


def capability(arch: str) -> int:
    """The compute capability of "sm_90a" as 90; 0 when the text is no architecture."""
    match = re.fullmatch(r"(?:sm|compute)_(\d+)[af]?", arch)
    return int(match.group(1)) if match else 0


def limits_of(arch: str) -> Limits:
    """The limits of `arch`; an unknown one gets its nearest older neighbour, `known` False."""
    wanted = capability(arch)
    older = [number for number in _TABLE if number <= wanted]
    number = max(older, default=min(_TABLE))
    warps, blocks, shared_sm, shared_block = _TABLE[number]
    return Limits(
        arch=f"sm_{number}",
        warps_per_sm=warps,
        blocks_per_sm=blocks,
        shared_per_sm_bytes=shared_sm * _KIB,
        shared_per_block_bytes=shared_block * _KIB,
        reserved_shared_bytes=_KIB if number >= 80 else 0,
        shared_unit_bytes=128 if number >= 80 else 256,
        partitions=2 if number == 60 else 4,
        registers_per_block=32768 if number in (53, 62) else 65536,
        known=number == wanted,
    )
