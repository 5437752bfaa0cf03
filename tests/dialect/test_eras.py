"""One program written in each era's dialect gives one and the same module."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tvm_ffi
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm import ir

from explorer.dialect import prepare
from explorer.engine.load import module
from explorer.model.loaded import Source

Spec = tuple[str, str, int, int, int, str]
"""Module and function name, three extents, dtype."""


def today(spec: Spec) -> str:
    mod, func, m, n, k, dtype = spec
    return f"""\
@I.ir_module
class {mod}:
    @T.prim_func(s_tir=True)
    def {func}(a: T.handle, b: T.handle, c: T.handle):
        T.func_attr({{"tirx.noalias": True}})
        A = T.match_buffer(a, ({m}, {k}), "{dtype}")
        B = T.match_buffer(b, ({k}, {n}), "{dtype}")
        C = T.match_buffer(c, ({m}, {n}), "{dtype}")
        D = T.sblock_alloc_buffer(({m}, {n}), "{dtype}")
        for i, j, k in T.grid({m}, {n}, {k}):
            with T.sblock("D"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads(A[vi, vk], B[vk, vj])
                T.writes(D[vi, vj])
                with T.init():
                    D[vi, vj] = T.{dtype}(0)
                D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid({m}, {n}):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(D[vi, vj])
                T.writes(C[vi, vj])
                T.sblock_attr({{"pragma_note": 1}})
                C[vi, vj] = T.max(D[vi, vj], T.{dtype}(0))
"""


def before_024(spec: Spec) -> str:
    text = today(spec).replace("T.sblock_alloc_buffer", "T.alloc_buffer")
    text = text.replace("T.sblock_attr", "T.block_attr").replace("T.sblock", "T.block")
    text = text.replace("@T.prim_func(s_tir=True)", "@T.prim_func")
    return "from tvm.script import ir as I, tir as T\n" + text.replace(
        "tirx.noalias", "tir.noalias"
    )


def year_2022(spec: Spec) -> str:
    text = before_024(spec).replace("@I.ir_module", "@tvm.script.ir_module")
    text = text.replace("T.reads(A[vi, vk], B[vk, vj])", "T.reads([A[vi, vk], B[vk, vj]])")
    text = text.replace("T.writes(D[vi, vj])", "T.writes([D[vi, vj]])")
    text = text.replace(", ir as I", "").replace("import ir as I, ", "import ")
    return "import tvm\n" + text


def brackets(spec: Spec) -> str:
    m, n, k, dtype = spec[2:]
    text = year_2022(spec)
    head = "(a: T.handle, b: T.handle, c: T.handle)"
    types = (
        f'(A: T.Buffer[({m}, {k}), "{dtype}"], B: T.Buffer[({k}, {n}), "{dtype}"], '
        f'C: T.Buffer[({m}, {n}), "{dtype}"])'
    )
    lines = [line for line in text.replace(head, types).split("\n") if "match_buffer" not in line]
    return "\n".join(lines)


def year_2021(spec: Spec) -> str:
    """The synr parser's dialect: axes in the block's head, bound one by one."""
    mod, func, m, n, k, dtype = spec
    return f"""\
import tvm
from tvm import tir
from tvm.script import ty

@tvm.script.ir_module
class {mod}:
    @tvm.script.tir
    def {func}(a: ty.handle, b: ty.handle, c: ty.handle) -> None:
        tir.func_attr({{"tir.noalias": True}})
        A = tir.match_buffer(a, [{m}, {k}], "{dtype}")
        B = tir.match_buffer(b, [{k}, {n}], "{dtype}")
        C = tir.match_buffer(c, [{m}, {n}], "{dtype}")
        D = tir.alloc_buffer([{m}, {n}], "{dtype}")
        reducer = tir.comm_reducer(lambda x, y: x + y, tir.{dtype}(0))
        for i, j, k in tir.grid({m}, {n}, {k}):
            with tir.block([{m}, {n}, tir.reduce_axis(0, {k})], "D") as [vi, vj, vk]:
                tir.bind(vi, i)
                tir.bind(vj, j)
                tir.bind(vk, k)
                tir.reads([A[vi, vk], B[vk, vj]])
                tir.writes([D[vi, vj]])
                with tir.init():
                    D[vi, vj] = tir.{dtype}(0)
                D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]
        with tir.block([{m}, {n}], "C") as [vi, vj]:
            tir.reads([D[vi, vj]])
            tir.writes([C[vi, vj]])
            tir.block_attr({{"pragma_note": 1}})
            C[vi, vj] = tir.max(D[vi, vj], tir.{dtype}(0))
"""


def half_migrated(spec: Spec) -> str:
    text = today(spec).replace("T.sblock_alloc_buffer", "T.alloc_buffer")
    return text.replace("(s_tir=True)", "").replace("tirx.noalias", "tir.noalias")


def renamed_imports(spec: Spec) -> str:
    text = before_024(spec).split("\n", 1)[1].replace("T.", "tirs.").replace("I.", "scripts.")
    return "from tvm.script import tir as tirs\nimport tvm.script.ir as scripts\n" + text


def constants(spec: Spec) -> str:
    m, n, k, dtype = spec[2:]
    text = before_024(spec)
    text = text.replace(f"({m}, {k}), ", "(M, K), ").replace(f"({m}, {n}), ", "(M, N), ")
    text = text.replace(f'"{dtype}"', "kind")
    return (
        f'import numpy as np\nM, N = {m}, {n}\nK: int = {k} * 2 // 2\nkind = "{dtype}"\n'
        f"x = np.ones((M, K))\n{text}\nprint(x)\n"
    )


def typographic(spec: Spec) -> str:
    text = year_2022(spec).replace("c: T.handle):", "c: T.handle) → None:")
    parts = text.split('"')
    text = "".join(part + ("“" if n % 2 == 0 else "”") for n, part in enumerate(parts[:-1]))
    return (text + parts[-1]).replace("    for", "\u00a0\u00a0\u00a0 for").replace("\n", "\r\n")


def prompts(spec: Spec) -> str:
    lines = before_024(spec).rstrip().split("\n")
    marks = [
        ">>> " if line and not line[0].isspace() and "class" not in line else "... "
        for line in lines
    ]
    return "\n".join(m + line for m, line in zip(marks, lines, strict=True)) + "\n>>> Module\nout\n"


def numbered(spec: Spec) -> str:
    lines = before_024(spec).rstrip().split("\n")
    return "\n".join(f"{n:4d} | {line}" for n, line in enumerate(lines, 1))


def fenced(spec: Spec) -> str:
    return f"I tried this:\n\n```python\n{before_024(spec)}```\n\nWhat is wrong with it?\n"


def prose(spec: Spec) -> str:
    body = before_024(spec).replace("\n", "\n    ")
    return f"Hi, I'm stuck with this module:\n\n    {body}\n\nIt doesn't build. Any ideas?\n"


def in_function(spec: Spec) -> str:
    body = before_024(spec).split("\n", 1)[1].replace("\n", "\n    ")
    return f"from tvm.script import tir as T\n\ndef get():\n    {body}\n    return {spec[0]}\n"


ERAS: list[Callable[[Spec], str]] = [
    before_024, year_2022, brackets, year_2021, half_migrated, renamed_imports, constants,
    typographic, prompts, numbered, fenced, prose, in_function,
]  # fmt: skip

NAMES = st.from_regex(r"[A-Z][a-z]{1,6}[0-9]?", fullmatch=True).filter(
    lambda name: name not in ("True", "None", "False", "Axis")
)
FUNCS = st.sampled_from(["main", "matmul", "mm_relu", "tir_fn", "ty", "dense0"])
SPECS = st.tuples(
    NAMES, FUNCS, st.integers(2, 96), st.integers(97, 300), st.integers(301, 999),
    st.sampled_from(["float32", "float16", "int32"]),
)  # fmt: skip


def same(left: ir.IRModule, right: ir.IRModule) -> bool:
    return tvm_ffi.structural_equal(left, right)


@pytest.mark.parametrize("era", ERAS, ids=lambda era: era.__name__)
@settings(max_examples=3, deadline=None)
@given(spec=SPECS)
def test_every_era_gives_todays_module(era: Callable[[Spec], str], spec: Spec) -> None:
    text = era(spec)
    loaded, expected = module(Source(text)), module(Source(today(spec)))
    assert same(loaded, expected)
    assert prepare(text).migrations


@settings(max_examples=10, deadline=None)
@given(spec=SPECS, pick=st.sampled_from(ERAS))
def test_migrating_twice_changes_nothing(spec: Spec, pick: Callable[[Spec], str]) -> None:
    once = prepare(pick(spec))
    twice = prepare(once.script.text)
    assert twice.script.text == once.script.text
    assert twice.migrations == ()


@settings(max_examples=10, deadline=None)
@given(spec=SPECS)
def test_todays_text_is_left_alone(spec: Spec) -> None:
    prepared = prepare(today(spec))
    assert prepared.script.text == today(spec).rstrip("\n")
    assert prepared.migrations == ()
    assert prepared.notes == ()


@pytest.mark.parametrize("era", ERAS, ids=lambda era: era.__name__)
def test_migrations_name_the_users_lines(era: Callable[[Spec], str]) -> None:
    spec = ("Mod", "main", 16, 128, 512, "float32")
    text = era(spec)
    lines = text.replace("\r\n", "\n").split("\n")
    for one in prepare(text).migrations:
        if one.rule in ("block", "tir-attribute", "var") and "\n" not in one.before:
            word = {"block": "block", "tir-attribute": "noalias", "var": "var"}[one.rule]
            assert word in lines[one.line - 1], one
