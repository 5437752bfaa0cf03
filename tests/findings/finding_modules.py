"""Small modules for the checks, and a way to ask what is found in them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from tvm import s_tir

from explorer.engine.find import findings
from explorer.engine.load import module
from explorer.model.loaded import Source
from explorer.model.result import Finding
from explorer.targets.limits import complete

CASES = Path(__file__).parents[1] / "cases"
TAGS = {
    "nvidia/geforce-rtx-4090": "sm_89",
    "nvidia/nvidia-h100": "sm_90",
    "nvidia/nvidia-t4": "sm_75",
    "nvidia/nvidia-v100": "sm_70",
}


def text(signature: str, body: str, attrs: str = "", name: str = "main", head: str = "") -> str:
    """A module of one function; `body` is indented as it should stand in the function."""
    lines = [f"        {line}" for line in body.strip("\n").splitlines()]
    marks = '"tirx.noalias": True' + (f", {attrs}" if attrs else "")
    return "\n".join(
        ["@I.ir_module", "class Module:", f"    @T.prim_func(s_tir=True{head})",
         f"    def {name}({signature}):", f"        T.func_attr({{{marks}}})", *lines]
    ) + "\n"  # fmt: skip


def scale(n: int, *loops: tuple[str, int, str], index: str, dtype: str = "float32") -> str:
    """B[i] = A[i] * 2 for `n` elements under loops (name, extent, thread axis or "")."""
    lines = []
    for depth, (name, extent, axis) in enumerate(loops):
        head = f'T.thread_binding({extent}, thread="{axis}")' if axis else f"range({extent})"
        lines.append("    " * depth + f"for {name} in {head}:")
    pad = "    " * len(loops)
    lines += [
        f'{pad}with T.sblock("B"):',
        f"{pad}    v = T.axis.spatial({n}, {index})",
        f"{pad}    B[v] = A[v] * T.{dtype}(2)",
    ]
    buffer = f'T.Buffer(({n},), "{dtype}")'
    return text(f"A: {buffer}, B: {buffer}", "\n".join(lines))


def rows(m: int, n: int, i: str, j: str, value: str = "A[vi, vj] + T.float32(1)") -> str:
    """A two-dimensional elementwise function with `i` and `j` as loop heads."""
    body = f"""
for i in {i}:
    for j in {j}:
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = {value}
"""
    return text(f'A: T.Buffer(({m}, {n}), "float32"), B: T.Buffer(({m}, {n}), "float32")', body)


@lru_cache(maxsize=64)
def case(number: str) -> str:
    """The module text of a case."""
    (path,) = CASES.glob(f"{number}_*/module.py")
    return path.read_text(encoding="utf-8")


def case_schedule(number: str) -> Callable[[Any], None]:
    """The user's schedule of a case; the folder is ours, so it may be run."""
    (path,) = CASES.glob(f"{number}_*/sched.py")
    names: dict[str, Any] = {}
    exec(path.read_text(encoding="utf-8"), names)
    return names["apply"]


def found(
    source: str,
    schedule: Callable[[Any], None] | None = None,
    *,
    tag: str = "nvidia/geforce-rtx-4090",
    **sizes: int,
) -> tuple[Finding, ...]:
    """All findings in a module, after a schedule if there is one."""
    original = module(Source(source))
    sch = s_tir.Schedule(module(Source(source)))
    if schedule is not None:
        schedule(sch)
    return findings(original, sch.mod, complete(tag, TAGS[tag], {}), sizes)


def of(code: str, all_found: tuple[Finding, ...]) -> list[Finding]:
    """The findings of one code."""
    assert not [f for f in all_found if f.code == "check_failed"], all_found
    return [f for f in all_found if f.code == code]
