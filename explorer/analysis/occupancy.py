"""How many warps an SM can hold of a kernel, by NVIDIA's rules (cuda_occupancy.h)."""

from __future__ import annotations

from explorer.analysis.limits import MAX_REGISTERS_PER_THREAD, REGISTER_UNIT, WARP, Limits
from explorer.model.analysis import Cliff, Limiter, Occupancy


def occupancy(limits: Limits, threads: int, registers: int | None, shared_bytes: int) -> Occupancy:
    """Theoretical occupancy of a kernel; `registers` a thread, None when not known.

    A kernel that does not fit at all has 0 blocks.
    """
    by = _blocks(limits, threads, registers, shared_bytes)
    blocks = min(by.values())
    if registers is None:
        del by["registers"]
    warps = -(-threads // WARP)
    return Occupancy(
        blocks_per_sm=blocks,
        warps_per_sm=blocks * warps,
        max_warps=limits.warps_per_sm,
        limiters=tuple(name for name, count in by.items() if count == blocks),
        better=_cliff(limits, threads, registers, shared_bytes, blocks, up=True),
        worse=_cliff(limits, threads, registers, shared_bytes, blocks, up=False),
    )


def _blocks(
    limits: Limits, threads: int, registers: int | None, shared_bytes: int
) -> dict[Limiter, int]:
    """Blocks an SM holds if only one resource counted, by resource."""
    warps = -(-threads // WARP)
    return {
        "warps": limits.warps_per_sm // warps,
        "blocks": limits.blocks_per_sm,
        "registers": (
            limits.blocks_per_sm if not registers else _by_registers(limits, warps, registers)
        ),
        "shared memory": _by_shared(limits, shared_bytes),
    }


def _by_shared(limits: Limits, shared_bytes: int) -> int:
    """What the block asks for and what the driver reserves, in units."""
    if shared_bytes > limits.shared_per_block_bytes:
        return 0
    each = _round_up(shared_bytes + limits.reserved_shared_bytes, limits.shared_unit_bytes)
    return limits.shared_per_sm_bytes // each if each else limits.blocks_per_sm


def _by_registers(limits: Limits, warps: int, registers: int) -> int:
    """Registers are dealt to warps in units, and warps to the SM's parts."""
    if registers > MAX_REGISTERS_PER_THREAD + 1:
        return 0
    per_warp = _round_up(registers * WARP, REGISTER_UNIT)
    # The hardware's check of one block deals its warps out to all parts at once.
    if per_warp * _round_up(warps, limits.partitions) > limits.registers_per_block:
        return 0
    in_part = limits.registers_per_sm // limits.partitions // per_warp
    return in_part * limits.partitions // warps


def _cliff(
    limits: Limits, threads: int, registers: int | None, shared_bytes: int, blocks: int, *,
    up: bool,
) -> Cliff | None:  # fmt: skip
    """The nearest value of registers or shared memory that moves the number of blocks."""
    found: list[tuple[float, Cliff]] = []
    if registers:
        values = range(registers - 1, 0, -1) if up else range(registers + 1, 256)
        for value in values:
            count = min(_blocks(limits, threads, value, shared_bytes).values())
            if (count > blocks) if up else (count < blocks):
                cliff = Cliff("registers", registers, value, count)
                found.append((abs(value - registers) / registers, cliff))
                break
    unit = limits.shared_unit_bytes
    top = limits.shared_per_block_bytes
    values = range(min(shared_bytes, top) // unit * unit, -1, -unit) if up else range(
        _round_up(shared_bytes + 1, unit), top + 1, unit
    )  # fmt: skip
    for value in values:
        count = min(_blocks(limits, threads, registers, value).values())
        if (count > blocks) if up else (count < blocks):
            cliff = Cliff("shared memory", shared_bytes, value, count)
            found.append((abs(value - shared_bytes) / max(shared_bytes, 1), cliff))
            break
    return min(found, key=lambda pair: pair[0])[1] if found else None


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
