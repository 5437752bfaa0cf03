"""The interpreter of the schedule subset, on a host that only writes down what is asked."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.errors import ScheduleTextError, StepRefused
from explorer.schedule_text import Extent, Variable, interpret


class Written:
    """A host that makes as many variables as `makes` says and keeps the calls."""

    def __init__(self, **makes: int) -> None:
        self.makes = {"split": 2, "get_loops": 3, **makes}
        self.calls: list[tuple[str, list[Any], dict[str, Any]]] = []

    def call(self, method: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        self.calls.append((method, list(args), dict(kwargs)))
        if method == "refuse":
            raise StepRefused("No.")
        if method == "get":
            return Extent(64)
        if method in self.makes:
            return [Variable("loop", f"{method}{n}") for n in range(self.makes[method])]
        return Variable("block", method)

    def restart(self) -> bool:
        had, self.calls = bool(self.calls), []
        return had


def calls(body: str, **makes: int) -> list[tuple[str, list[Any], dict[str, Any]]]:
    host = Written(**makes)
    interpret("def apply(sch):\n" + "\n".join("    " + line for line in body.splitlines()), host)
    return host.calls


def values(expression: str) -> Any:
    """What an expression comes to, through an argument of a call."""
    return calls(f"sch.unroll({expression})")[-1][1][0]


def test_unpacking_stars_and_slices() -> None:
    found = calls(
        "b = sch.get_sblock('C'); i, *rest = sch.get_loops(b)\n"
        "sch.reorder(*rest[::-1], i)\n"
        "(x, y), z = rest, i\n"
        "sch.bind(z, thread_axis='threadIdx.x')"
    )
    assert [v.value for v in found[2][1]] == ["get_loops2", "get_loops1", "get_loops0"]
    assert found[3][2] == {"thread_axis": "threadIdx.x"}


def test_loops_over_constants() -> None:
    found = calls(
        "for name, tag in zip(('A', 'B'), range(2)):\n"
        "    if name == 'B':\n"
        "        continue\n"
        "    sch.set_scope(name, tag, 'shared')\n"
        "for n, c in enumerate('xy'):\n"
        "    sch.set_scope(c, n, f'{c}{n}')\n"
        "c, d = (sch.get_sblock(x) for x in 'CD')\n"
        "for at in [k * 2 for k in range(4) if k % 2]:\n"
        "    sch.unroll(at)\n"
    )
    assert [call[1] for call in found] == [
        ["A", 0, "shared"], ["x", 0, "x0"], ["y", 1, "y1"], ["C"], ["D"], [2], [6],
    ]  # fmt: skip


def test_helpers_defaults_and_keywords() -> None:
    host = Written()
    interpret(
        "TILE = 8\n"
        "def tile(sch, block, x, y=TILE * 2, *more, last=None):\n"
        "    sch.split(block, factors=[None, x, y, *more, last])\n"
        "    return sch\n"
        "def schedule(sch):\n"
        "    tile(sch, 'C', 4)\n"
        "    sch = tile(sch, 'D', *(1, 2, 3), last=5)\n"
        "    sch.unroll(0)\n",
        host,
    )
    assert [call[2].get("factors") for call in host.calls] == [
        [None, 4, 16, None], [None, 1, 2, 3, 5], None,
    ]  # fmt: skip


def test_top_level_statements_and_what_is_passed_over() -> None:
    host = Written()
    notes = interpret(
        "import tvm\n"
        "N = 4\n"
        "sch = tvm.tir.Schedule(MyModule)\n"
        "i, j, k = sch.get_loops(sch.get_block('C', func_name='main'))\n"
        "sch.split(i, factors=[None, N])\n"
        "sch.mod.show()\n"
        "rt = tvm.build(sch.mod, target='cuda')\n"
        "print(rt)\n",
        host,
    )
    assert [call[0] for call in host.calls] == ["get_block", "get_loops", "split"]
    assert [note.line for note in notes] == [6, 7, 8]


def test_bare_statements_of_a_given_schedule() -> None:
    host = Written()
    interpret(
        "b = sch.get_block('B')\ni, j, k = sch.get_loops(b)\nsch.bind(i, 'blockIdx.x')\n", host
    )
    assert host.calls[-1][1][1] == "blockIdx.x"


def test_a_second_schedule_starts_anew() -> None:
    host = Written()
    notes = interpret("s = Schedule(M)\ns.unroll(1)\ns = Schedule(M)\ns.unroll(2)\n", host)
    assert [call[1] for call in host.calls] == [[2]]
    assert "dropped" in notes[0].message


def test_index_maps_stay_text_with_numbers_filled_in() -> None:
    found = calls(
        "n = 4\n"
        "sch.transform_layout('A', ('write', 0), "
        "lambda i, j: (i // n, j, tvm.tirx.IntImm('int64', 0)))\n"
        "sch.transform_block_layout('A', T.index_map(lambda n: (n,)))"
    )
    assert found[0][1][2] == "lambda i, j: (i // 4, j, T.int64(0))"
    assert found[1][1][1] == "lambda n: (n,)"


def test_extents_are_numbers() -> None:
    found = calls("i, *_ = sch.get_loops('C')\nsch.split(i, [sch.get(i).extent.value // 2, 2])")
    assert found[-1][1][1] == [32, 2]


@pytest.mark.parametrize(
    ("body", "line", "words"),
    [
        ("sch.unroll(1)\nopen('/etc/passwd')", 3, "open is not defined"),
        ("__import__('os')", 2, "__import__ is not defined"),
        ("sch.__class__", 2, "no __class__"),
        ("x = sch.get_loops('C')\nx[0].value", 3, "a loop has no value"),
        ("x = sch.get_loops('C')[7]", 2, "3 elements"),
        ("i, j = sch.get_loops('C')", 2, "takes 2 values, but there are 3"),
        ("while True:\n    x = 1", None, "more than"),
        ("x = 2 ** 2 ** 9", 2, "exponent"),
        ("x = 9 ** 64", 2, "larger than any loop"),
        ("x = 'a' * 100000", 2, "longer"),
        ("x = range(10 ** 9)", 2, "longer"),
        ("x = 1 // 0", 2, "does not work"),
        ("def f(n):\n    return f(n)\nf(1)", 3, "calls itself"),
        ("with sch:\n    pass", 2, "is not schedule text"),
        ("class A: pass", 2, "is not schedule text"),
        ("try:\n    pass\nexcept E:\n    pass", 2, "is not schedule text"),
        ("global sch", 2, "is not schedule text"),
        ("sch.unroll(lambda: 1)()", 2, "is not schedule text"),
        ("f = lambda x: x", 2, "is not schedule text"),
        ("x = {1, 2}", 2, "is not schedule text"),
        ("x = '%d' % 3", 2, "f-string"),
        ("assert 1 == 2", 2, "own check fails"),
        ("x = sch.get_loops('C') + 1", 2, "does not work"),
        ("x = sch.get_loops('C')[0] + 1", 2, "can't compute with a loop"),
        ("f'{sch}'", 2, "plain numbers"),
        ("x = []\nfor i in range(9999):\n    x.append(x)\n    x.extend(x)", 5, "longer"),
        ("x = 'a'.format(1).join(['b'])", 2, "no join"),
    ],
)
def test_what_is_refused_names_line_and_construct(body: str, line: int | None, words: str) -> None:
    with pytest.raises(ScheduleTextError) as caught:
        calls(body)
    assert words in str(caught.value)
    if line is not None:
        assert caught.value.problem.line == line


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = (", "not Python"),
        ("x = 1", "no schedule"),
        ("def apply(n): pass", "no schedule"),
        ("(" * 500 + ")" * 500, "not Python"),
        ("def apply(sch):\n    x = " + "-" * 3000 + "1", ""),
        ("\0", "Python"),
    ],
)
def test_text_that_is_no_schedule(text: str, words: str) -> None:
    with pytest.raises(ScheduleTextError) as caught:
        interpret(text, Written())
    assert words in str(caught.value)


def test_a_refused_call_names_its_line_and_keeps_what_was_done() -> None:
    host = Written()
    with pytest.raises(StepRefused) as caught:
        interpret("def apply(sch):\n    sch.unroll(1)\n    sch.refuse()\n", host)
    assert caught.value.problem.line == 3
    assert host.calls[0][0] == "unroll"


NUMBERS = st.integers(-9, 9)


@st.composite
def arithmetic(draw: st.DrawFn, depth: int = 3) -> str:
    if depth == 0:
        return str(draw(NUMBERS))
    left, right = draw(arithmetic(depth=depth - 1)), draw(arithmetic(depth=depth - 1))
    op = draw(st.sampled_from(["+", "-", "*", "//", "%", "<", "==", "and", "or", "if 1 else"]))
    return f"({left} {op} {right})"


@given(arithmetic())
@settings(max_examples=100, deadline=None)
def test_arithmetic_is_pythons(expression: str) -> None:
    try:
        wanted = eval(expression)
    except ZeroDivisionError:
        with pytest.raises(ScheduleTextError):
            values(expression)
    else:
        assert values(expression) == wanted
