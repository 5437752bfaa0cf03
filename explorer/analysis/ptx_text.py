"""PTX of one kernel as basic blocks of instructions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_COMMENT = re.compile(r"//[^\n]*")
_LABEL = re.compile(r"\s*([$\w]+):")
_INSTRUCTION = re.compile(r"(?:@(!?)(%\w+)\s+)?([a-z]\w*(?:[.:]+\w+)*)\s*(.*)", re.DOTALL)
_REGISTER = re.compile(r"%[\w$]+(?:\.[xyz])?")
_STORES = ("st", "red", "bra", "ret", "exit", "bar", "barrier", "membar", "fence", "cp", "trap",
           "prefetch", "brkpt", "nanosleep", "stmatrix")  # fmt: skip
"""Operations whose first operand is no result."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.  `operands` come after the results; memory operands keep their brackets."""

    parts: tuple[str, ...]
    """The operation and its modifiers: ("ld", "global", "nc", "f32")."""
    results: tuple[str, ...]
    operands: tuple[str, ...]
    guard: str = ""
    negated: bool = False

    @property
    def name(self) -> str:
        """The operation without modifiers."""
        return self.parts[0]

    def reads(self) -> list[str]:
        """The registers it reads."""
        found = [name for operand in self.operands for name in _REGISTER.findall(operand)]
        return [*found, self.guard] if self.guard else found


@dataclass(slots=True)
class Block:
    """Instructions without a branch or a label between them, and where they lead.

    `target` is the block a branch goes to, `following` the next block in the text where control may
    fall through to it; None where it does not.
    """

    instructions: list[Instruction] = field(default_factory=list)
    target: int | None = None
    following: int | None = None

    @property
    def branch(self) -> Instruction | None:
        """The branch at its end."""
        last = self.instructions[-1] if self.instructions else None
        return last if last is not None and last.name == "bra" else None


def blocks_of(kernel: str) -> list[Block]:
    """The basic blocks of a kernel's PTX in the order of the text, the entry first."""
    body = _COMMENT.sub("", kernel)
    body = body[body.index("{") + 1 : body.rindex("}")]
    blocks = [Block()]
    labels: dict[str, int] = {}
    for statement in body.split(";"):
        while label := _LABEL.match(statement):
            if blocks[-1].instructions:
                blocks.append(Block())
            labels[label[1]] = len(blocks) - 1
            statement = statement[label.end() :]
        instruction = _parsed(statement.strip().lstrip("{}").strip())
        if instruction is not None:
            blocks[-1].instructions.append(instruction)
            if instruction.name in ("bra", "ret", "exit", "trap", "brx"):
                blocks.append(Block())
    for at, block in enumerate(blocks):
        last = block.instructions[-1] if block.instructions else None
        ends = last is not None and last.name in ("bra", "ret", "exit", "trap", "brx")
        if last is not None and last.name == "bra":
            block.target = labels.get(last.operands[-1])
        if (not ends or (last is not None and last.guard)) and at + 1 < len(blocks):
            block.following = at + 1
    return blocks


def _parsed(text: str) -> Instruction | None:
    """One statement; None for a directive or nothing."""
    if not text or text.startswith("."):
        return None
    match = _INSTRUCTION.match(text)
    if match is None:
        return None
    parts = tuple(re.split(r"[.:]+", match[3]))
    operands = _split(match[4])
    results: tuple[str, ...] = ()
    if operands and parts[0] not in _STORES and parts[:2] != ("wmma", "store"):
        results = tuple(_REGISTER.findall(operands[0]))
        operands = operands[1:] if results else operands
    return Instruction(parts, results, tuple(operands), match[2] or "", bool(match[1]))


def _split(text: str) -> list[str]:
    """Operands, at the commas outside of braces and brackets."""
    if "{" not in text and "[" not in text:
        return [part.strip() for part in text.split(",")] if text else []
    found: list[str] = []
    depth = start = 0
    for at, char in enumerate(text):
        if char in "{[(":
            depth += 1
        elif char in "}])":
            depth -= 1
        elif char == "," and depth == 0:
            found.append(text[start:at].strip())
            start = at + 1
    found.append(text[start:].strip())
    return found
