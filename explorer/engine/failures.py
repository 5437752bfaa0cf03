"""Why TVM could not lower a function, in one sentence; its own text is kept as details."""

from __future__ import annotations

import re
from collections.abc import Callable

from explorer.analysis.nests import leaf_blocks, regions
from explorer.model.nest import Function

Say = Callable[[Function, str], str]


def sentence(function: Function, failure: Exception) -> str:
    """The reason as one sentence with what to do, as far as the failure is of a known kind."""
    text = str(failure)
    for pattern, say in _KNOWN:
        if re.search(pattern, text):
            return say(function, text)
    return f"TVM can't lower {function.name}: {last_line(text)}"


_PLACE = re.compile(r"^\s*(Error in pass:|Location \(TVMScript\):)", re.MULTILINE)
"""From here on TVM shows the place: the function, its lines underlined."""
_CHECK = re.compile(r"^Check failed: .+?(?:\)| is false)\s?: (?=\S)")


def last_line(text: str) -> str:
    """The last line with words, free of error class names, C++ conditions and source positions."""
    words = _PLACE.split(text)[0]
    lines = [line.strip() for line in words.splitlines() if re.search(r"\w", line)]
    line = lines[-1] if lines else "it gives no reason."
    line = re.sub(r"^(\w*Error|error):\s*", "", line)
    line = _CHECK.sub("", line)
    return line if line.endswith((".", "?", "!")) else line + "."


def _global_scratch(function: Function, text: str) -> str:
    """A buffer that is made inside a kernel but lies in global memory."""
    inside = {
        access.buffer
        for region in regions(function)
        for block in region.blocks()
        for access in block.writes
    }
    outside = {
        access.buffer
        for block in leaf_blocks(function)
        if not any(block.id.startswith(region.root.id + "/") for region in regions(function))
        for access in (*block.reads, *block.writes)
    }
    names = [
        buffer.name
        for buffer in function.buffers
        if not buffer.param and buffer.scope == "global" and buffer.name in inside - outside
    ]
    what = f"Buffer {', '.join(names)}" if names else "A buffer"
    return (
        f"{what} is written and read inside one kernel but lies in global memory, which a kernel"
        " can't allocate. Use set_scope to put it in shared or local, or make it a parameter."
    )


def _extents(function: Function, text: str) -> str:
    """Loops of one kernel bound to the same axis with different extents."""
    for region in regions(function):
        for axis, loops in region.axes().items():
            extents = {loop.extent: loop for loop in loops}
            if len(extents) > 1:
                words = " and ".join(f"{loop.name} ({loop.extent})" for loop in extents.values())
                return (
                    f"Loops {words} of one kernel are bound to {axis} with different extents."
                    " Give them the same extent: split the larger one."
                )
    return f"One thread axis has different extents in one kernel: {last_line(text)}"


def _bfloat16(function: Function, text: str) -> str:
    return (
        "Host code would compute in bfloat16, which the host can't: bind the loops, so that the"
        " work is done in a kernel."
    )


def _unbounded(function: Function, text: str) -> str:
    """An array inside a kernel whose size hangs on a symbolic extent."""
    names = [
        buffer.name
        for buffer in function.buffers
        if not buffer.param and buffer.scope != "global" and buffer.nbytes is None
    ]
    if not names:
        return f"TVM can't lower {function.name}: {last_line(text)}"
    return (
        f"The size of {', '.join(names)} has no bound, because it hangs on a symbolic extent: TVM"
        " can't allocate it inside a kernel. Split the symbolic loop by a constant and compute the"
        " block at the inner tile."
    )


def _undefined(function: Function, text: str) -> str:
    """A variable of a loop that a step has replaced."""
    found = _NAMED.search(text)
    names = found[1].strip(" ,") if found else "A variable"
    return (
        f"{names} is used in {function.name}, but no loop and no parameter defines it any more: a "
        "step has replaced its loop, and a condition (T.where) still names it. Write the condition "
        "with the block's own variables."
    )


_NAMED = re.compile(r"variables \((.*?)\) are used, but are not passed in")
_KNOWN: tuple[tuple[str, Say], ...] = (
    (r"Cannot allocate global memory", _global_scratch),
    (r"bad optional access", _unbounded),
    (_NAMED.pattern, _undefined),
    (r"(?i)extent.*(mismatch|incompatible|conflict|inconsistent)|same thread.*extent", _extents),
    (r"dtype mismatch on BufferStore.*bfloat16", _bfloat16),
)
