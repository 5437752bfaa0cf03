"""Each migration rule on programs of its era; every result is read by TVM."""

# Programs stand in one line each, whatever their length.
# ruff: noqa: E501

from __future__ import annotations

import pytest

from explorer.dialect.rules import RULES
from explorer.engine.load import load
from explorer.errors import LoadError
from explorer.model.loaded import Loaded, Source


def func(body: str, params: str = "", decorator: str = "@T.prim_func") -> str:
    """A function with 8-element float32 buffers A and B."""
    params = params or 'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")'
    lines = "\n".join("    " + line for line in body.strip("\n").split("\n"))
    return f"{decorator}\ndef main({params}):\n{lines}\n"


def loop(statement: str, before: str = "", block: str = "T.sblock") -> str:
    """The statement in a block of an 8-iteration loop."""
    inner = "\n".join("        " + line for line in statement.split("\n"))
    return f'{before}for i in range(8):\n    with {block}("B"):\n        vi = T.axis.spatial(8, i)\n{inner}'


S_TIR = "@T.prim_func(s_tir=True)"
COPY = "B[vi] = A[vi]"

EXAMPLES: dict[str, list[tuple[str, str]]] = {
    "script-decorator": [
        (func(loop(COPY), decorator="@tvm.script.tir"), "@T.prim_func(s_tir=True)"),
        (func(loop(COPY), decorator="@tvm.hybrid.script"), "@T.prim_func(s_tir=True)"),
    ],
    "namespace": [
        (func(loop(COPY), decorator="@tir.prim_func"), "@T.prim_func(s_tir=True)"),
        ("from tvm.script import tirx as X\n" + func(loop(COPY)).replace("T.", "X."), "T.axis.spatial"),
        ("import tvm.script as ts\n@ts.ir_module\nclass M:\n    " + func(loop(COPY)).replace("\n", "\n    "),
         "@I.ir_module"),
        ("from tvm.script.tir import prim_func\n" + func(loop(COPY), decorator="@prim_func"), "@T.prim_func"),
        (func(loop("B[vi] = tvm.tir.exp(A[vi])")), "B[vi] = T.exp(A[vi])"),
        # A loop called `ty` is no module of types.
        (func("for ty in range(8):\n    B[ty] = A[ty]", "A: T.Buffer((8,)), B: T.Buffer((8,))", S_TIR)
         .replace("T.Buffer((8,))", 'tir.Buffer((8,), "float32")'), "B[ty] = A[ty]"),
    ],
    "module-decorator": [("class M:\n    " + func(loop(COPY)).replace("\n", "\n    "), "@I.ir_module\nclass M:")],
    "function-decorator": [
        ("@tvm.script.tir\nclass M:\n    def f(a: ty.handle) -> None:\n"
         "        A = tir.match_buffer(a, (4, 4))\n        with tir.block([4, 4], 'A') as [vi, vj]:\n"
         "            A[vi, vj] = 1.0\n", "    @T.prim_func(s_tir=True)\n    def f("),
    ],
    "block-axes": [
        (func('for i in T.grid(8):\n    with T.block([8], "B") as [vi]:\n        T.bind(vi, i)\n        B[vi] = A[vi]'),
         "vi = T.axis.spatial(8, i)"),
        (func('with T.block([8], "B") as vi:\n    B[vi] = A[vi]'), "for i in range(8):\n            with T.sblock"),
        (func('for x in range(8):\n    with T.block([8], "B") as [v]:\n        B[v] = A[v]'), "v = T.axis.spatial(8, x)"),
        (func('with T.block([8, T.reduce_axis(0, 8)], "B") as [vi, vk]:\n    with T.init():\n        B[vi] = 0.0\n'
              "    B[vi] += A[vk]"), "for i, k in T.grid(8, 8):"),
        (func('with T.block([8, T.reduce_axis(0, 8)], "B") as [vi, vk]:\n    with T.init():\n        B[vi] = 0.0\n'
              "    B[vi] += A[vk]"), "vk = T.axis.reduce(8, k)"),
        (func('for i in range(4):\n    with T.block([T.range(2, 6)], "B") as [v]:\n        T.bind(v, i + 2)\n'
              "        B[v] = A[v]"), "v = T.axis.spatial((2, 6), i + 2)"),
        (func('with T.block([], "root"):\n    for i in range(8):\n        with T.block([8], "B") as [vi]:\n'
              "            T.bind(vi, i)\n            B[vi] = A[vi]"), 'with T.sblock("root"):'),
        (func('for i in range(10):\n    with T.block([8], "B") as [vi]:\n        T.where(i < 8)\n'
              "        T.bind(vi, i)\n        T.reads([A[vi]])\n        T.writes([B[vi]])\n        B[vi] = A[vi]"),
         "T.where(i < 8)"),
    ],
    "block": [(func(loop(COPY, block="T.block")), 'with T.sblock("B"):')],
    "block-attr": [(func(loop('T.block_attr({"pragma_x": 1})\n' + COPY, block="T.block")), 'T.sblock_attr({"pragma_x": 1})')],
    "buffer-bind": [(func(loop("B[vi] = 1.0", 'B = T.buffer_bind(b, (8,), "float32")\n'), "b: T.handle"),
                     'T.match_buffer(b, (8,), "float32")')],
    "buffer-allocate": [
        (func(loop("C[vi] = A[vi]\nB[vi] = C[vi]", 'C = T.buffer_allocate((8,), "float32")\n', "T.block")),
         "C = T.sblock_alloc_buffer("),
    ],
    "buffer-decl": [(func('C = T.buffer_decl([8], "float32", data=A.data)\nB[0] = C[0]', decorator=S_TIR), "C = T.decl_buffer(")],
    "access-list": [
        (func(loop("T.reads([A[vi]])\nT.writes([B[vi]])\n" + COPY)), "T.reads(A[vi])"),
        (func(loop("T.reads([])\nT.writes([B[vi]])\nB[vi] = 1.0")), "T.reads()"),
    ],
    "unused-reducer": [(func("r = T.comm_reducer(lambda x, y: x + y, [T.float32(0)])\n" + loop(COPY)), "for i in range(8)")],
    "buffer-brackets": [
        (func(loop(COPY), 'A: T.Buffer[(8,), "float32"], B: T.Buffer[8, "float32"]'), 'A: T.Buffer((8,), "float32")'),
        (func(loop(COPY), "A: T.Buffer[(8,)], B: T.Buffer[8]"), "B: T.Buffer(8)"),
        (func("A[0, 0] = 1.0", "A: T.Buffer[(4, 4)]", S_TIR), "A: T.Buffer((4, 4))"),
        (func("A[0, 0] = 1.0", "A: T.Buffer[4, 4]", S_TIR), "A: T.Buffer((4, 4))"),
    ],
    "pointer": [
        (func(loop("B[vi] = 1.0", "B = T.match_buffer(b, (8,))\n"), "b: T.Ptr[T.float32]"), 'b: T.handle("float32")'),
        (func(loop("B[vi] = 1.0", "B = T.match_buffer(b, (8,))\n"), "b: T.Ptr(T.float32, 'global')"), "b: T.handle(\"float32\", 'global')"),
    ],
    "buffer-keywords": [
        (func(loop("B[vi] = 1.0", 'B = T.match_buffer(b, (8,), "float32", axis_separators=[], buffer_type="auto")\n'),
              "b: T.handle"), 'T.match_buffer(b, (8,), "float32")'),
    ],
    "preflattened": [(func("T.preflattened_buffer(A, [2, 4], data=A.data)\n" + loop(COPY)), "for i in range(8)")],
    "block-buffer": [
        (func(loop("C[vi] = A[vi]\nB[vi] = C[vi]", "C = T.alloc_buffer((8,))\n"), decorator=S_TIR), "C = T.sblock_alloc_buffer((8,))"),
        (func(loop("C[0] = A[vi]\nB[vi] = C[0]".replace("C[0] =", 'C = T.alloc_buffer((1,), scope="local")\nC[0] =', 1))),
         'C = T.sblock_alloc_buffer((1,), scope="local")'),
    ],
    "with-statement": [
        (func('with T.allocate([8], "float32", "local") as C:\n    C[0] = A[0]\n    B[0] = C[0]'),
         'C = T.alloc_buffer([8], "float32", scope="local")\n        C[0] = A[0]'),
        (func("with T.LetStmt(A[0] + 1.0) as x:\n    B[0] = x\n    B[1] = x"), "x: T.let = A[0] + 1.0\n        B[0] = x"),
    ],
    "allocate": [
        (func('C = T.allocate([8], "float32", "local")\nC_1 = T.Buffer((8,), data=C, scope="local")\nC_1[0] = A[0]\nB[0] = C_1[0]'),
         "data=C.data"),
    ],
    "local-buffer": [(func("C = T.Buffer((2, 4), data=A.data)\nB[0] = C[0, 0]", decorator=S_TIR), "C = T.decl_buffer(")],
    "float8": [
        (func(loop('B[vi] = T.Cast("float32", A[vi])'), 'A: T.Buffer((8,), "e4m3_float8"), B: T.Buffer((8,), "float32")'),
         '"float8_e4m3fn"'),
        (func(loop("B[vi] = T.e5m2_float8(1.0)"), 'B: T.Buffer((8,), "e5m2_float8")'), "T.float8_e5m2(1.0)"),
    ],
    "var": [
        (func("n = T.var('int64')\nA = T.match_buffer(a, (n,))\n" + loop("A[vi] = 1.0").replace("8", "n"), "a: T.handle"), "n = T.int64()"),
        (func("n = T.int32(is_size_var=True)\nA = T.match_buffer(a, (n,))\nA[0] = 1.0", "a: T.handle", S_TIR), "n = T.int32()"),
        (func("n = T.SizeVar('n', 'int32')\nA = T.match_buffer(a, (n,))\nA[0] = 1.0", "a: T.handle", S_TIR), "n = T.int32()"),
    ],
    "const": [(func(loop('B[vi] = tir.const(2, "float32")')), "B[vi] = T.float32(2)")],
    "scalar": [
        (func(loop("x = A[vi] * 2.0\nB[vi] = x")), "x: T.let = A[vi] * 2.0"),
        (func(loop("x: T.float32 = A[vi]\ny = T.exp(x)\nB[vi] = y")), "x: T.let[T.float32] = A[vi]"),
    ],
    "foreign-call": [(func(loop('B[vi] = T.call_extern("sqrtf", A[vi], dtype="float32")')), 'T.call_extern("float32", "sqrtf", A[vi])')],
    "tir-attribute": [
        (func('T.func_attr({"global_symbol": "main", "tir.noalias": True})\n' + loop(COPY)), '"tirx.noalias": True'),
        (func('T.func_attr({"tir.is_scheduled": 1})\n' + loop(COPY)), '"tirx.is_scheduled": 1'),
    ],
    "attribute-boolean": [
        (func('T.func_attr({"global_symbol": "main", "tir.noalias": T.bool(True)})\n' + loop(COPY)), '"tirx.noalias": True'),
        (func('T.func_attr({"tirx.noalias": T.bool(1), "tirx.is_scheduled": T.bool(False)})\n' + loop(COPY)), '"tirx.is_scheduled": False'),
    ],
    "s-tir-flag": [
        (func(loop(COPY)), "@T.prim_func(s_tir=True)"),
        (func(loop(COPY), decorator="@T.prim_func(private=True)"), "@T.prim_func(private=True, s_tir=True)"),
        (func(loop(COPY), decorator="@T.prim_func()"), "@T.prim_func(s_tir=True)"),
        (func(loop(COPY), decorator="@T.prim_func(s_tir=False)"), "@T.prim_func(s_tir=True)"),
    ],
    "index-dtype": [
        (func("n = T.int64()\nA = T.match_buffer(a, (n, 4))\nfor i, j in T.grid(n, 4):\n    with T.sblock('A'):\n"
              "        vi, vj = T.axis.remap('SS', [i, j])\n        A[vi, vj] = 1.0", "a: T.handle", S_TIR), "T.grid(n, T.int64(4))"),
    ],
    "struct-info": [],
    "call-tir-shape": [],
}  # fmt: skip

RELAX = """\
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def twice(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("y"):
                vi = T.axis.remap("S", [i])
                y[vi] = x[vi] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Module
        with R.dataflow():
            gv = R.call_tir(cls.twice, (x,), {result})
            R.output(gv)
        return gv
"""
EXAMPLES["struct-info"].append(
    (RELAX.format(result='out_sinfo=R.Tensor((4,), dtype="float32")'), 'out_ty=R.Tensor((4,), dtype="float32")')
)  # fmt: skip
EXAMPLES["call-tir-shape"].append(
    (RELAX.format(result='(4,), dtype="float32"'), 'out_ty=R.Tensor((4,), dtype="float32")')
)  # fmt: skip


def loaded(text: str) -> Loaded:
    return load(Source(text))


@pytest.mark.parametrize(
    ("name", "text", "after"),
    [(name, text, after) for name, pairs in EXAMPLES.items() for text, after in pairs],
)
def test_rule(name: str, text: str, after: str) -> None:
    result = loaded(text)
    assert after in result.text
    records = [one for one in result.migrations if one.rule == name]
    assert records
    for one in records:
        assert one.before != one.after
        assert one.why
        assert 1 <= one.line <= text.count("\n") + 1
    assert not any("left out" in note.message for note in result.notes)


def test_every_rule_has_an_example_and_a_description() -> None:
    assert {rule.name for rule in RULES} == set(EXAMPLES)
    assert all(EXAMPLES.values())
    for rule in RULES:
        assert rule.before
        assert rule.why.endswith(".")
        assert rule.era


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ('for i in range(8):\n    with T.block([8, 8], "B") as [vi, vj]:\n        B[vi] = A[vj]', "2 axes inside 1 loops"),
        ('with T.block([8, 8], "B") as [vi]:\n    B[vi] = A[vi]', "2 axes and 1 names"),
        ('with T.block([(2, 8)], "B") as [vi]:\n    B[vi] = A[vi]', "2021 dialect has no loops"),
        ('for i, j in T.grid(8, 8):\n    with T.block([8, 8], "B") as [vi, vj]:\n        T.bind(vi, i)\n        B[vi] = A[vj]',
         "axis vj of this block has no value"),
        ("for i in range(8):\n    T.store(B.data, i, 1.0, True)", "T.store is not TVMScript"),
        ("for i in range(8):\n    B[i] = T.load('float32', A.data, i)", "T.load is not TVMScript"),
    ],
)  # fmt: skip
def test_what_cannot_be_migrated_says_what_to_write(body: str, says: str) -> None:
    with pytest.raises(LoadError, match=says) as caught:
        loaded(func(body))
    assert caught.value.problem.line is not None
    assert caught.value.problem.do.endswith(".") or "Write" in caught.value.problem.do


def test_a_module_of_today_with_alloc_buffer_and_no_blocks_keeps_it() -> None:
    text = func("C = T.alloc_buffer((8,))\nC[0] = A[0]\nB[0] = C[0]")
    assert "C = T.alloc_buffer((8,))" in loaded(text).text


def test_relax_functions_that_cannot_be_read_are_left_out_with_a_note() -> None:
    text = RELAX.format(result='out_ty=R.Tensor((4,), dtype="float32")').replace(
        "R.output(gv)", "gv2 = R.nosuch(gv)\n            R.output(gv)"
    )
    result = loaded(text)
    assert [one.name for one in result.nest.functions] == ["twice"]
    note = next(note for note in result.notes if "left out" in note.message)
    assert note.line == 15
    assert "R.nosuch" in note.message
