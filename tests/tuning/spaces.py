"""Spaces of small functions, for tests."""

from __future__ import annotations

import tvm_ffi
from tvm import s_tir

from explorer.engine.load import module
from explorer.engine.replay import scheduled
from explorer.engine.targets import cuda_tags
from explorer.engine.tuning.space import Space
from explorer.engine.warm import warm
from explorer.model.loaded import Source
from explorer.primitives import AnyStep
from explorer.targets import resolve
from explorer.tuning.events import Design
from explorer.tuning.job import Steering, Task, TuneJob

warm()  # else the first space imports TVM's intrinsics, three times as slowly

GPU = "nvidia/geforce-rtx-4090"

HEAD = "@I.ir_module\nclass Module:\n"


def matmul(n: int = 128, m: int = 128, k: int = 128, dtype: str = "float32") -> str:
    """C = A @ B."""
    return f'''{HEAD}    @T.prim_func(s_tir=True)
    def main(A: T.Buffer(({n}, {k}), "{dtype}"), B: T.Buffer(({k}, {m}), "{dtype}"),
             C: T.Buffer(({n}, {m}), "{dtype}")):
        T.func_attr({{"tirx.noalias": True}})
        for i, j, k in T.grid({n}, {m}, {k}):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.{dtype}(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
'''


def softmax(rows: int = 32, columns: int = 40) -> str:
    """Three blocks that depend on one another."""
    return f"""{HEAD}    @T.prim_func(s_tir=True)
    def main(X: T.Buffer(({rows}, {columns}), "float32"),
             Y: T.Buffer(({rows}, {columns}), "float32")):
        T.func_attr({{"tirx.noalias": True}})
        most = T.sblock_alloc_buffer(({rows},))
        total = T.sblock_alloc_buffer(({rows},))
        for i, j in T.grid({rows}, {columns}):
            with T.sblock("most"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    most[vi] = T.min_value("float32")
                most[vi] = T.max(most[vi], X[vi, vj])
        for i, j in T.grid({rows}, {columns}):
            with T.sblock("total"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] = total[vi] + T.exp(X[vi, vj] - most[vi])
        for i, j in T.grid({rows}, {columns}):
            with T.sblock("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.exp(X[vi, vj] - most[vi]) / total[vi]
"""


def transpose(n: int = 37, m: int = 24) -> str:
    """Nothing to tile: one block without reuse."""
    return f"""{HEAD}    @T.prim_func(s_tir=True)
    def main(A: T.Buffer(({n}, {m}), "float32"), B: T.Buffer(({m}, {n}), "float32")):
        T.func_attr({{"tirx.noalias": True}})
        for i, j in T.grid({m}, {n}):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi]
"""


def job_of(
    text: str,
    target: str = "llvm",
    steps: tuple[AnyStep, ...] = (),
    steering: Steering | None = None,
    **more: object,
) -> TuneJob:
    """A job that tunes function main."""
    return TuneJob(
        source=Source(text=text), target=target, tasks=(Task("main"),), runner="llvm",
        steps=steps, steering=steering or Steering(), **more,
    )  # fmt: skip


def space_of(
    text: str,
    target: str = "llvm",
    steps: tuple[AnyStep, ...] = (),
    steering: Steering | None = None,
    known: tuple[Design, ...] = (),
    function: str = "main",
) -> Space:
    """The space of a function, for llvm or a tag."""
    job = job_of(text, target, steps, steering)
    mod = scheduled(job.source, steps)[0].mod if steps else module(job.source)
    return Space(mod, function, resolve(target, cuda_tags()), job, known)


def same(one: s_tir.Schedule, other: s_tir.Schedule) -> bool:
    """Two schedules are the same program."""
    return bool(tvm_ffi.structural_equal(one.mod, other.mod))
