"""The static model: known orders come out right, what can't launch is refused, loops count."""

from __future__ import annotations

import pytest
from tvm import s_tir

from explorer.engine.load import module
from explorer.engine.targets import cuda_tags, tvm_target
from explorer.engine.tuning.static import Prediction, predict
from explorer.model.loaded import Source
from explorer.model.target import Target
from explorer.targets import resolve
from tests.tuning import families as family

TAGS = ("nvidia/geforce-rtx-4090", "nvidia/nvidia-h100", "nvidia/nvidia-a100", "nvidia/nvidia-t4")


def gpu(tag: str = TAGS[0]) -> Target:
    return resolve(tag, cuda_tags())


def said(text: str, schedule: family.Schedule, tag: str = TAGS[0], **sizes: int) -> Prediction:
    return predict(family.scheduled(text, schedule), "main", gpu(tag), sizes)


def us(text: str, schedule: family.Schedule, tag: str = TAGS[0]) -> float:
    found = said(text, schedule, tag)
    assert found.us is not None, found.refused
    return found.us


# Orders that are known


@pytest.mark.parametrize("tag", TAGS)
def test_a_coalesced_copy_beats_a_strided_one(tag: str) -> None:
    text = family.copy(2048, 2048)
    assert us(text, family.flat(256), tag) * 1.1 < us(text, family.by_rows, tag)


@pytest.mark.parametrize("tag", TAGS)
def test_transposes_are_ordered_as_they_are_measured(tag: str) -> None:
    text = family.copy(4096, 4096, turned=True)
    naive = us(text, family.flat(256), tag)
    conflicts = us(text, family.tiled_transpose(pad=False), tag)
    padded = us(text, family.tiled_transpose(pad=True), tag)
    assert padded < conflicts < naive
    assert 2 * padded < naive


def test_padding_takes_the_bank_conflicts_away() -> None:
    text = family.copy(1024, 1024, turned=True)
    without = said(text, family.tiled_transpose(pad=False)).parts
    padded = said(text, family.tiled_transpose(pad=True)).parts
    # A conflict-free store and a 32-way load, in equal number.
    assert without["wavefronts_per_request"] == pytest.approx(16.5)
    assert padded["wavefronts_per_request"] == 1.0
    assert padded["bank_conflict"] == 1.0


@pytest.mark.parametrize("tag", TAGS)
def test_matrix_products_are_ordered_by_reuse(tag: str) -> None:
    text = family.matmul(1024)
    strided = us(text, family.naive_matmul(1, 256), tag)
    naive = us(text, family.naive_matmul(32, 8), tag)
    tiled = us(text, family.tiled_matmul(), tag)
    registers = us(text, family.tiled_matmul(each=4), tag)
    assert registers < tiled < naive < strided
    assert 2 * registers < tiled


def test_one_thread_a_block_is_far_slower_than_256() -> None:
    text = family.scale(2**20)
    assert us(text, family.flat(1)) > 3 * us(text, family.flat(256))
    product = family.matmul(512)
    assert us(product, family.naive_matmul(1, 1)) > 3 * us(product, family.naive_matmul(32, 8))


@pytest.mark.parametrize("tag", TAGS)
def test_many_warps_hide_what_one_warp_an_sm_waits_for(tag: str) -> None:
    text = family.row_sums(128, 2**15)
    alone = said(text, family.row_a_block(32), tag)
    many = said(text, family.row_a_block(1024), tag)
    assert alone.us is not None
    assert many.us is not None
    assert many.us < alone.us
    assert alone.parts["chain"] == max(alone.parts[name] for name in ("chain", "l1", "issue"))


@pytest.mark.parametrize("tag", TAGS)
def test_rows_summed_by_a_block_beat_rows_summed_by_a_thread(tag: str) -> None:
    text = family.row_sums(4096, 4096)
    assert us(text, family.row_a_block(256), tag) < us(text, family.row_a_thread(128), tag)


def test_tensor_cores_beat_cuda_cores() -> None:
    text = family.matmul(1024, "float16")
    target = gpu("nvidia/nvidia-a100")
    tensor = predict(family.dlight(text, "Matmul", tvm_target(target)), "main", target, {})
    cores = said(text, family.tiled_matmul(each=4), "nvidia/nvidia-a100")
    assert tensor.us is not None
    assert cores.us is not None
    assert tensor.us < cores.us
    # Two operations for each product of the whole matrix, on the busiest of the SMs.
    assert tensor.parts["tensor"] > 0
    assert "tensor" not in cores.parts


def test_wider_accesses_ask_less_of_the_instruction_units() -> None:
    text = family.scale(2**22)
    narrow, wide = said(text, family.flat(256)), said(text, family.flat(256, vector=4))
    assert wide.parts["issue"] < narrow.parts["issue"]
    assert (wide.us or 0) <= (narrow.us or 0)


# What can't launch


@pytest.mark.parametrize(
    ("schedule", "by", "words"),
    [
        (family.flat(2048), "launch limits", "2048 threads a block; the limit is 1024"),
        (family.naive_matmul(64, 64), "launch limits", "4096 threads a block"),
    ],
)
def test_too_many_threads_are_refused(schedule: family.Schedule, by: str, words: str) -> None:
    text = family.scale(2**20) if schedule.__qualname__.startswith("flat") else family.matmul(512)
    found = said(text, schedule)
    assert found.us is None
    assert found.by == by
    assert words in found.refused


def test_static_shared_memory_beyond_48_kb_is_refused() -> None:
    found = said(family.matmul(1024), family.tiled_matmul(each=8, depth=64))
    assert found.us is None
    assert found.by in ("launch limits", "NVRTC")
    assert "shared" in found.refused or "smem" in found.refused


def test_dynamic_shared_memory_is_held_against_the_architecture() -> None:
    text = family.matmul(1024, "float16")
    big = family.dlight(text, "Matmul", tvm_target(gpu()))
    found = predict(big, "main", gpu("nvidia/nvidia-t4"), {})
    assert found.us is None
    assert found.by == "launch limits"
    assert "73728 bytes of dynamic shared memory; the limit of sm_75 is 65536" in found.refused


def test_a_grid_that_is_too_large_or_empty_is_refused() -> None:
    def tall(sch: s_tir.Schedule) -> None:
        i, j = sch.get_loops(sch.get_sblock("B"))
        sch.bind(i, "blockIdx.y")
        sch.bind(j, "threadIdx.x")

    found = said(family.copy(70000, 32), tall)
    assert found.us is None
    assert "1 x 70000 x 1 blocks" in found.refused


def test_what_nvrtc_refuses_is_refused_with_its_words() -> None:
    def vector(sch: s_tir.Schedule) -> None:
        family.flat(256, vector=4)(sch)

    text = family.scale(4096).replace("float32", "int8")
    found = said(text, vector)
    assert (found.us is None) == bool(found.refused)
    if found.us is None:
        assert found.by in ("NVRTC", "lowering")


def test_a_function_without_a_kernel_is_refused() -> None:
    found = predict(module(Source(family.scale(64))), "main", gpu(), {})
    assert found.us is None
    assert found.by == "lowering"
    assert found.refused


# What is counted


def test_loops_are_weighted_by_how_often_they_run() -> None:
    found = said(family.matmul(1024), family.tiled_matmul())
    # 1024 ** 3 multiply-adds by warps of 32 on 128 SMs, 4 a clock at 2.52 GHz.
    least = 1024**3 / 32 / 128 / 4 / (82.6e6 / (2 * 128 * 128))
    assert found.parts["fp32"] >= least
    assert found.parts["fp32"] < 1.5 * least


def test_a_dynamic_size_takes_the_given_value_and_says_when_it_has_none() -> None:
    text = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, b: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n,))
        B = T.match_buffer(b, (n,))
        for i in range(n):
            with T.sblock("B"):
                v = T.axis.spatial(n, i)
                B[v] = A[v] * T.float32(2)
"""
    small, large = (said(text, family.flat(256), n=n) for n in (2**16, 2**24))
    assert (large.us or 0) > 10 * (small.us or 1e9) / 5
    assert large.parts["device_bytes"] == 2 * 4 * 2**24
    assert not large.assumed
    assert said(text, family.flat(256)).assumed == ("n has no value: 1024 was taken.",)


def test_what_is_not_understood_is_taken_to_be_slow_and_said() -> None:
    def gathered(index: str) -> str:
        return f"""
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((1048576,), "float32"), I: T.Buffer((1048576,), "int32"),
             B: T.Buffer((1048576,), "float32")):
        T.func_attr({{"tirx.noalias": True}})
        for i in range(1048576):
            with T.sblock("B"):
                v = T.axis.spatial(1048576, i)
                B[v] = A[{index}] + T.Cast("float32", I[v])
"""

    plain, gather = (said(gathered(index), family.flat(256)) for index in ("v", "I[v]"))
    assert plain.assumed == ()
    assert gather.assumed == (
        "How warps load A in main_kernel is not known: a sector a lane was taken.",
    )
    assert (gather.us or 0) > (plain.us or 0)


def test_an_architecture_alone_gets_a_stand_in_that_is_named() -> None:
    found = said(family.scale(2**20), family.flat(256), "sm_80")
    assert any("nvidia-a100 were taken" in each for each in found.assumed)


def test_the_same_text_is_predicted_once() -> None:
    text = family.scale(2**18)
    assert said(text, family.flat(128)) == said(text, family.flat(128))
