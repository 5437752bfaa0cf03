"""Samples of MetaSchedule's design spaces: what its lowering emits is run and matches."""

from __future__ import annotations

import pytest
from tvm import ir, s_tir
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.meta_schedule.tune_context import TuneContext

from explorer.engine.check import check_module
from explorer.engine.load import module
from explorer.engine.targets import tvm_target
from explorer.model.loaded import Source
from explorer.model.target import Target

MATMUL = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((N, N), "IN"), B: T.Buffer((N, N), "IN"), C: T.Buffer((N, N), "OUT")):
        T.func_attr({"tirx.noalias": True})
        for i, j, k in T.grid(N, N, N):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.OUT(0)
                C[vi, vj] = C[vi, vj] + T.Cast("OUT", A[vi, vk]) * T.Cast("OUT", B[vk, vj])
"""


def samples(original: ir.IRModule, kind: str, target: Target, count: int) -> list[ir.IRModule]:
    """Modules of the first `count` samples that post-processing accepts."""
    space = ms.space_generator.PostOrderApply(sch_rules=kind, postprocs=kind, mutator_probs=kind)
    context = TuneContext(
        mod=original, target=tvm_target(target), space_generator=space, rand_state=3, num_threads=1
    )
    designs = context.generate_design_space()
    found: list[ir.IRModule] = []
    for attempt in range(60):
        sch = s_tir.Schedule(original, seed=1 + attempt)
        trace = s_tir.schedule.Trace(designs[attempt % len(designs)].trace.insts, {})
        try:
            trace.apply_to_schedule(sch, remove_postproc=True)
        except s_tir.ScheduleError:
            continue
        if all(postproc.apply(sch) for postproc in space.postprocs):
            found.append(sch.mod)
        if len(found) == count:
            break
    return found


@pytest.mark.parametrize(
    ("kind", "n", "read", "written", "count"),
    [
        ("cuda", 64, "float32", "float32", 2),
        ("cuda", 64, "int8", "int32", 2),
        ("cuda-tensorcore", 128, "float16", "float16", 3),
    ],
)
def test_samples_match(
    kind: str, n: int, read: str, written: str, count: int, target: Target
) -> None:
    text = MATMUL.replace("N, N", f"{n}, {n}").replace("T.grid(N", f"T.grid({n}")
    text = text.replace(f"{n}, {n}, N)", f"{n}, {n}, {n})")
    original = module(Source(text.replace("IN", read).replace("OUT", written)))
    modules = samples(original, kind, target, count)
    assert len(modules) == count
    for scheduled in modules:
        ((_, verdict),) = check_module(original, scheduled, target, {})
        assert verdict.status == "match", verdict.detail
