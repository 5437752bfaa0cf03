"""Which step made the CUDA text one that NVRTC refuses.

A variant's earlier states are lowered and their texts compiled, by halves; compiled texts are kept
by content, so a text met before costs nothing.
"""

from __future__ import annotations

import msgspec

from explorer.engine import nvrtc
from explorer.engine.build import texts_by_function
from explorer.engine.replay import replay
from explorer.model.loaded import Source
from explorer.model.target import Target
from explorer.primitives import AnyStep


class Blame(msgspec.Struct, frozen=True):
    """The first step (1-based; 0: the module as loaded) after which a text is refused.

    `line` is the step's line of Python, "" for the module as loaded.
    """

    step: int
    line: str

    def sentence(self) -> str:
        """Where the refusal comes from, in words."""
        if not self.step:
            return "The module as loaded is refused already."
        return f"It is refused since step {self.step} ({self.line})."


def blame(
    source: Source, steps: tuple[AnyStep, ...], target: Target, function: str, arch: str
) -> Blame | None:
    """The step to blame for a refused text of `function`, compiled for `arch`.

    None when the text after all `steps` is not refused.  States without a kernel are passed over;
    equal texts are compiled once.  About 1 s for each doubling of the number of steps.  Raises
    ToolMissing, LoadError.
    """
    states = _texts(source, steps, target, function)

    def refused(at: int) -> bool:
        return not nvrtc.compile_text(states[at][1], arch).cubin

    if not states or not refused(len(states) - 1):
        return None
    good, bad = -1, len(states) - 1
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (good, middle) if refused(middle) else (middle, bad)
    step = states[bad][0]
    lines = replay(source, steps[:step]).steps[-1].lines if step else ()
    return Blame(step, lines[-1] if lines else "")


def _texts(
    source: Source, steps: tuple[AnyStep, ...], target: Target, function: str
) -> list[tuple[int, str]]:
    """The texts of `function` as the steps change them, each with the step it first came after."""
    found: list[tuple[int, str]] = []
    for count in range(len(steps) + 1):
        done = replay(source, steps[:count])
        if count and done.steps[-1].refusal is not None:
            continue
        text = texts_by_function(done.live.mod, done.state.nest, target, function).get(function)
        if text and (not found or found[-1][1] != text):
            found.append((count, text))
    return found
