"""Which lines of the emitted CUDA text belong to a node of the nest, told from the names alone.

TVM keeps the names of loop variables and buffers in CUDA, and thread axes by their own name; what
can't be told apart (a name used twice) is marked in both places.
"""

from __future__ import annotations

import re

from explorer.model.nest import Block, Loop, Node
from explorer.model.result import Compiled

Ranges = list[list[int]]
_BOILERPLATE_END = re.compile(r'^\s*(extern "C"|__global__)')


def boilerplate(source: str) -> list[tuple[int, int, str]]:
    """The lines before the first kernel, as one fold (first, last, title); [] when few."""
    lines = source.splitlines()
    first = next((n for n, line in enumerate(lines, 1) if _BOILERPLATE_END.match(line)), 1)
    return [(1, first - 1, f"{first - 1} lines of definitions")] if first > 6 else []


def refused_lines(source: str, refused: tuple[Compiled, ...]) -> dict[int, str]:
    """What NVRTC said, by line of `source`.

    NVRTC counts in the text of one function; the same line is looked for in the whole text.  What
    ptxas refuses has no line: its kernel's head is taken.
    """
    lines = source.splitlines()
    found: dict[int, str] = {}
    for each in refused:
        kernel = re.search(r"[Ff]unction '(\w+)'", each.detail)
        if each.line is not None:
            told = [n for n, line in enumerate(lines, 1) if line.strip() == each.text.strip()]
        elif kernel is not None:
            head = re.compile(rf"__global__.*\b{kernel[1]}\(.*\{{")
            told = [n for n, line in enumerate(lines, 1) if head.search(line)]
        else:
            told = []
        if told:
            found[each.line if each.line in told else told[0]] = each.detail
    return found


def node_lines(node: Node | None, source: str) -> Ranges:
    """Line ranges (1-based, inclusive) of a loop or block in `source`; [] when it left no name."""
    if isinstance(node, Loop):
        if node.binding:
            return _containing(source, re.escape(node.binding))
        return loop_ranges(source, node.name)
    if isinstance(node, Block):
        names = sorted({access.buffer for access in node.writes})
        stores = "|".join(re.escape(_c_name(name)) for name in names)
        return _containing(source, rf"(?:{stores})(?:_ptr)?\[[^=]*\]\)*\s*=[^=]") if names else []
    return []


def buffer_lines(buffer: str, source: str) -> Ranges:
    """The lines that name a buffer."""
    return _containing(source, re.escape(_c_name(buffer)))


def loop_ranges(source: str, name: str) -> Ranges:
    """Every `for` over `name` with its body, by counting braces."""
    lines = source.splitlines()
    head = re.compile(rf"\bfor \(\w+ {re.escape(_c_name(name))}(?:_\d+)? = ")
    ranges: Ranges = []
    for n, line in enumerate(lines):
        if not head.search(line):
            continue
        depth, last = 0, n
        for last in range(n, len(lines)):
            depth += lines[last].count("{") - lines[last].count("}")
            if depth <= 0:
                break
        ranges.append([n + 1, last + 1])
    return ranges


def _c_name(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _containing(source: str, pattern: str) -> Ranges:
    word = re.compile(rf"(?<![\w.]){pattern}")
    return [[n, n] for n, line in enumerate(source.splitlines(), 1) if word.search(line)]
