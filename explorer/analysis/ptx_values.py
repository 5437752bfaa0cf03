"""Values of PTX's integer instructions, for the registers that decide where a thread goes."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping

from explorer.analysis.ptx_text import Instruction

Values = Mapping[str, int | None]
_WIDTH = re.compile(r"[subf](8|16|32|64)")
_PARAMETER = re.compile(r"\[\w*?_param_(\d+)(?:\+0)?\]")
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge, "lo": operator.lt, "ls": operator.le,
    "hi": operator.gt, "hs": operator.ge,
}  # fmt: skip
_BINARY: dict[str, Callable[[int, int], int]] = {
    "add": operator.add, "sub": operator.sub, "and": operator.and_, "or": operator.or_,
    "xor": operator.xor, "min": min, "max": max,
}  # fmt: skip


def value_of(instruction: Instruction, values: Values) -> int | None:
    """What the first result becomes; None when it can't be told (it depends on data)."""
    parts, name = instruction.parts, instruction.name
    if name == "ld":
        match = _PARAMETER.fullmatch(instruction.operands[0]) if parts[1] == "param" else None
        return None if match is None else values.get(f"param{match[1]}")
    kind = parts[-1]
    width = _width(kind)
    if width is None and kind != "pred":
        return None
    signed = kind.startswith("s")
    bits = width or 1
    if name == "selp":
        return _selected(instruction, values, bits, signed)
    read = [_read(operand, values, bits, signed) for operand in instruction.operands]
    if any(value is None for value in read):
        return None
    given = [value for value in read if value is not None]
    found = _computed(name, parts, given, bits, signed)
    if found is None:
        return None
    if name in ("mul", "mad") and "wide" in parts:
        return fold(found, 2 * bits, signed)
    return fold(found, bits, signed)


def _computed(name: str, parts: tuple[str, ...], given: list[int], bits: int,
              signed: bool) -> int | None:  # fmt: skip
    if name in ("mov", "cvta", "cvt"):
        return given[0]
    if name == "setp" and len(given) == 2:
        compare = _COMPARE.get(parts[1])
        return None if compare is None or parts[2] in _BINARY else int(compare(*given))
    if name in _BINARY and len(given) == 2:
        return _BINARY[name](*given)
    if name == "not":
        return ~given[0]
    if name == "neg":
        return -given[0]
    if name == "abs":
        return abs(given[0])
    if name in ("shl", "shr"):
        return given[0] << min(given[1], 64) if name == "shl" else given[0] >> min(given[1], 64)
    if name in ("mul", "mad"):
        product = given[0] * given[1]
        if "hi" in parts:
            product >>= bits
        return product + (given[2] if name == "mad" else 0)
    if name in ("div", "rem") and given[1]:
        quotient = abs(given[0]) // abs(given[1])
        quotient = -quotient if (given[0] < 0) != (given[1] < 0) else quotient
        return quotient if name == "div" else given[0] - quotient * given[1]
    if name == "bfi" and len(given) == 4:
        mask = ((1 << given[3]) - 1) << given[2]
        return (given[1] & ~mask) | (given[0] << given[2] & mask)
    if name == "bfe" and len(given) == 3 and not signed:
        return given[0] >> given[1] & ((1 << given[2]) - 1)
    return None


def _selected(instruction: Instruction, values: Values, bits: int, signed: bool) -> int | None:
    chosen = values.get(instruction.operands[2])
    return None if chosen is None else _read(instruction.operands[not chosen], values, bits, signed)


def _read(operand: str, values: Values, bits: int, signed: bool) -> int | None:
    if operand.startswith("%"):
        value = values.get(operand)
        return None if value is None else fold(value, bits, signed)
    try:
        return fold(int(operand, 0), bits, signed)
    except ValueError:
        return None


def fold(value: int, bits: int, signed: bool) -> int:
    """A number as a register of so many bits holds it."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and bits > 1 and value >> (bits - 1) else value


def _width(kind: str) -> int | None:
    match = _WIDTH.fullmatch(kind)
    return None if match is None or kind[0] == "f" else int(match[1])
