"""Texts that try to run something: each is refused with a line, and nothing runs."""

# Programs stand in one line each, whatever their length.
# ruff: noqa: E501

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.dialect import prepare
from explorer.engine.load import load
from explorer.errors import ForbiddenText, LoadError
from explorer.model.loaded import Source

MODULE = """\
{top}
@I.ir_module{module_options}
class Module{bases}:
{class_body}
    @T.prim_func({options}){decorators}
    def main({params}A: T.Buffer({shape}, "float32"), B: T.Buffer((16,), "float32")){returns}:
        T.func_attr({attrs})
{body}
        for i in range(16):
            with T.sblock("B"):
                vi = T.axis.remap("S", [i])
                B[vi] = {value}
"""
PLAIN = {
    "top": "",
    "module_options": "",
    "bases": "",
    "class_body": "    pass",
    "options": "s_tir=True",
    "decorators": "",
    "params": "",
    "shape": "(16,)",
    "returns": "",
    "attrs": '{"tirx.noalias": True}',
    "body": "",
    "value": "A[vi] + T.float32(1)",
}
RUN = "__import__('os').system('touch CANARY')"

ATTACKS: dict[str, dict[str, str]] = {
    "import in value": {"value": RUN},
    "call in statement": {"body": f"        T.evaluate(len({RUN}))"},
    "open": {"body": "        T.evaluate(open('CANARY', 'w'))"},
    "open as a bare statement": {"body": "        open('CANARY', 'w')"},
    "open as a context": {"body": "        with open('CANARY', 'w') as f:\n            pass"},
    "eval": {"value": "eval('1')"},
    "exec": {"body": "        exec('x = 1')"},
    "getattr": {"value": "getattr(T, 'utils')"},
    "print": {"body": "        print(1)"},
    "import line": {"body": "        import os"},
    "import from": {"body": "        from os import system"},
    "shape of a parameter": {"shape": f"({RUN},)"},
    "quoted shape": {"shape": f'("{RUN}",)'},
    "quoted shape with attributes": {"shape": "(\"().__class__.__base__\",)"},
    "quoted shape in a conditional": {"shape": f'("{RUN}" if True else "n",)'},
    "quoted power": {"shape": '("9**9**9**9",)'},
    "quoted lambda": {"shape": '("(lambda: 1)()",)'},
    "return type": {"returns": f" -> {RUN}"},
    "decorator call": {"options": f"s_tir={RUN}"},
    "module decorator argument": {"module_options": f"(check_well_formed={RUN})"},
    "base class": {"bases": f"({RUN})"},
    "base class for python functions": {"bases": "(BasePyModule)"},
    "metaclass": {"bases": f"(metaclass={RUN})"},
    "class body assignment": {"class_body": f"    x = {RUN}"},
    "class body call": {"class_body": f"    {RUN}"},
    "class in class": {"class_body": "    class Inner:\n        pass"},
    "python function": {"class_body": "    @I.pyfunc\n    def f(x):\n        return x"},
    "jit": {"class_body": "    @T.jit\n    def f(x: T.handle):\n        pass"},
    "default argument": {"params": f"x: T.int32 = {RUN}, "},
    "attribute key": {"attrs": "{" + RUN + ": 1}"},
    "attribute value": {"attrs": '{"a": ' + RUN + "}"},
    "global symbol": {"attrs": '{"global_symbol": "f(){} void g"}'},
    "lambda": {"value": f"(lambda: {RUN})()"},
    "lambda in a reducer's default": {
        "body": f"        T.evaluate(T.comm_reducer(lambda x, y={RUN}: x, [T.float32(0)]))"
    },
    "lambda in a reducer": {
        "body": f"        T.evaluate(T.comm_reducer(lambda x, y: {RUN}, [T.float32(0)]))"
    },
    "list comprehension": {"value": f"[{RUN} for x in (1,)][0]"},
    "generator": {"value": f"max({RUN} for x in (1,))"},
    "dict comprehension": {"attrs": "{'a': " + RUN + " for x in (1,)}"},
    "f-string": {"value": f'f"{{{RUN}}}"'},
    "walrus": {"value": f"(x := {RUN})"},
    "dunder attribute": {"value": "T.float32.__class__"},
    "dunder through a buffer": {"value": "A.__class__.__mro__"},
    "dunder name": {"value": "__builtins__"},
    "underscore module": {"value": "T._parser"},
    "module of TVM": {"value": "T.utils.inspect"},
    "parser module": {"value": "T.parser.ast"},
    "frame module": {"value": "T.ir.GlobalVar"},
    "inline": {
        "body": f"        @T.inline\n        def f(x={RUN}):\n            T.evaluate(x)\n        f()"
    },
    "macro": {"body": "        @T.macro\n        def f():\n            pass"},
    "call with stars": {"value": "T.max(*[A[vi], A[vi]], **{})"},
    "name for T": {"body": "        X = T"},
    "getattr by subscript": {"value": "T['utils']"},
    "call of a call": {"value": "T.max(A[vi], A[vi])()"},
    "packed function": {
        "body": '        T.evaluate(T.call_packed("runtime.ModuleLoadFromFile", "/tmp/x.so"))'
    },
    "packed function by operator": {
        "body": '        T.evaluate(T.call_intrin("int32", "tirx.tvm_call_packed", "runtime.X"))'
    },
    "foreign function": {
        "body": '        T.evaluate(T.call_extern("int32", "system", "touch CANARY"))'
    },
    "foreign function by old keyword": {
        "body": '        T.evaluate(T.call_extern("system", "touch CANARY", dtype="int32"))'
    },
    "foreign function by code": {
        "body": '        T.evaluate(T.call_extern("int32", "sinf(0); system", "x"))'
    },
    "cuda source": {
        "body": '        T.evaluate(T.cuda.func_call("f", source_code="int f(){}"))'
    },
    "device printf": {"body": '        T.evaluate(T.cuda.printf("%n"))'},
    "linked C": {"body": '        T.sblock_attr({"pragma_import_c": "int main(){}"})'},
    "linked LLVM": {"body": '        T.attr(A.data, "pragma_import_llvm", "define")'},
    "linked LLVM on a loop": {
        "body": '        for j in T.serial(4, annotations={"pragma_import_llvm": "x"}):\n'
        "            T.evaluate(0)"
    },
    "thread axis with code": {
        "body": '        bx = T.env_thread("threadIdx.x); system(1")'
    },
    "target with options": {
        "attrs": '{"target": T.target({"kind": "llvm", "cl-opt": "-load=/tmp/x.so"})}'
    },
    "computed target": {"attrs": '{"target": T.target(A)}'},
    "address from a number": {"value": 'T.reinterpret("handle", T.uint64(4096))'},
    "huge power": {"value": "T.float32(2 ** 10 ** 9)"},
    "huge shift": {"value": "T.float32(1 << 10 ** 9)"},
    "huge string": {"value": "T.float32('x' * 10 ** 9)"},
    "huge list": {"body": "        T.evaluate([1] * 10 ** 9)"},
    "name for a list": {"body": "        x = [1, 2]\n        T.evaluate(x * 1000000000)"},
    "starred names": {"body": "        x, *y = 1, 2, 3"},
    "dtype times": {"value": "A.dtype * 1000000000"},
    "power of names": {"value": "A[vi] ** 2"},
    "outside call": {"class_body": f"    I.module_attrs({{'a': {RUN}}})"},
    "module attribute lambda": {"class_body": "    I.module_global_infos(lambda: 1)"},
    "yield": {"body": "        yield 1"},
    "await in async": {"class_body": "    async def f(self):\n        pass"},
    "try": {"body": "        try:\n            pass\n        except Exception:\n            pass"},
    "delete": {"body": "        del A"},
    "global": {"body": "        global A"},
    "raise": {"body": "        raise ValueError(1)"},
    "match": {"body": "        match 1:\n            case _:\n                pass"},
    "assert message": {"body": f"        assert A[0] > 0.0, {RUN}"},
    "assert call": {"body": f"        assert {RUN}, 'x'"},
    "relax quoted shape": {
        "class_body": f'    @R.function\n    def r(x: R.Tensor(("{RUN}",), "float32")):\n        return x'
    },
    "relax quoted shape in a body": {
        "class_body": "    @R.function\n    def r(x: R.Tensor((4,), 'float32')):\n"
        f'        y = R.match_cast(x, R.Tensor(("{RUN}",), "float32"))\n        return y'
    },
    "relax print": {
        "class_body": "    @R.function\n    def r(x: R.Tensor((4,), 'float32')):\n"
        f"        y = {RUN}\n        return y"
    },
    "bytes": {"value": "b'abc'"},
    "ellipsis": {"value": "..."},
    "string with braces": {"body": '        T.evaluate(T.call_extern("int32", "sinf", "){system(1)"))'},
}  # fmt: skip


def text_of(attack: dict[str, str], canary: Path) -> str:
    return MODULE.format(**{**PLAIN, **attack}).replace("CANARY", str(canary))


@pytest.mark.parametrize("name", ATTACKS)
def test_refused_with_a_line_and_nothing_runs(name: str, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    with pytest.raises(LoadError) as caught:
        load(Source(text_of(ATTACKS[name], canary)))
    assert not canary.exists()
    problem = caught.value.problem
    assert problem.line is not None
    assert problem.what.endswith(".")
    assert problem.do


def test_the_frame_of_the_attacks_loads() -> None:
    assert load(Source(MODULE.format(**PLAIN))).module == "Module"


def test_code_around_the_module_is_not_run(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    run = RUN.replace("CANARY", str(canary))
    text = (
        f"{run}\nN = {run}\nM = 16\n"
        + MODULE.format(**PLAIN).replace("(16,)", "(M,)")
        + f"\n{run}\nsch = tvm.tir.Schedule({run})\nsch.bind({run})\n"
    )
    assert load(Source(text)).constants == (("M", "16"),)
    assert not canary.exists()


def test_a_constant_that_is_a_call_is_named_with_its_line(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    text = f"N = {RUN}\n".replace("CANARY", str(canary)) + MODULE.format(
        **{**PLAIN, "shape": "(N,)"}
    )
    with pytest.raises(LoadError, match="N is not a simple constant") as caught:
        prepare(text)
    assert "line 1" in caught.value.problem.why
    assert not canary.exists()


@pytest.mark.parametrize(
    "constant",
    ["2**10**9", "'a'*10**9", "[0]*10**9", "1<<10**9", "(1,)*10**5", "9**9**9", "'%d' % 10"],
)
def test_huge_constants_are_refused(constant: str) -> None:
    text = f"N = {constant}\n" + MODULE.format(**{**PLAIN, "shape": "(N,)"})
    with pytest.raises(LoadError, match="N is not a simple constant"):
        prepare(text)


@pytest.mark.parametrize(
    "expression",
    ["(" * 190 + "1" + ")" * 190, "-" * 5000 + "1", "+".join(["A[vi]"] * 5000), "A" + "[0]" * 3000],
)
def test_deep_nesting_is_refused_or_read(expression: str) -> None:
    text = MODULE.format(**{**PLAIN, "value": expression})
    try:
        load(Source(text))
    except LoadError as error:
        assert "deep" in str(error) or "not Python" in str(error)


def test_a_long_sum_is_read() -> None:
    text = MODULE.format(**{**PLAIN, "value": " + ".join(["A[vi]"] * 150)})
    assert load(Source(text)).nest.functions[0].name == "main"


def test_large_texts_are_refused() -> None:
    with pytest.raises(LoadError, match="characters"):
        prepare("# x\n" * 1_100_000)


def test_forbidden_names_the_construct() -> None:
    with pytest.raises(ForbiddenText, match="list comprehension") as caught:
        prepare(MODULE.format(**{**PLAIN, "value": "[x for x in (1, 2)][0]"}))
    assert caught.value.problem.line == 12
