"""TVM's JSON traces: shapes that are none are refused, instructions become schedule calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

from explorer.errors import ScheduleTextError, StepRefused
from explorer.schedule_text import Variable, read_trace

BIND = [
    ["GetSBlock", [], ["C", "main"], ["b0"]],
    ["GetLoops", ["b0"], [], ["l1", "l2"]],
    ["Split", ["l1", "None", 8], [1, 0], ["l3", "l4"]],
    ["Bind", ["l3"], ["blockIdx.x"], []],
]


class Written:
    def __init__(self) -> None:
        self.calls: list[tuple[str, list[Any], dict[str, Any]]] = []

    def call(self, method: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        self.calls.append((method, args, kwargs))
        if method == "sample_perfect_tile":
            return tuple(kwargs["decision"])
        count = {"get_loops": 2, "split": 2, "get_sblock": 1}.get(method, 0)
        made = [Variable("loop", f"{method}{n}") for n in range(count)]
        return made[0] if method == "get_sblock" else made

    def restart(self) -> bool:
        return False


def read(instructions: list[Any], decisions: list[Any] | None = None) -> Written:
    host = Written()
    read_trace(json.dumps([instructions, decisions or []]), host)
    return host


def test_instructions_become_calls() -> None:
    host = read(BIND)
    assert [call[0] for call in host.calls] == ["get_sblock", "get_loops", "split", "bind"]
    factors = host.calls[2][2]["factors"]
    assert factors == [None, 8]
    assert host.calls[2][2]["preserve_unit_iters"] is True
    assert host.calls[3][2]["loop"].value == "split0"


def test_decisions_are_used() -> None:
    sample = ["SamplePerfectTile", ["l1"], [2, 16], ["v3", "v4"]]
    split = ["Split", ["l1", "v3", "v4"], [1, 0], ["l5", "l6"]]
    host = read([*BIND[:2], sample, split], [[2, [16, 4]]])
    assert host.calls[-1][2]["factors"] == [16, 4]


def test_buffer_sides_and_strings() -> None:
    host = read([BIND[0], ["ReIndex", ["b0"], [1, 0], []], ["ReIndex", ["b0"], [0, 1], []]])
    assert [call[2].get("buffer") for call in host.calls[1:]] == [("read", 1), ("write", 0)]
    host = read([BIND[0], ["Annotate", ["b0", '"yes"'], ["key"], []]])
    assert host.calls[-1][2]["ann_val"] == "yes"


def test_tuning_records_hold_traces() -> None:
    host = Written()
    read_trace(json.dumps([0, [[BIND, []], [0.001], {"kind": "cuda"}, []]]), host)
    assert len(host.calls) == 4
    slow = json.dumps([0, [[BIND[:2], []], [0.5], {}, []]])
    fast = json.dumps([0, [[BIND, []], [0.001], {}, []]])
    host = Written()
    read_trace(f"{slow}\n{fast}\n", host)
    assert len(host.calls) == 4


@pytest.mark.parametrize(
    "text",
    ["[", "{}", "[]", "[[], [], []]", "[[[1, 2, 3, 4]], []]", '[[["Bind", [], []]], []]', '["a"]',
     '[[["Bind", {}, [], []]], []]', "[[], [[0]]]", "null", '[[["Bind", [], [], [1]]], []]',
     "[" * 5000 + "]" * 5000],
)  # fmt: skip
def test_other_json_is_no_trace(text: str) -> None:
    with pytest.raises(ScheduleTextError, match="not a TVM trace"):
        read_trace(text, Written())


@pytest.mark.parametrize(
    ("instructions", "words"),
    [
        ([["Explode", [], [], []]], "not known"),
        ([["GetLoops", ["b9"], [], ["l0"]]], "not made by any instruction"),
        ([["Bind", ["open('x')"], ["blockIdx.x"], []]], "not made by any instruction"),
    ],
)
def test_wrong_instructions_are_named(instructions: list[Any], words: str) -> None:
    with pytest.raises(ScheduleTextError) as caught:
        read(instructions)
    assert words in str(caught.value)
    assert "Instruction 0" in str(caught.value)


def test_other_results_than_the_trace_had_are_refused() -> None:
    with pytest.raises(StepRefused, match="should make 3 variables"):
        read([BIND[0], ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]]])


def test_too_many_instructions() -> None:
    with pytest.raises(ScheduleTextError, match="more than"):
        read([BIND[0]] * 6000)
