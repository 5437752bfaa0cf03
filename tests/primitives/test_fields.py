"""Fields read text or values, and refuse in one sentence that names the argument."""

from __future__ import annotations

import pytest

from explorer.errors import StepRefused
from explorer.model.nest import Access, Block, Buffer, Function, Iter, Loop
from explorer.model.refs import BlockRef, LoopRef, parse_ref
from explorer.primitives import STEPS, make
from explorer.primitives.fields import (
    AxisField,
    BlockField,
    BufferField,
    FactorsField,
    FlagField,
    IntField,
    ListField,
    LoopField,
    NodeField,
    ScopeField,
    SlotField,
    TextField,
    ValueField,
    suggested_factors,
)


def _loop(name: str, depth: int, extent: int | None = 128) -> Loop:
    return Loop(
        id=f"main/{depth}", name=name, extent=str(extent), extent_value=extent, kind="spatial",
        mode="serial", binding=None, annotations=(), ref=LoopRef(BlockRef("C"), depth, name),
        inside_block=False, span=None, children=(),
    )  # fmt: skip


BLOCK = Block(
    id="main/2", name="C", iters=(Iter("vi", "128", "spatial", "i"),),
    reads=(Access("A", "A[vi]"),), writes=(Access("B", "B[vi]"),), has_init=False,
    predicate=None, annotations=(), allocates=(), is_root=False, ref=BlockRef("C"), span=None,
    children=(),
)  # fmt: skip
FUNCTION = Function(
    name="main", kind="prim", private=False, host=False, scheduled=False, params=("A", "B"),
    symbols=(), nodes=(_loop("i", 0), _loop("j", 1), _loop("j", 2), BLOCK), roots=(),
    buffers=tuple(
        Buffer(name=name, shape=("128",), dtype="float32", scope="global", param=True)
        for name in "AB"
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "factors"),
    [
        ("8, 128", (8, 128)),
        ("None, 128", (None, 128)),
        ("-1 128", (None, 128)),
        ("[4, none, 2]", (4, None, 2)),
        ([None, 16], (None, 16)),
        ((2, 3, 4), (2, 3, 4)),
    ],
)
def test_factors_are_read_from_text_and_lists(text: object, factors: tuple) -> None:
    assert FactorsField("factors", "Factors").convert(text, FUNCTION) == factors


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        (FactorsField("f", "Factors"), "None, None", "only one may be None"),
        (FactorsField("f", "Factors"), "0, 4", '"0" is not a factor'),
        (FactorsField("f", "Factors"), "8", "two or more"),
        (FactorsField("f", "Factors"), "8, x", '"x" is not a factor'),
        (AxisField("a", "Thread axis"), "threadIdx.w", "not a thread axis"),
        (LoopField("l", "Loop"), "q", '"q" is not a loop of main'),
        (LoopField("l", "Loop"), "j", "2 loops are called j"),
        (BlockField("b", "Block"), "D", "not a block of main"),
        (NodeField("n", "Block or loop"), "q", "not a block or loop of main"),
        (BufferField("b", "Buffer"), "Z", "not a buffer of main"),
        (SlotField("b", "Buffer"), "both, 0", "not a buffer like"),
        (ScopeField("s", "Memory"), "a b", "not a memory scope"),
        (IntField("n", "Number", least=1, most=8), "9", "whole number from 1 to 8"),
        (IntField("n", "Number"), "1.5", "whole number"),
        (IntField("n", "Number"), True, "whole number"),
        (FlagField("f", "Keep"), "maybe", "yes or no"),
        (TextField("t", "Name"), "  ", "1 to 500 characters"),
        (ListField("l", "Loops", item=LoopField("l", "Loop"), least=2), "i", "at least 2"),
    ],
)
def test_a_field_refuses_and_says_what_it_wants(field, value: object, words: str) -> None:
    with pytest.raises(StepRefused) as refused:
        field.convert(value, FUNCTION)
    assert words in refused.value.problem.what
    assert refused.value.problem.what.startswith(field.label)


def test_references_are_read_from_text_names_and_themselves() -> None:
    ref = LoopRef(BlockRef("C"), 1, "j")
    loop = LoopField("l", "Loop")
    assert loop.convert("main/C[1]:j", FUNCTION) == ref
    assert loop.convert(ref, FUNCTION) == ref
    assert loop.convert("i", FUNCTION) == LoopRef(BlockRef("C"), 0, "i")
    assert BlockField("b", "Block").convert("C", FUNCTION) == BlockRef("C")
    assert NodeField("n", "Node").convert("main/C", FUNCTION) == BlockRef("C")
    assert NodeField("n", "Node").convert("main/C[1]:j", FUNCTION) == ref


@pytest.mark.parametrize(
    "ref",
    [
        BlockRef("C"),
        BlockRef("C", 2, "bwd"),
        LoopRef(BlockRef("C"), 0),
        LoopRef(BlockRef("T_add", 1, "f"), 3, "i_j_fused"),
    ],
)
def test_a_references_text_parses_back(ref: BlockRef | LoopRef) -> None:
    assert parse_ref(str(ref)) == ref


@pytest.mark.parametrize(
    ("text", "value"),
    [("16", 16), ("1.5", 1.5), ("True", True), ("[0, 1]", (0, 1)), ("'a'", "a"), ("1e-5", 1e-5)],
)
def test_annotation_values_keep_their_type(text: str, value: object) -> None:
    read = ValueField("v", "Value").convert(text, FUNCTION)
    assert read == value
    assert type(read) is type(value)


def test_split_sizes_offer_divisors_first_and_say_what_is_idle() -> None:
    assert suggested_factors(96)[:5] == [2, 4, 8, 16, 32]
    assert suggested_factors(7) == [2, 4]
    assert suggested_factors(1) == []
    labels = {c.value: c.label for c in FactorsField("f", "F").choices(FUNCTION, _loop("i", 0, 70))}
    assert labels[(None, 2)] == "35 × 2"
    assert labels[(None, 64)] == "2 × 64 (45 % idle)"
    assert FactorsField("f", "F").choices(FUNCTION, _loop("i", 0, None))[0].label == "? × 32"


def test_a_blocks_buffers_are_offered_by_place() -> None:
    assert [c.label for c in BufferField("b", "B").choices(FUNCTION, BLOCK)] == ["A[vi]"]
    assert [c.value for c in SlotField("b", "B").choices(FUNCTION, BLOCK)] == [
        ("read", 0), ("write", 0),
    ]  # fmt: skip


def test_make_fills_a_step_and_keeps_tvms_defaults() -> None:
    step = make("split", {"loop": "i", "factors": "None, 32", "disable_predication": ""}, FUNCTION)
    assert step == STEPS["split"](LoopRef(BlockRef("C"), 0, "i"), (None, 32))


@pytest.mark.parametrize(
    ("op", "values", "words"),
    [
        ("spilt", {}, "no primitive spilt"),
        ("split", {"loop": "i"}, "Factors: a value is needed"),
        ("split", {"loop": "i", "factors": "2, 2", "x": 1}, "split has no argument x"),
        ("unsafe_set_dtype", {"block": "C", "buffer_index": "A", "dtype": "int8"}, "can't take"),
    ],
)
def test_make_refuses_in_one_sentence(op: str, values: dict, words: str) -> None:
    with pytest.raises(StepRefused, match=words):
        make(op, values, FUNCTION)


@pytest.mark.parametrize("cls", [c for c in STEPS.values() if c.form], ids=lambda c: c.op())
def test_every_form_lists_the_steps_arguments_in_order(cls) -> None:
    assert tuple(field.name for field in cls.form) == cls.__struct_fields__
    assert all(field.label for field in cls.form)


def test_every_primitive_but_whole_passes_has_a_form() -> None:
    assert {op for op, cls in STEPS.items() if not cls.form} <= {
        "default_gpu_schedule", "dlight_rule",
    }  # fmt: skip
