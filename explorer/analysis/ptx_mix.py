"""What the blocks of a kernel's PTX ask of the GPU: pipes, memory requests, waiting time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from explorer.analysis.ptx_text import Block, Instruction

Pipe = Literal["fp32", "fp16", "fp64", "int", "sfu", "convert", "shuffle", "tensor", "other"]
Space = Literal["global", "shared", "local"]

_FREE = ("mov", "cvta", "ret", "exit", "activemask", "isspacep")
"""Copies and casts that the assembler makes disappear."""
_SPECIAL = ("ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos", "tanh", "div")
_FLOAT: dict[str, Pipe] = {
    "f32": "fp32", "f64": "fp64", "f16": "fp16", "f16x2": "fp16", "bf16": "fp16", "bf16x2": "fp16",
}  # fmt: skip
_LONG = {"div": 8, "sqrt": 8, "rcp": 6, "rem": 12}
"""Instructions of an exact division or root, and of an integer division by a variable."""
_BYTES = re.compile(r"[a-z]+?(8|16|32|64|128)(?:x(2|4))?")
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_BASE = re.compile(r"\[([%\w$]+)")
TENSOR_RATE = {
    "s8": 2.0, "u8": 2.0, "e4m3": 2.0, "e5m2": 2.0, "s4": 4.0, "u4": 4.0, "b1": 8.0,
    "tf32": 0.5, "f64": 0.0625,
}  # fmt: skip
"""Tensor-core rate of an operand type, as a multiple of the 16-bit floats' rate."""


@dataclass(frozen=True, slots=True)
class Request:
    """A kind of memory request.  `base` is the array or parameter it goes to, "" when unknown.

    `width` is bytes a thread.  `rows_apart` names the register (or number) of elements between the
    rows of a matrix that a whole warp loads or stores, `element` the bytes of one of them.
    """

    space: Space
    kind: Literal["load", "store", "atomic"]
    base: str
    width: float
    rows_apart: str = ""
    element: int = 0
    matrix: bool = False


@dataclass
class Mix:
    """The demands of one execution of a block, for one warp."""

    pipes: dict[Pipe, float] = field(default_factory=dict)
    """Instructions; for "tensor", operations at the rate of 16-bit floats."""
    requests: dict[Request, float] = field(default_factory=dict)
    issued: float = 0.0
    barriers: int = 0
    waits: int = 0
    """Waits for asynchronous copies."""


class Mixer:
    """Knows where the addresses of a kernel come from."""

    def __init__(self, blocks: list[Block]) -> None:
        self.blocks = blocks
        self.bases = _bases(blocks)

    def mix(self, block: Block) -> Mix:
        """What one execution of the block asks for."""
        found = Mix()
        for instruction in block.instructions:
            pipe, amount = _pipe(instruction)
            if pipe is not None:
                found.pipes[pipe] = found.pipes.get(pipe, 0.0) + amount
            if instruction.name not in _FREE and instruction.parts[:2] != ("ld", "param"):
                found.issued += _LONG.get(instruction.name, 1) if _is_long(instruction) else 1
            if instruction.name in ("bar", "barrier"):
                found.barriers += 1
            if instruction.name == "cp" and "wait_group" in instruction.parts:
                found.waits += 1
            for request in self.requests(instruction):
                found.requests[request] = found.requests.get(request, 0.0) + 1
        return found

    def requests(self, instruction: Instruction) -> Iterable[Request]:
        """The memory requests of an instruction."""
        parts, name = instruction.parts, instruction.name
        if name == "cp" and "async" in parts and "shared" in parts:
            width = float(instruction.operands[2])
            yield Request("global", "load", self._base(instruction.operands[1]), width)
            yield Request("shared", "store", self._base(instruction.operands[0]), width)
            return
        if name not in ("ld", "st", "ldu", "red", "atom", "wmma", "ldmatrix", "stmatrix"):
            return
        if name == "wmma" and parts[1] == "mma":
            return
        space = next((p for p in parts if p in ("global", "shared", "local")), None)
        address = next((o for o in instruction.operands if o.startswith("[")), "")
        if parts[1] in ("param", "const"):
            return
        kind: Literal["load", "store", "atomic"] = (
            "atomic" if name in ("red", "atom") else
            "store" if name in ("st", "stmatrix") or "store" in parts else "load"
        )  # fmt: skip
        base = self._base(address)
        where: Space = space or ("shared" if base and not base.startswith("param") else "global")  # type: ignore[assignment]
        if name == "wmma":
            yield _fragment(instruction, where, kind, base)
        elif name.endswith("matrix"):
            count = next((int(p[1:]) for p in parts if p in ("x1", "x2", "x4")), 1)
            yield Request(where, kind, base, 4.0 * count, matrix=True)
        else:
            yield Request(where, kind, base, _width(parts))

    def _base(self, operand: str) -> str:
        match = _BASE.match(operand)
        if match is None:
            return ""
        found = self.bases.get(match[1], frozenset()) if match[1][0] == "%" else {match[1]}
        return next(iter(found)) if len(found) == 1 else ""


def waiting(block: Block, latency: Mapping[str, float], outstanding: int) -> float:
    """Clocks that one warp alone takes for the block: its longest chain of dependent instructions.

    `latency` is by pipe, "global", "shared" and "barrier".  No more than `outstanding` loads of
    global memory are under way at once.  What is loaded and not used before the next barrier is
    not waited for here.
    """
    total = 0.0
    ready: dict[str, float] = {}
    longest, issued, loads = 0.0, 0.0, 0
    for instruction in block.instructions:
        name, parts = instruction.name, instruction.parts
        fence = name in ("bar", "barrier") or (name == "cp" and "wait_group" in parts)
        start = max((ready.get(read, 0.0) for read in instruction.reads()), default=0.0)
        longest = max(longest, start)
        if fence:
            wait = latency["global"] if name == "cp" else latency["barrier"]
            total += max(longest, issued, loads / outstanding * latency["global"]) + wait
            ready, longest, issued, loads = {}, 0.0, 0.0, 0
            continue
        if name in _FREE or parts[:2] == ("ld", "param"):
            after = 0.0
        else:
            issued += 1
            after = _latency(instruction, latency)
        loads += name in ("ld", "ldu") and "global" in parts
        for result in instruction.results:
            ready[result] = start + after
    return total + max(longest, issued, loads / outstanding * latency["global"])


def _latency(instruction: Instruction, latency: Mapping[str, float]) -> float:
    parts = instruction.parts
    if instruction.name in ("ld", "ldu", "atom", "ldmatrix") or parts[:2] == ("wmma", "load"):
        return latency["shared" if "shared" in parts else "global"]
    pipe, _ = _pipe(instruction)
    each = latency.get(pipe or "int", latency["int"])
    return each * _LONG.get(instruction.name, 1) if _is_long(instruction) else each


def _pipe(instruction: Instruction) -> tuple[Pipe | None, float]:
    """Which unit works on it, and how much."""
    name, parts = instruction.name, instruction.parts
    if name in _FREE or name in ("ld", "st", "ldu", "cp", "red", "atom", "ldmatrix", "stmatrix"):
        return None, 0.0
    if name in ("mma", "wmma"):
        shape = next((m for part in parts if (m := _SHAPE.fullmatch(part))), None)
        if shape is None or parts[1] in ("load", "store"):
            return None, 0.0
        operations = 2.0 * int(shape[1]) * int(shape[2]) * int(shape[3])
        rate = next((TENSOR_RATE[part] for part in parts if part in TENSOR_RATE), 1.0)
        return "tensor", operations / rate
    if name in ("bra", "bar", "barrier", "membar", "fence"):
        return "other", 1.0
    if name in ("shfl", "vote", "redux", "match"):
        return "shuffle", 1.0
    if name == "cvt":
        return "convert", 1.0
    kind = parts[-1]
    if name in _SPECIAL and kind in _FLOAT:
        if kind == "f64":
            return "fp64", 16.0
        return ("sfu", 1.0) if not _is_long(instruction) else ("fp32", float(_LONG[name]))
    if name in ("setp", "selp", "set"):
        return "int", 1.0
    if kind in _FLOAT:
        return _FLOAT[kind], 1.0
    amount = float(_LONG[name]) if name in _LONG and _is_long(instruction) else 1.0
    return "int", amount * (2.0 if kind.endswith("64") and name in ("mul", "mad") else 1.0)


def _is_long(instruction: Instruction) -> bool:
    """It becomes many instructions."""
    name, parts = instruction.name, instruction.parts
    if name not in _LONG:
        return False
    return "approx" not in parts and "full" not in parts


def _width(parts: tuple[str, ...]) -> float:
    match = _BYTES.fullmatch(parts[-1])
    each = int(match[1]) // 8 * int(match[2] or 1) if match else 4
    return float(each * next((int(p[1:]) for p in parts if p in ("v2", "v4", "v8")), 1))


def _fragment(
    instruction: Instruction, space: Space, kind: Literal["load", "store", "atomic"], base: str
) -> Request:
    """A matrix that a warp loads or stores together."""
    parts = instruction.parts
    m, n, k = next(
        (tuple(map(int, found.groups())) for p in parts if (found := _SHAPE.fullmatch(p))),
        (16, 16, 16),
    )
    elements = {"a": m * k, "b": k * n}.get(parts[2], m * n)
    element = max(int(_width(parts)), 1)
    return Request(
        space, kind, base, elements * element / 32, instruction.operands[-1], element, matrix=True
    )


def _bases(blocks: list[Block]) -> dict[str, frozenset[str]]:
    """The arrays and parameters that each register's address may come from."""
    found: dict[str, frozenset[str]] = {}
    makers = [
        i for block in blocks for i in block.instructions
        if i.results and i.name in ("mov", "add", "sub", "cvta", "mad", "ld", "selp", "cvt", "or")
        and (i.name != "ld" or i.parts[1] == "param")
    ]  # fmt: skip
    for _ in range(3):
        before = len(found), sum(map(len, found.values()))
        for instruction in makers:
            sources: set[str] = set()
            for operand in instruction.operands:
                if operand.startswith("%"):
                    sources |= found.get(operand, frozenset())
                elif instruction.name == "ld":
                    match = re.search(r"_param_(\d+)", operand)
                    sources |= {f"param{match[1]}"} if match else set()
                elif operand[:1].isalpha() or operand[:1] in "_$":
                    sources.add(operand)
            if sources:
                result = instruction.results[0]
                found[result] = found.get(result, frozenset()) | sources
        if before == (len(found), sum(map(len, found.values()))):
            break
    return found
