"""The case modules, loaded as the app loads them, and what TVM did with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tvm import ir, script
from tvm.error import DiagnosticError

from explorer.engine.load import module
from explorer.engine.warm import warm
from explorer.model.loaded import Source
from explorer.model.target import Target

CASES = Path(__file__).parent.parent / "cases"
TARGET = Target(tag="nvidia/geforce-rtx-4090", kind="cuda", arch="sm_89")

HEAD = "@I.ir_module\nclass Module:\n"


@pytest.fixture(scope="session", autouse=True)
def _warm() -> None:
    warm()


def case_names() -> list[str]:
    return sorted(path.name for path in CASES.iterdir() if (path / "module.py").exists())


def load_case(name: str) -> ir.IRModule:
    return module(Source((CASES / name / "module.py").read_text()))


def load_raw(name: str) -> ir.IRModule:
    """The module as TVM alone reads it where it can, without our mending of index types."""
    try:
        return script.from_source((CASES / name / "module.py").read_text())
    except (DiagnosticError, ValueError, TypeError):
        return load_case(name)


OBSERVED = json.loads((Path(__file__).parent / "data" / "observed.json").read_text())
"""What TVM 0.27 did with each case: DefaultGPUSchedule's answer, and per rule and function."""


def load(*functions: str) -> ir.IRModule:
    """A module of functions written without the decorator line of the class."""
    body = "\n".join("    " + line for text in functions for line in text.strip("\n").splitlines())
    return module(Source(HEAD + body + "\n"))


def elementwise(name: str, *blocks: str, shape: str = "64, 48") -> str:
    """A function copying A to B through one nest a block name."""
    dims = shape.split(", ")
    loops = ", ".join(f"i{n}" for n in range(len(dims)))
    axes = ", ".join(f"v{n}" for n in range(len(dims)))
    kinds = "S" * len(dims)
    lines = [
        "@T.prim_func(s_tir=True)",
        f'def {name}(A: T.Buffer(({shape}), "float32"), B: T.Buffer(({shape}), "float32")):',
    ]
    source = "A"
    for n, _ in enumerate(blocks[:-1]):
        lines.append(f'    t{n} = T.sblock_alloc_buffer(({shape}), "float32")')
    for n, block in enumerate(blocks):
        goal = "B" if n == len(blocks) - 1 else f"t{n}"
        lines += [
            f"    for {loops} in T.grid({shape}):",
            f'        with T.sblock("{block}"):',
            f'            {axes} = T.axis.remap("{kinds}", [{loops}])',
            f"            {goal}[{axes}] = {source}[{axes}] * T.float32(2)",
        ]
        source = goal
    return "\n".join(lines)


MATMUL = """
@T.prim_func(s_tir=True)
def {name}(
    A: T.Buffer(({m}, {k}), "{dtype}"),
    B: T.Buffer(({k}, {n}), "{dtype}"),
    C: T.Buffer(({m}, {n}), "{dtype}"),
):
    for i, j, k in T.grid({m}, {n}, {k}):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.{dtype}(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def matmul(name: str = "main", k: int = 256, dtype: str = "float32") -> str:
    return MATMUL.format(name=name, m=256, n=256, k=k, dtype=dtype)
