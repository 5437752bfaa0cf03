"""Modules to race, schedules for them, and races in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from explorer.engine.race import race
from explorer.engine.read_schedule import read_schedule
from explorer.experiment import Variant
from explorer.model.loaded import Source
from explorer.model.race import Method, Race
from explorer.primitives import AnyStep
from explorer.targets.host import LLVM

MATMUL = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"),
         C: T.Buffer((64, 64), "float32")):
    for i, j, k in T.grid(64, 64, 64):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
FAST = (
    "def apply(sch):\n    i, j, k = sch.get_loops(sch.get_sblock('C'))\n"
    "    sch.reorder(i, k, j)\n    j0, j1 = sch.split(j, [None, 8])\n    sch.vectorize(j1)\n"
)
QUICK = Method(budget_s=0.5)


@pytest.fixture(scope="session")
def matmul() -> Source:
    return Source(MATMUL)


@pytest.fixture(scope="session")
def variant() -> Callable[..., Variant]:
    """A variant of a source from the text of a schedule."""

    def make(source: Source, name: str, text: str = "") -> Variant:
        steps = read_schedule(source, text, ()).steps if text else []
        return Variant(name, msgspec.convert(steps, tuple[AnyStep, ...]))

    return make


@pytest.fixture(scope="session")
def fast(matmul: Source, variant: Callable[..., Variant]) -> Variant:
    return variant(matmul, "fast", FAST)


@pytest.fixture
def on_cpu() -> Callable[..., Race]:
    """A race on this machine's processor, in this process."""

    def run(
        source: Source, *variants: Variant, sizes: dict[str, int] | None = None, **options: Any
    ) -> Race:
        method = options.pop("method", QUICK)
        return race(source, variants, LLVM, sizes or {}, method=method, **options)

    return run
