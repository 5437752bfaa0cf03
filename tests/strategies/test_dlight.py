"""dlight: which rule, why not the others, and that its steps can be cut and continued."""

from __future__ import annotations

import msgspec
import pytest

from explorer.engine.dlight import try_rule
from explorer.engine.live import Live
from explorer.engine.propose import propose, propose_on
from explorer.errors import UserError
from explorer.model.loaded import Source
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives import STEPS, decode_steps
from explorer.strategies import STRATEGIES, Strategy
from tests.strategies.conftest import CASES, HEAD, TARGET, elementwise, load, load_raw, matmul


def reason(text: str, rule: str, status: str) -> str:
    _, outcome = try_rule(load(text), TARGET, "main", rule)
    assert outcome.status == status, outcome
    return outcome.reason


def test_folder_contract() -> None:
    assert set(STRATEGIES) >= {"default_gpu", "dlight"}
    for name, strategy in STRATEGIES.items():
        assert isinstance(strategy, Strategy)
        assert strategy.name == name
        assert strategy.summary.endswith(".")


def test_tensor_cores_or_why_not() -> None:
    assert "Tensor cores (wmma_sync" in reason(matmul(dtype="float16"), "Matmul", "applied")
    assert "128 × 128 × 64" in reason(matmul(dtype="float16"), "Matmul", "applied")
    assert "not over 64" in reason(matmul(k=64, dtype="float16"), "Matmul", "applied")
    assert "float32" in reason(matmul(), "Matmul", "applied")
    asked_not = matmul(dtype="float16").replace(
        "    for i,", '    T.func_attr({"dlight.do_not_tensorize": True})\n    for i,'
    )
    assert "do_not_tensorize" in reason(asked_not, "Matmul", "applied")


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("Matmul", "exactly one block with a reduction"),
        ("GEMV", "no reduction"),
        ("Reduction", "Block one (SS) is no reduction."),
        ("GeneralReduction", "does not end in a reduction"),
        ("LowBatchGEMV", "exactly one reduction block"),
        ("RMSNorm", "rsqrt"),
        ("Transpose", "indices in another order"),
    ],
)
def test_every_rule_says_which_test_turned_it_away(rule: str, words: str) -> None:
    assert words in reason(elementwise("main", "one"), rule, "declined")


def test_iterators_are_named() -> None:
    assert "v1 (256) of block C (SSR)" in reason(matmul(), "Reduction", "declined")
    two = matmul().replace("A[vi, vk] * B[vk, vj]", "A[vi, vk] + A[vi, vk]")
    assert "reads 1 buffer; a matmul reads two" in reason(two, "Matmul", "declined")


def test_a_failure_names_primitive_and_loop() -> None:
    shared = """
@T.prim_func(s_tir=True)
def main(X: T.Buffer((96, 160), "float32"), Y: T.Buffer((96, 160), "float32")):
    s = T.sblock_alloc_buffer((96,), "float32")
    for row in range(96):
        for k in range(160):
            with T.sblock("s"):
                vi, vk = T.axis.remap("SR", [row, k])
                with T.init():
                    s[vi] = T.float32(0)
                s[vi] = s[vi] + X[vi, vk]
        for j in range(160):
            with T.sblock("Y"):
                vi, vj = T.axis.remap("SS", [row, j])
                Y[vi, vj] = X[vi, vj] / s[vi]
"""
    assert reason(shared, "Reduction", "failed").startswith("reorder on loop row does not apply")


def test_a_failing_rule_does_not_stop_the_others() -> None:
    proposal = propose_on(Live(load_raw("38_low_batch_gemv_dynamic")), "dlight", TARGET)
    assert [(o.rule, o.status) for o in proposal.outcomes] == [
        ("Matmul", "failed"),
        ("GEMV", "declined"),
        ("Reduction", "declined"),
        ("GeneralReduction", "declined"),
        ("Fallback", "applied"),
    ]
    assert proposal.steps


def test_rules_behind_the_one_that_applied_are_skipped() -> None:
    proposal = propose_on(Live(load(matmul())), "dlight", TARGET)
    assert [o.status for o in proposal.outcomes] == ["applied"] + ["skipped"] * 4
    assert {o.reason for o in proposal.outcomes[1:]} == {"Matmul applied."}


def test_the_chosen_function_only() -> None:
    mod = load(matmul("first"), elementwise("second", "one"))
    proposal = propose_on(Live(mod), "dlight", TARGET, "second")
    steps = decode_steps(msgspec.json.encode(proposal.steps))
    assert {step.func() for step in steps} == {"second"}
    assert {o.function for o in proposal.outcomes} == {"second"}


def test_steps_can_be_cut_and_continued_by_hand() -> None:
    mod = load(elementwise("main", "one"))
    proposal = propose_on(Live(mod), "dlight", TARGET, rule="Fallback")
    steps = decode_steps(msgspec.json.encode(proposal.steps))
    live = Live(mod)
    for step in steps[: [step.op() for step in steps].index("split")]:
        live, _ = live.apply(step)
    block = BlockRef("one", 0, "main")
    live, _ = live.apply(STEPS["split"](LoopRef(block, 0), (None, 64)))
    live, _ = live.apply(STEPS["bind"](LoopRef(block, 1), "threadIdx.x"))
    assert 'thread="threadIdx.x"' in live.mod.script()


def test_relax_is_skipped_with_a_reason() -> None:
    text = (CASES / "09_relax_plus_tir" / "module.py").read_text()
    proposal = propose(Source(text), (), "dlight", TARGET)
    skipped = [o for o in proposal.outcomes if o.status == "skipped" and "Relax" in o.reason]
    assert skipped
    assert any(o.status == "applied" for o in proposal.outcomes)


def test_wrong_names_are_user_errors() -> None:
    source = Source(HEAD + "\n".join("    " + line for line in matmul().splitlines()))
    for strategy, function, rule in (
        ("magic", "", ""),
        ("dlight", "gone", ""),
        ("dlight", "", "Convolution"),
    ):
        with pytest.raises(UserError):
            propose(source, (), strategy, TARGET, function, rule)
