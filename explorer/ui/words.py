"""The words and tones of verdicts, launches and sizes: one place, so that they agree everywhere."""

from __future__ import annotations

import html
from typing import Literal

import msgspec

from explorer.model.nest import Block, Buffer, Loop, Node
from explorer.model.result import Build, Check, CheckStatus, FunctionBuild, Kernel, Time
from explorer.ui.ask import Result

Tone = Literal["good", "bad", "warn", "calm", "busy"]


class Badge(msgspec.Struct, frozen=True):
    """A short verdict with its tone, and the sentence behind it."""

    text: str
    tone: Tone
    why: str = ""


CHECKS: dict[CheckStatus, tuple[str, Tone]] = {
    "match": ("match", "good"),
    "mismatch": ("wrong result", "bad"),
    "out_of_bounds": ("out of bounds", "bad"),
    "race": ("race", "bad"),
    "deadlock": ("hangs", "bad"),
    "not_checked": ("not checked", "calm"),
}
_WORST: tuple[CheckStatus, ...] = (
    "out_of_bounds", "mismatch", "race", "deadlock", "not_checked", "match",
)  # fmt: skip
MISSING = {"not_lowered": "does not build", "partly_on_host": "partly on host"}
"""What a function lacks whose kernels are not all there, by the finding that says so."""
BUSY = Badge("building…", "busy", "The CUDA text is being made.")
CHECKING = Badge("checking…", "busy", "NVRTC compiles the kernels and the emulator runs them.")


def check_badge(check: Check) -> Badge:
    """One function's verdict."""
    text, tone = CHECKS[check.status]
    detail = " ".join(part for part in (check.detail, check.covered) if part)
    return Badge(text, tone, detail)


def worst(build: Build) -> Check | None:
    """The verdict that counts for a whole build; None when nothing in it is a kernel."""
    checks = [function.check for function in build.functions if function.kernels]
    return min(checks, key=lambda check: _WORST.index(check.status), default=None)


def result_badge(result: Result) -> Badge:
    """A variant's badge: the first thing that is wrong with it, else the verdict."""
    build = result.build
    if build is None:
        why = result.problem.what if result.problem is not None else ""
        return BUSY if result.waiting else Badge("does not build", "bad", why)
    bare = [f for f in build.functions if f.status == "no_kernel"]
    if bare:
        lacks = {_lack(build, function) for function in bare}
        text = lacks.pop() if len(lacks) == 1 else "no kernel"
        named = len(build.functions) > 1
        told = [f"{f.name}: {f.reason}" if named and f.reason else f.reason or f.name for f in bare]
        return Badge(text, "bad", " ".join(told))
    if build.status == "refused":
        return Badge("refused", "bad", build.reason)
    if build.status == "failed":
        return Badge("does not build", "bad", build.reason)
    if build.status == "not_applicable":
        return Badge("nothing to build", "calm", build.reason)
    verdict = worst(build)
    if verdict is not None and CHECKS[verdict.status][1] == "bad":
        return check_badge(verdict)
    wrong = [f for f in build.findings if f.severity == "error"]
    if wrong:
        return Badge("error", "bad", wrong[0].message)
    if result.waiting:
        return CHECKING
    return check_badge(verdict) if verdict is not None else Badge("built", "calm", "")


def _lack(build: Build, function: FunctionBuild) -> str:
    """What is wrong with a function whose kernels are not all there."""
    said = [MISSING.get(f.code, "") for f in build.findings if f.function == function.name]
    return next(filter(None, said), "does not build" if function.kernels else "no kernel")


def kernel_badge(build: Build, function: FunctionBuild, waiting: str) -> Badge:
    """The verdict of the function a kernel belongs to."""
    if function.status == "no_kernel":
        return Badge(_lack(build, function), "bad", function.reason)
    if waiting and function.check.status == "not_checked":
        return CHECKING
    return check_badge(function.check)


def launch(kernel: Kernel) -> str:
    """How a kernel is launched, e.g. "grid 8×1×1 · block 128×1×1 · 4 KB shared"."""
    parts = [f"grid {dims(kernel.grid)}", f"block {dims(kernel.block)}"]
    if kernel.shared_bytes:
        parts.append(f"{size(kernel.shared_bytes)} shared")
    if kernel.dynamic_shared_bytes:
        parts.append(f"{size(kernel.dynamic_shared_bytes)} dynamic shared")
    if kernel.launches != "1":
        parts.append(f"launched {kernel.launches} times")
    return " · ".join(parts)


def dims(extents: tuple[str, str, str]) -> str:
    """Extents as "8×4" without trailing ones."""
    shown = list(extents)
    while len(shown) > 1 and shown[-1] == "1":
        shown.pop()
    return "×".join(shown)


def size(nbytes: int) -> str:
    """Bytes in binary units, exact below 1 KiB."""
    value, unit = float(nbytes), "B"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            break
        value /= 1024
    return f"{value:.0f} {unit}" if value == int(value) else f"{value:.1f} {unit}"


def time_text(time: Time) -> str:
    """A median with its spread, or that there is none."""
    if time.status != "measured" or time.median_us is None:
        return "not measured"
    spread = ""
    if time.low_us is not None and time.high_us is not None:
        spread = f" ({time.low_us:.1f} to {time.high_us:.1f})"
    return f"{time.median_us:.1f} µs{spread}"


def kernels_of(build: Build) -> list[tuple[FunctionBuild, Kernel]]:
    """Every kernel with the function it came from."""
    return [(function, kernel) for function in build.functions for kernel in function.kernels]


def node_title(node: Node) -> str:
    """One line that says what a node is."""
    if isinstance(node, Loop):
        return f"Loop {node.name}"
    if isinstance(node, Block):
        return f"Block {node.name}"
    return "Statement"


def node_facts(node: Node) -> list[tuple[str, str]]:
    """What is known about a node, as (name, value) rows."""
    if isinstance(node, Loop):
        facts = [("extent", node.extent), ("kind", node.kind), ("runs", node.binding or node.mode)]
        facts += list(node.annotations)
        if node.inside_block:
            facts.append(("where", "inside a block's body"))
        return facts
    if isinstance(node, Block):
        facts = [(it.name, f"{it.kind}, {it.extent} values, = {it.value}") for it in node.iters]
        facts += [("reads", ", ".join(access.region for access in node.reads) or "nothing")]
        facts += [("writes", ", ".join(access.region for access in node.writes) or "nothing")]
        facts += [("starts with", "T.init")] if node.has_init else []
        facts += [("only where", node.predicate)] if node.predicate else []
        facts += [("allocates", ", ".join(node.allocates))] if node.allocates else []
        return facts + list(node.annotations)
    return [("text", node.text)]


def buffer_facts(buffer: Buffer) -> list[tuple[str, str]]:
    """What is known about a buffer."""
    facts = [
        ("shape", " × ".join(buffer.shape) or "scalar"), ("dtype", buffer.dtype),
        ("scope", buffer.scope), ("is", "a parameter" if buffer.param else "allocated here"),
    ]  # fmt: skip
    facts += [("strides", ", ".join(buffer.strides))] if buffer.strides else []
    facts += [("bytes", size(buffer.nbytes))] if buffer.nbytes is not None else []
    return facts


def facts_html(rows: list[tuple[str, str]]) -> str:
    """Rows as a definition list; everything escaped."""
    cells = "".join(
        f"<dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd>" for name, value in rows
    )
    return f'<dl class="facts">{cells}</dl>'


def badge_html(badge: Badge) -> str:
    """A badge as a span; its sentence is the tooltip."""
    return (
        f'<span class="badge {badge.tone}" title="{html.escape(badge.why)}">'
        f"{html.escape(badge.text)}</span>"
    )


def table_html(head: list[str], rows: list[list[str]], caption: str) -> str:
    """A table; `rows` are ready HTML, `head` and `caption` are text."""
    heads = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="tablewrap"><table class="grid"><caption>{html.escape(caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )
