"""Texts as people paste them: what is found, what is kept, what is said."""

# Programs stand in one line each, whatever their length.
# ruff: noqa: E501

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.dialect import prepare
from explorer.dialect.clean import clean
from explorer.dialect.constants import NotConstant, show
from explorer.dialect.script import Edit, Script
from explorer.engine.load import load, module
from explorer.errors import LoadError
from explorer.model.loaded import Source

FORUM = """\
@tvm.script.ir_module
class MyModuleVecAdd:
    @T.prim_func
    def main(A: T.Buffer((1024,), “float32”), B: T.Buffer((1024,), “float32”), \
C: T.Buffer((1024,), “float32”)) -> None:
        T.func_attr({“global_symbol”: “main”, “tir.noalias”: True})
        for i in T.grid(1024):
            with T.block(“C”):
                vi = T.axis.remap(“S”, [i])
                C[vi] = A[vi] + B[vi]
"""
PLAIN = """\
@I.ir_module
class {name}:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer(({n},), "float32")):
        for i in range({n}):
            with T.sblock("A"):
                vi = T.axis.spatial({n}, i)
                A[vi] = T.float32(1)
"""


def test_the_forum_text_loads_as_pasted() -> None:
    loaded = load(Source(FORUM))
    assert loaded.module == "MyModuleVecAdd"
    assert [func.name for func in loaded.nest.functions] == ["main"]
    assert {one.rule for one in loaded.migrations} == {
        "typography", "namespace", "s-tir-flag", "tir-attribute", "block",
    }  # fmt: skip


@pytest.mark.parametrize(
    "paste",
    [
        FORUM.replace("->", "→"),
        FORUM.replace("    ", "\u00a0\u00a0\u00a0\u00a0"),
        FORUM.replace("\n", "\r\n"),
        "\ufeff" + FORUM,
        FORUM.replace("1024", "10\u200b24"),
        FORUM.replace("    ", "\t"),
        "    " + FORUM.replace("\n", "\n    "),
        "> " + FORUM.replace("\n", "\n> "),
        FORUM.replace("->", "-&gt;").replace("“", "&quot;").replace("”", "&quot;"),
        "".join(f"{n}\t{line}\n" for n, line in enumerate(FORUM.rstrip().split("\n"), 7)),
        "".join(f"{n:3d} | {line}\n" for n, line in enumerate(FORUM.rstrip().split("\n"), 1)),
        "~~~\n" + FORUM + "~~~\n",
        "In [3]: " + FORUM.rstrip().replace("\n", "\n   ...: ") + "\nOut[3]: <module>\n",
        "%%time\n!pip install apache-tvm\n" + FORUM,
        "Hello!\n\n" + FORUM + "\nCan't get it to run :(\n",
        "Some words, then: code\n\n```py\n" + FORUM + "```",
    ],
)
def test_pasted_variants_give_the_same_module(paste: str) -> None:
    assert prepare(paste).script.text == prepare(FORUM).script.text


@settings(deadline=None, max_examples=60)
@given(st.text(st.characters(codec="ascii", exclude_characters="\t\r\v\f\0&"), max_size=300))
def test_cleaning_python_in_ascii_changes_nothing(text: str) -> None:
    code = "x = 1\n# " + text.replace("\n", " ") + "\n"
    script, migrations, notes = clean(code)
    assert script.text == code
    assert migrations == []
    assert notes == []


@pytest.mark.parametrize("case", sorted(Path(__file__).parents[1].glob("cases/*/*.py")), ids=str)
def test_cleaning_leaves_the_cases_alone(case: Path) -> None:
    text = case.read_text()
    assert clean(text)[0] == Script.of(text)


@settings(deadline=None, max_examples=60)
@given(st.text("ab\n", max_size=40), st.data())
def test_edits_keep_the_lines_of_what_they_leave(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(at, len(text)))
    new = data.draw(st.text("xy\n", max_size=10))
    script = Script.of(text).apply([Edit(at, end, new)])
    assert script.text == text[:at] + new + text[end:]
    assert len(script.origin) == script.text.count("\n") + 1
    assert list(script.origin) == sorted(script.origin)


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=400))
def test_any_text_loads_or_is_refused(text: str) -> None:
    try:
        prepare(text)
    except LoadError as error:
        assert error.problem.what.endswith((".", ")", "”"))


@settings(deadline=None, max_examples=60)
@given(st.integers(0, len(FORUM)), st.integers(0, 30))
def test_a_damaged_module_loads_or_is_refused(at: int, count: int) -> None:
    try:
        load(Source(FORUM[:at] + FORUM[at + count :]))
    except LoadError as error:
        assert error.problem.what


# Several modules, constants, code around


def test_every_module_of_a_text_can_be_loaded() -> None:
    text = PLAIN.format(name="One", n=8) + PLAIN.format(name="Two", n=16)
    assert load(Source(text)).modules == ("One", "Two")
    assert load(Source(text, "Two")).nest.functions[0].buffers[0].shape == ("16",)
    with pytest.raises(LoadError, match="no module Three"):
        load(Source(text, "Three"))


def test_bare_functions_are_modules_of_their_own() -> None:
    body = PLAIN.split("\n", 2)[2].replace("\n    ", "\n")[4:].format(n=8)
    text = body + "\n\n" + body.replace("main", "second")
    loaded = load(Source(text, "second"))
    assert loaded.modules == ("main", "second")
    assert [func.name for func in loaded.nest.functions] == ["second"]


@pytest.mark.parametrize(
    ("constants", "value"),
    [
        ("N = 128", 128),
        ("N: int = 4", 4),
        ("M = 8\nN = M * 2 + (M // 4)", 18),
        ("M, N = 3, 5", 5),
        ("shape = (16, 32)\nN = shape[1]", 32),
        ("shape = (16, 32)\n_, N = shape", 32),
        ("N = 1\nN = 64", 64),
        ("N = 8\nN *= 4", 32),
        ("import math\nN = math.ceil(100 / 32) * 32", 128),
        ("BIG = True\nN = 256 if BIG else 16", 256),
        ("cfg = {'n': 96}\nN = cfg['n']", 96),
        ("N = 1 << 6", 64),
        ("N = min(10, 20)", 10),
        ("a = b = N = 7", 7),
    ],
)
def test_simple_constants_are_worked_out(constants: str, value: int) -> None:
    text = constants + "\n" + PLAIN.format(name="Mod", n="N")
    loaded = load(Source(text))
    assert dict(loaded.constants) == {"N": str(value)}
    assert loaded.nest.functions[0].buffers[0].shape == (str(value),)


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ("x = np.ones(4)\nN = x.shape[0]", 2),
        ("N = int(input())", 1),
        ("for N in range(4):\n    pass", 1),
        ("from config import N", 1),
        ("def N():\n    return 4", 1),
        ("N = 4\nN = f(N)", 2),
    ],
)
def test_other_values_are_named_with_their_line(before: str, line: int) -> None:
    with pytest.raises(LoadError, match="N is not a simple constant") as caught:
        prepare(before + "\n" + PLAIN.format(name="Mod", n="N"))
    problem = caught.value.problem
    assert f"line {line}" in problem.why
    assert "N = 128" in problem.do
    assert problem.line == before.count("\n") + 5


@settings(deadline=None, max_examples=60)
@given(
    st.recursive(
        st.one_of(st.integers(-(2**60), 2**60), st.booleans(), st.floats(allow_nan=False),
                  st.text("ab\"\\\n '", max_size=5), st.none()),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.tuples(inner, inner)),
        max_leaves=6,
    )
)  # fmt: skip
def test_constants_are_written_as_python_reads_them(value: object) -> None:
    import ast

    try:
        text = show(value)
    except NotConstant:
        assert "inf" in repr(value)
        return
    assert ast.literal_eval(text) == value


def test_schedule_code_behind_the_module_is_handed_on() -> None:
    text = PLAIN.format(name="Mod", n=64) + (
        "\nfactor = 16\nsch = tvm.tir.Schedule(Mod)\nblock = sch.get_block('A')\n"
        "(i,) = sch.get_loops(block)\nprint(sch.mod)\n"
        "i0, i1 = sch.split(i, [None, factor])\nsch.bind(i0, 'blockIdx.x')\n"
        "f = tvm.build(sch.mod, target='cuda')\n"
    )
    loaded = load(Source(text))
    assert loaded.schedule == (
        "factor = 16\nblock = sch.get_block('A')\n(i,) = sch.get_loops(block)\n"
        "i0, i1 = sch.split(i, [None, factor])\nsch.bind(i0, 'blockIdx.x')\n"
    )
    assert any("can be opened as steps" in note.message for note in loaded.notes)
    lines = [note.message for note in loaded.notes if note.message.startswith("Line")]
    assert lines == [
        "Line 14: code around the module, not run.",
        "Line 17: assignments that the module does not use, left alone.",
    ]


def test_a_schedule_function_is_handed_on() -> None:
    function = "def tune(sch):\n    b = sch.get_block('A')\n    sch.parallel(sch.get_loops(b)[0])\n"
    loaded = load(Source(PLAIN.format(name="Mod", n=64) + "\n" + function))
    assert loaded.schedule == function.rstrip("\n")


def test_a_schedule_of_another_module_is_not_handed_on() -> None:
    text = PLAIN.format(name="One", n=8) + PLAIN.format(name="Two", n=16)
    text += "s = tir.Schedule(Two)\ns.get_block('A')\n"
    assert load(Source(text, "One")).schedule == ""
    assert load(Source(text, "Two")).schedule == "s.get_block('A')\n"


def test_a_notebook_is_read_by_its_cells() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n"]},
        {"cell_type": "code", "source": ["import tvm\n", "N = 32"]},
        {"cell_type": "code", "source": PLAIN.format(name="Mod", n="N").splitlines(keepends=True)},
        {"cell_type": "code", "source": ["%time f()"]},
    ]
    text = json.dumps({"cells": cells, "nbformat": 4}, indent=1)
    loaded = load(Source(text))
    assert loaded.constants == (("N", "32"),)
    line = next(one.line for one in loaded.migrations if one.rule == "constant")
    assert "(N,)" in text.split("\n")[line - 1]


# Every kind of module


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        (PLAIN.format(name="Empty", n=0), ()),
        ('n = TypeVar("n")\n' + PLAIN.format(name="Dyn", n="n"), ("n",)),
        (PLAIN.format(name="Quoted", n=4).replace("((4,)", '(("m",)'), ("m",)),
        (
            "@T.prim_func(s_tir=True)\ndef f(a: T.handle):\n    s = T.int32()\n"
            "    A = T.match_buffer(a, (4, 4), strides=(s, 1))\n    A[0, 0] = 1.0\n",
            ("s",),
        ),
        ("@T.prim_func(s_tir=True)\ndef f(A: T.Buffer((), 'int32')):\n    A[()] = 1\n", ()),
        (
            "@T.prim_func(private=True, s_tir=True)\ndef f(A: T.Buffer((4,), 'int8')):\n"
            "    for i in T.thread_binding(4, thread='threadIdx.x'):\n        A[i] = T.int8(1)\n",
            (),
        ),
    ],
)
def test_kinds_of_modules(text: str, symbols: tuple[str, ...]) -> None:
    assert load(Source(text)).symbols == symbols


def test_what_tvm_prints_is_read_again() -> None:
    mod = module(Source('n = TypeVar("n")\n' + PLAIN.format(name="Dyn", n="n")))
    printed = prepare(mod.script())
    assert printed.migrations == ()
    assert module(Source(mod.script())).script() == mod.script()


SPLIT = """\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8,), "float32")):
        T.call_ffi_kernel("main_kernel", A.data, 8, launch_params=["threadIdx.x"], ret_ty="int32")

    @T.prim_func(private=True, s_tir=True)
    def main_kernel(p: T.handle("float32", "global")):
        A = T.decl_buffer((8,), data=p)
        t = T.launch_thread("threadIdx.x", 8)
        A[t] = T.float32(1)
"""


def test_a_module_split_into_host_and_device_loads() -> None:
    functions = load(Source(SPLIT)).nest.functions
    assert {func.name for func in functions} == {"main", "main_kernel"}
    with pytest.raises(LoadError, match="foreign function 'other'"):
        load(Source(SPLIT.replace('kernel("main_kernel"', 'kernel("other"')))


def test_metadata_is_explained() -> None:
    text = PLAIN.format(name="Mod", n=8).replace("T.float32(1)", 'metadata["relax"][0]')
    with pytest.raises(LoadError, match="metadata"):
        load(Source('metadata = tvm.ir.load_json("{}")\n' + text))


def test_a_module_given_out_may_be_changed() -> None:
    source = Source(PLAIN.format(name="Mod", n=8))
    first = module(source)
    for name in first.get_global_vars():
        del first[name]
    assert len(module(source).get_global_vars()) == 1


# What is no module, and what TVM complains about


@pytest.mark.parametrize(
    ("text", "what", "do"),
    [
        ("", "empty", "sample"),
        ("  \n\n", "empty", "sample"),
        ("please help me with this", "no TVMScript module", "sample"),
        ("MZ\0\0\x01binary", "not a text file", ".py"),
        ("\ufffd" * 20, "not a text file", ".py"),
        ('extern "C" __global__ void k(float* A) {}', "C or CUDA", "mod.script()"),
        ("#include <cuda.h>\nint main() {}", "C or CUDA", "mod.script()"),
        ("def tune(sch):\n    b = sch.get_block('C')\n", "schedule without", "Load the module first"),
        ('[[["GetBlock", [], ["C"], ["b0"]]], []]', "trace", "Load the module first"),
        ('{"a": 1}', "JSON", ".ipynb"),
        ('{"cells": []}', "notebook", "cell"),
        ('{"source": {}, "variants": []}', "experiment file", "Open experiment"),
        ("Traceback (most recent call last):\n  File x\nTVMError: x", "error text", "Paste the module"),
        ("RuntimeError: Memory verification failed. Did you forget to bind?", "error text", "module"),
        ("A = te.placeholder((4,))\nB = te.compute((4,), lambda i: A[i])", "tensor expressions", "script()"),
        ("<!DOCTYPE html><html></html>", "web page", "Copy"),
        ("import torch\nx = torch.ones(3)", "model", "Import"),
        ("import os\nprint(1)", "no TVMScript module", "Paste"),
        ("primfn(A_1: handle) -> ()", "before TVMScript", "mod.script()"),
        ("@triton.jit\ndef f(x):\n    tl.store(x, 1)", "Triton", "TVMScript"),
    ],
)  # fmt: skip
def test_what_is_no_module_is_recognised(text: str, what: str, do: str) -> None:
    with pytest.raises(LoadError) as caught:
        load(Source(text))
    assert what in caught.value.problem.what
    assert do in caught.value.problem.do


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("A[vi] =", "A[vi, vi] =", 8, "number of indices"),
        ('"float32"', '"float23"', 4, "not a data type"),
        ("T.sblock", "T.sblokc", 6, "T.sblokc is not TVMScript"),
        ("range(8)", "T.rang(8)", 5, "T.rang is not TVMScript"),
        ("range(8)", "A", 5, "not a loop"),
        ("A[vi] =", "Q[vi] =", 8, "Q is not known"),
        ('def main(A: T.Buffer((8,), "float32"))', "def main(A)", 4, "has no type"),
        ("for i in", "for i, j in", 5, "number of names"),
        ("range(8):", "range(8)", 5, "not Python"),
        ("T.float32(1)", "T.float32(1", 8, "not Python"),
        ("T.axis.spatial(8, i)", 'T.axis.remap("SS", [i])', 7, "number of names"),
    ],
)
def test_complaints_are_at_the_users_line(old: str, new: str, line: int, what: str) -> None:
    """Three lines of prose in front: the line is the one of the pasted text."""
    text = "# one\n# two\nimport tvm\n" + PLAIN.format(name="Mod", n=8).replace(old, new, 1)
    with pytest.raises(LoadError) as caught:
        load(Source(text))
    problem = caught.value.problem
    assert what in problem.what
    assert problem.line == line + 3
    assert problem.do
    assert "Traceback" not in problem.what + problem.why


def test_python_min_of_expressions_is_explained() -> None:
    text = PLAIN.format(name="Mod", n=8).replace("T.float32(1)", "min(A[0], A[1])")
    with pytest.raises(LoadError, match=r"Write T\.min"):
        load(Source(text))


def test_a_module_of_relax_functions_alone_says_what_to_do() -> None:
    text = (
        "@I.ir_module\nclass Mod:\n    @R.function\n"
        "    def main(x: R.Tensor((4,), 'float32')) -> R.Tensor((4,), 'float32'):\n"
        "        return R.add(x, x)\n"
    )
    with pytest.raises(LoadError, match="Relax functions only") as caught:
        load(Source(text))
    assert "LegalizeOps" in caught.value.problem.do


def test_emit_te_is_not_called(tmp_path: Path) -> None:
    text = PLAIN.format(name="Mod", n=8) + (
        "    @R.function\n    def r(x: R.Tensor((4,), 'float32')):\n"
        f"        y = R.emit_te(lambda t: open({str(tmp_path / 'canary')!r}, 'w'), x)\n        return y\n"
    )
    assert [func.name for func in load(Source(text)).nest.functions] == ["main"]
    assert not (tmp_path / "canary").exists()
