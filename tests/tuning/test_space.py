"""Design spaces: what is open in them, in words; programs out of them; why a sample is refused."""

from __future__ import annotations

import json
import re

import msgspec
import pytest
import tvm_ffi
from tvm import s_tir

from explorer.engine.load import module
from explorer.engine.tuning.orders import Gene
from explorer.engine.tuning.space import Rejected, Space, digest
from explorer.errors import UserError
from explorer.model.loaded import Source
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives import STEPS
from explorer.tuning.job import Pin, Steering
from tests.tuning.spaces import GPU, HEAD, matmul, same, softmax, space_of, transpose

C = BlockRef("C")


def test_a_matmul_on_llvm_has_tiles_and_a_limit_of_unrolling() -> None:
    space = space_of(matmul(96, 64, 80))
    assert [design.number for design in space.designs] == [0, 1, 2]
    rules = "MultiLevelTiling, ParallelizeVectorizeUnroll"
    assert [design.rule for design in space.designs] == [
        f"{rules}: cache_write of C, C_global at j_1",
        f"{rules}: cache_write of C, C_global at j_0",
        f"{rules}: plain",
    ]
    whats = [decision.what for decision in space.designs[0].decisions]
    assert whats == [
        "tile of i in block C", "tile of j in block C", "tile of k in block C",
        "limit of unrolling in block root",
    ]  # fmt: skip
    assert [decision.parts for decision in space.designs[0].decisions] == [4, 4, 2, 0]
    assert space.designs[0].decisions[3].candidates == (0, 16, 64, 512)


def test_a_matmul_on_a_gpu_also_decides_how_shared_memory_is_filled() -> None:
    whats = [each.what for each in space_of(matmul(), GPU).designs[0].decisions]
    assert "elements a thread loads at once in block A_shared" in whats
    assert "elements a thread loads at once in block B_shared" in whats


def test_half_precision_gets_tensor_cores_where_the_gpu_has_them() -> None:
    assert all(
        "MultiLevelTilingTensorCore" in design.rule
        for design in space_of(matmul(dtype="float16"), GPU).designs
    )
    old = space_of(matmul(dtype="float16"), "nvidia/tesla-p100")
    assert not any("TensorCore" in design.rule for design in old.designs)


def test_places_of_blocks_are_decisions() -> None:
    whats = {each.what for design in space_of(softmax()).designs for each in design.decisions}
    assert "loop that block most is computed at" in whats


def test_a_design_holds_no_decisions_and_names_each_instruction_that_is_open() -> None:
    for design in space_of(softmax()).designs:
        instructions, decisions = json.loads(design.trace)
        assert decisions == []
        sampled = [n for n, each in enumerate(instructions) if each[0].startswith("Sample")]
        assert [decision.at for decision in design.decisions] == sampled


def test_designs_keep_their_numbers_and_old_ones_can_still_be_made() -> None:
    before = space_of(matmul())
    gene = before.gene_of(2, before.sample(2, 7).trace)
    program = before.schedule(2, gene.decisions)
    steering = Steering(without_rules=("MultiLevelTiling",))
    after = space_of(matmul(), steering=steering, known=before.designs)
    assert [design.number for design in after.designs] == [3]
    assert same(after.schedule(2, gene.decisions), program)
    again = space_of(matmul(), known=before.designs)
    assert again.designs == before.designs


def test_rules_can_be_left_out_and_added() -> None:
    left = space_of(matmul(), steering=Steering(without_rules=("MultiLevelTiling",)))
    assert [design.rule for design in left.designs] == ["ParallelizeVectorizeUnroll"]
    wide = space_of(matmul(), steering=Steering(with_rules=("MultiLevelTilingWideVector",)))
    assert all("WideVector" in design.rule for design in wide.designs)
    cores = Steering(with_rules=("MultiLevelTilingTensorCore",))
    volta = space_of(matmul(dtype="float16"), "nvidia/tesla-v100", steering=cores)
    assert any("TensorCore" in design.rule for design in volta.designs)


def test_an_unknown_rule_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"no schedule rule Nothing .* AutoInline, "):
        space_of(matmul(), steering=Steering(with_rules=("Nothing",)))


def test_a_program_is_what_tvm_makes_of_its_trace() -> None:
    for target in ("llvm", GPU):
        space = space_of(softmax(), target)
        for design in space.designs:
            sch = space.sample(design.number, 11)
            gene = space.gene_of(design.number, sch.trace)
            program = space.schedule(gene.design, gene.decisions, gene.trace)
            replayed = s_tir.Schedule(space.workload)
            program.trace.apply_to_schedule(replayed, remove_postproc=False)
            assert same(replayed, program)
            assert digest(replayed) == digest(program)


def test_the_workload_is_the_function_alone_as_tvm_keeps_it() -> None:
    text = matmul().replace("def main", "def mine")
    space = space_of(text, function="mine")
    (func,) = space.workload.functions.values()
    assert [str(var.name_hint) for var in space.workload.get_global_vars()] == ["main"]
    assert tvm_ffi.structural_equal(func, module(Source(text=text))["mine"])


def test_steps_come_first_and_are_kept() -> None:
    steps = (STEPS["cache_read"](block=C, read_buffer_index=0, storage_scope="global"),)
    with_copy = space_of(matmul(), steps=steps)
    assert "A_global" in with_copy.workload.script()
    split = STEPS["split"](loop=LoopRef(C, 0), factors=(None, 16))
    parallel = STEPS["parallel"](loop=LoopRef(C, 0))
    own = space_of(matmul(), steps=(split, parallel))
    assert [d.what for d in own.designs[0].decisions] == ["limit of unrolling in block root"]
    assert "i_0" in own.workload.script()


SYMBOLIC = f"""{HEAD}    @T.prim_func(s_tir=True)
    def main(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 8), "float32")
        B = T.match_buffer(b, (n, 8), "float32")
        for i, j in T.grid(n, 8):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)
"""
BARE = f"""{HEAD}    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = A[i]
"""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (SYMBOLIC, "symbolic sizes: n"),
        (matmul().replace('"tirx.noalias"', '"tirx.is_scheduled": 1, "tirx.noalias"'),
         "scheduled already"),
        (BARE, "has no blocks"),
    ],
)  # fmt: skip
def test_what_cant_be_tuned_is_said(text: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        space_of(text)


def test_a_function_that_is_not_there() -> None:
    with pytest.raises(UserError, match=r"no function other.* main"):
        space_of(matmul(), function="other")


def test_nothing_left_to_decide() -> None:
    none = Steering(without_rules=("ParallelizeVectorizeUnroll", "AddRFactor", "MultiLevelTiling"))
    with pytest.raises(UserError, match="nothing left to decide in main"):
        space_of(matmul(), steering=none)


IN_PLACE = f"""{HEAD}    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64,), "float32")):
        for i in range(64):
            with T.sblock("A"):
                v = T.axis.spatial(64, i)
                A[v] = A[v] * T.float32(2)
"""


def test_what_the_rules_cant_move_is_said() -> None:
    with pytest.raises(UserError, match=r"can't work on main\. A block updates what"):
        space_of(IN_PLACE, GPU)


def test_a_pipeline_that_does_not_fit_is_explained() -> None:
    space = space_of(matmul(), GPU)
    reasons = set()
    for seed in range(1, 10**6, 10**5):
        try:
            space.postprocess(space.sample(1, seed))
        except Rejected as refused:
            reasons.add(refused.reason)
    assert (
        "The rule made a software pipeline of 3 parts, and the loop has 4 with these tiles."
        in reasons
    )


def test_a_space_without_decisions_is_one_program() -> None:
    space = space_of(transpose())
    assert space.designs[0].decisions == ()
    assert digest(space.schedule(0, ())) == digest(space.schedule(0, ()))


# Refusals, with TVM's limits: 32 to 1024 threads, 48 KB of shared memory


def gpu_tile(i: tuple[int, ...], j: tuple[int, ...], k: tuple[int, ...]) -> Gene:
    """A candidate of the first design of a 128 × 128 × 128 matmul."""
    space = space_of(matmul(), GPU)
    values = dict(space.decided(0, space.sample(0, 1).trace))
    tiles = [each.at for each in space.designs[0].decisions if each.parts]
    values |= dict(zip(tiles, (i, j, k), strict=True))
    choices = [each.at for each in space.designs[0].decisions if not each.parts]
    values |= dict.fromkeys(choices, 0)
    return Gene(0, tuple(values.items()))


def test_a_fitting_tile_is_a_program() -> None:
    gene = gpu_tile((4, 1, 16, 2, 1), (4, 1, 16, 2, 1), (16, 4, 2))
    program = space_of(matmul(), GPU).schedule(0, gene.decisions)
    assert 'T.thread_binding(256, thread="threadIdx.x")' in program.mod.script()


@pytest.mark.parametrize(
    ("tiles", "sentence"),
    [
        (((128, 1, 1, 1, 1), (16, 1, 8, 1, 1), (16, 4, 2)),
         "Block C has 8 threads a block; it needs 32 to 1024."),
        (((1, 1, 64, 2, 1), (2, 1, 64, 1, 1), (16, 4, 2)),
         "Block C has 4096 threads a block; it needs 32 to 1024."),
        (((1, 1, 16, 8, 1), (1, 1, 16, 8, 1), (1, 128, 1)),
         "It uses 131072 bytes of shared memory; the target has 49152."),
    ],
)  # fmt: skip
def test_which_limit_of_the_gpu_is_broken(
    tiles: tuple[tuple[int, ...], ...], sentence: str
) -> None:
    gene = gpu_tile(*tiles)
    with pytest.raises(Rejected, match=re.escape(sentence)) as refused:
        space_of(matmul(), GPU).schedule(0, gene.decisions)
    assert refused.value.by == "VerifyGPUCode"


def threads_of(space: Space, seed: int) -> int:
    """Threads of a block of a sample of the first design."""
    program = space.sample(0, seed).mod.script()
    (extent,) = {int(n) for n in re.findall(r'binding\((\d+), thread="threadIdx.x"\)', program)}
    return extent


def test_samples_for_a_gpu_have_threads_as_their_design_asks() -> None:
    space = space_of(matmul(96, 112, 60), GPU)
    counts = {threads_of(space, seed) for seed in range(1, 10**9, 10**8)}
    assert all(32 <= count <= 1024 for count in counts)
    assert len(counts) > 3


def test_pinned_tiles_count_among_the_threads() -> None:
    at = space_of(matmul(), GPU).designs[0].decisions[0].at
    pin = Pin("main", 0, at, (4, 1, 32, 1, 1))
    space = space_of(matmul(), GPU, steering=Steering(pins=(pin,)))
    counts = {threads_of(space, seed) for seed in range(1, 10**9, 2 * 10**8)}
    assert all(count % 32 == 0 and count <= 1024 for count in counts)
    few = Steering(pins=(msgspec.structs.replace(pin, value=(128, 1, 1, 1, 1)),))
    assert threads_of(space_of(matmul(16, 16, 16), GPU), 1) in (32, 64, 128, 256)
    assert 32 <= threads_of(space_of(matmul(), GPU, steering=few), 1) <= 128


def test_every_refusal_of_the_gpu_verifier_has_a_figure() -> None:
    space = space_of(matmul(dtype="float16"), GPU)
    for seed in range(1, 200_000, 20_011):
        try:
            space.postprocess(space.sample(seed % 2, seed))
        except Rejected as refused:
            assert re.search(r"\d", refused.reason), refused.reason
