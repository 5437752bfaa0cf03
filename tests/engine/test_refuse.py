"""An illegal step changes nothing and says in one sentence what, why and what to do."""

from __future__ import annotations

from typing import Any

import pytest

from explorer.engine.live import Live
from explorer.errors import StepRefused
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives import STEPS, Step
from tests.engine import kernels


def _ref(name: str) -> Any:
    """ "C" is a block, "C.0" its outermost loop."""
    block, dot, depth = name.partition(".")
    return LoopRef(BlockRef(block), int(depth)) if dot else BlockRef(block)


def _step(op: str, *args: Any) -> Step:
    def value(arg: Any) -> Any:
        if isinstance(arg, str) and arg.startswith("@"):
            return _ref(arg[1:])
        return tuple(value(item) for item in arg) if isinstance(arg, tuple) else arg

    return STEPS[op](*(value(arg) for arg in args))


REFUSED = [
    # (module, steps before, the step, words of what, words of why)
    ("MATMUL", (), ("split", "@C.0", (None, None)), "More than one factor", "single one"),
    ("MATMUL", (), ("split", "@C.0", (2, 2)), "The factors don't cover i.", "smaller"),
    ("MATMUL", (), ("split", "@C.0", (None, 0)), "The factor 0 is not allowed.", "from 1 up"),
    ("MATMUL", (("bind", "@C.0", "blockIdx.x"),), ("split", "@C.0", (None, 2)),
     "i is bound or annotated.", "plain loops"),
    ("MATMUL", (("annotate", "@C.0", "a", 1),), ("fuse", ("@C.0", "@C.1")),
     "i is bound or annotated.", "plain loops"),
    ("MATMUL", (), ("fuse", ("@C.0", "@C.2")), "k is not directly inside i.", "hold one another"),
    ("MATMUL", (), ("fuse", ("@C.1", "@C.0")), "i is not directly inside j.", "hold one another"),
    ("CHAIN", (("reverse_compute_at", "@E", "@C.0"),), ("fuse", ("@C.0", "@C.1")),
     "i holds more than j.", "once for each"),
    ("CHAIN", (("reverse_compute_at", "@E", "@C.0"),), ("reorder", ("@C.1", "@C.0")),
     "not one chain", "i holds more than one thing"),
    ("MATMUL", (), ("reorder", ("@C.1", "@C.1")), "j is named twice.", "one place"),
    ("CHAIN", (), ("reorder", ("@C.1", "@D.0")), "not in one chain", "inside the one before"),
    ("STUBBORN", (), ("reorder", ("@product.1", "@product.0")),
     "Block product has an iterator that is no simple function", "sum of loops"),
    ("STUBBORN", (), ("fuse", ("@triangle.0", "@triangle.1")), "j depends on i.", "length changes"),
    ("MATMUL", (), ("bind", "@C.2", "blockIdx.x"),
     "k drives a reduction of block C: it can't be a block axis.", "threads of one block can"),
    ("MATMUL", (), ("vectorize", "@C.2"), "no vectorize", "depend on one another"),
    ("MATMUL", (), ("parallel", "@C.2"), "no parallel", "depend on one another"),
    ("STUBBORN", (), ("vectorize", "@triangle.0"), "i runs n times", "fixed number of lanes"),
    ("STUBBORN", (), ("bind", "@in_place.0", "blockIdx.x"),
     "Block in_place works in place: it reads the buffer that it writes.", "leaves them in order"),
    ("STUBBORN", (), ("bind", "@no_init.0", "blockIdx.x"),
     "Block no_init accumulates without T.init().", "any order"),
    ("CHAIN", (), ("compute_at", "@B", "@C.0"), "Not every consumer of B",
     "Its consumers are: C, D."),
    ("CHAIN", (), ("compute_at", "@D", "@E.0"), "Block D writes an argument", "stays inside"),
    ("CHAIN", (), ("compute_at", "@B", "@B.0"), "i is around B already", "of another nest"),
    ("CHAIN", (), ("reverse_compute_at", "@D", "@B.0"), "Not every producer of D",
     "Its producers are: B, C."),
    ("CHAIN", (), ("compute_inline", "@D"), "Block D writes an argument", "stays inside"),
    ("CHAIN", (), ("compute_inline", "@E"), "Block E is a reduction.", "no single expression"),
    ("CHAIN", (), ("reverse_compute_inline", "@D"), "Block D reads 2 buffers.", "reads one"),
    ("CHAIN", (), ("reverse_compute_inline", "@B"), "Nothing in the function computes", "argument"),
    ("STUBBORN", (), ("compute_inline", "@in_place"), "can't be rearranged",
     "Block in_place both reads and writes A."),
    ("MATMUL", (), ("cache_read", "@C", 5, "shared"),
     "Block C reads 2 buffers; there is no number 5.",
     "from 0"),
    ("MATMUL", (), ("cache_read", "@C", "Z", "shared"), "Block C does not use a buffer Z.", ""),
    ("MATMUL", (), ("cache_read", "@C", 0, "sharde"), '"sharde" is not a memory scope.', "shared"),
    ("MATMUL", (), ("set_scope", "@C", 0, "shared"), "C is an argument of the function.", "itself"),
    ("CHAIN", (), ("decompose_reduction", "@B", "@B.0"), "Block B is not a reduction", ""),
    ("MATMUL", (("reorder", ("@C.2", "@C.0")),), ("decompose_reduction", "@C", "@C.1"),
     "j is inside a reduction loop of C.", "before any reduction loop"),
    ("CHAIN", (), ("decompose_reduction", "@E", "@B.0"), "i is not around block E.", ""),
    ("MATMUL", (), ("rfactor", "@C.0", 0), "i is not a pure reduction loop.", "output index"),
    ("MATMUL", (), ("rfactor", "@C.2", 9), "factor_axis is out of range.", "[-3, 2]"),
    ("CHAIN", (), ("storage_align", "@B", 0, 7, 32, 1), "axis is out of range.", "[-2, 2)"),
    ("MATMUL", (), ("unannotate", "@C.2", "q"), "There is no annotation q here.", ""),
    ("MATMUL", (), ("pad_einsum", "@C", (2,)), "Block C has 3 iterators.", "from 1 up"),
    ("CHAIN", (), ("transform_layout", "@B", ("write", 0), "lambda i, j: (i,)"),
     "The index map is not one to one.", "left out"),
    ("CHAIN", (), ("transform_layout", "@B", ("write", 0), "lambda i: (i,)"),
     "another number of indices", ""),
    ("CHAIN", (), ("transform_layout", "@B", ("write", 0), "lambda i, j: (i // 5, i % 5, j)"),
     "places that the buffer does not fill", "axis0 == 25"),
    ("CHAIN", (), ("transform_layout", "@B", ("write", 0), "lambda i, j: (open(i), j)"),
     "can't stand in an index map", "whole numbers"),
    ("CHAIN", (), ("transform_layout", "@B", ("write", 0), "lambda i, j: (k, j)"),
     "k is not an argument of the index map.", "i, j"),
    ("CHAIN", (), ("transform_block_layout", "@B", "lambda i, j: (i,)"), "not one to one", ""),
    ("MATMUL", (), ("reorder_block_iter_var", "@C", (0, 0, 1)), "not one of the block's", "once"),
    ("CHAIN", (), ("merge", ("@C.0", "@D.1")), "not at one depth", "same depth"),
    ("CHAIN", (), ("decompose_padding", "@B", "@B.0"), "Block B does not pad.", "if_then_else"),
    ("STUBBORN", (), ("blockize", "@product.1"), "don't make a block", "sum of loops"),
    ("MIXED", (), ("reindex", "@opaque", ("write", 0)), "Block opaque has no iterators.", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "before", "step", "what", "why"),
    REFUSED,
    ids=[f"{r[2][0]}-{n}" for n, r in enumerate(REFUSED)],
)
def test_a_refusal_names_what_and_why_and_changes_nothing(
    text: str, before: tuple, step: tuple, what: str, why: str
) -> None:
    live = Live(kernels.module(getattr(kernels, text)))
    for earlier in before:
        live, _ = live.apply(_step(*earlier))
    script, lines = live.mod.script(), list(live.lines)
    with pytest.raises(StepRefused) as refused:
        live.apply(_step(*step))
    problem = refused.value.problem
    assert what in problem.what
    assert why in problem.why
    sentence = str(refused.value)
    assert "\n" not in sentence
    assert "SBlock#" not in sentence
    assert "{" not in sentence
    assert live.mod.script() == script
    assert live.lines == lines


def test_tvms_own_text_is_kept_as_details() -> None:
    live = Live(kernels.module(kernels.MATMUL))
    with pytest.raises(StepRefused) as refused:
        live.apply(_step("split", "@C.0", (2, 2)))
    assert "The product of factors is not larger than" in refused.value.problem.details


def test_an_instruction_that_does_not_fit() -> None:
    live = Live(kernels.module(kernels.MATMUL))
    with pytest.raises(StepRefused, match="under k is not what the instruction does"):
        live.apply(STEPS["tensorize"](_ref("C.2"), "dp4a_s8s8s32"))
    with pytest.raises(StepRefused, match="no instruction called foo"):
        live.apply(STEPS["tensorize"](_ref("C.2"), "foo"))


def test_an_unknown_reason_is_told_with_names_for_tvms_numbers() -> None:
    from tvm import s_tir

    from explorer.engine.refuse import explain

    mod = kernels.module(kernels.MATMUL)
    text = (
        'Access path: <root>.functions[I.GlobalVar("main")].body.block.body\n'
        "Error message: ScheduleError: Something new about tirx.For#0"
    )
    problem = explain("split", s_tir.ScheduleError(text), ["i"], mod).problem
    assert problem.what == "split does not apply here."
    assert problem.why == "Something new about loop i"


def test_a_block_without_a_name_is_this_block() -> None:
    from explorer.engine.refuse import explain

    text = "The binding values of the s_tir.SBlock#0 are not variables of outer loops"
    assert text.replace("the s_tir.SBlock#0", "this block") in str(explain("m", ValueError(text)))
