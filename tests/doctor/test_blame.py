"""A text that NVRTC refuses is traced to the step that caused it."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer import workbench
from explorer.comparison import with_compiled
from explorer.model.loaded import Source
from explorer.primitives import Step
from explorer.targets import DEFAULT

CASES = Path(__file__).parents[1] / "cases"

SHARED = """\
def apply(sch):
    b = sch.get_sblock("B")
    i, j = sch.get_loops(b)
    sch.bind(i, "blockIdx.x")
    _, t = sch.split(j, [None, {threads}])
    sch.bind(t, "threadIdx.x")
    c = sch.cache_read(b, 0, "shared")
    sch.compute_at(c, i)
    sch.annotate(i, "pragma_note", 1)
"""


def source() -> Source:
    (path,) = CASES.glob("60_*/module.py")
    return Source(path.read_text())


def scheduled(threads: int) -> tuple[Step, ...]:
    text = SHARED.format(threads=threads)
    return workbench.steps_of(workbench.read_schedule(source(), text, ()))


@pytest.mark.parametrize("threads", [32, 256])
def test_the_step_that_made_the_text_too_large_is_named(threads: int) -> None:
    steps = scheduled(threads)
    built = workbench.build(source(), steps, DEFAULT, {})
    (word,) = workbench.compile_check(source(), steps, DEFAULT)
    assert word.status == "refused"
    assert word.step == 5
    assert word.step_line.startswith("sch.compute_at(")
    assert "since step 5 (sch.compute_at(" in word.detail
    found = with_compiled(built, (word,)).findings[-1]
    assert "Change step 5" in found.cure
    seen = workbench.analyse(source(), steps, DEFAULT, {})
    assert (seen.status, seen.step) == ("refused", 5)


def test_a_text_that_compiles_blames_nobody() -> None:
    (word,) = workbench.compile_check(source(), scheduled(256)[:3], DEFAULT)
    assert (word.status, word.step, word.step_line) == ("compiled", None, "")
