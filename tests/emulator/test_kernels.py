"""Known kernels are not accused; each of their wrong twins is found, for what it is."""

from __future__ import annotations

from functools import cache

import pytest

from explorer.emulator import compiler as cc
from explorer.emulator.machine import Machine
from explorer.engine.isolate import isolated
from tests.emulator.kernel_bench import BENCHES, kernel_text, mutants, say

MUTANTS = [(name, what) for name in BENCHES for what in mutants(name)]
FOUND_AS = {
    ("saxpy", "no guard"): "out_of_bounds",
    ("saxpy", "neighbour's input"): "out_of_bounds",
    ("saxpy", "one block's threads only"): "mismatch",
    ("transpose", "dropped barrier"): "race",
    ("transpose", "swapped axis"): "mismatch",
    ("transpose", "tile too narrow"): "array_bounds",
    ("block_sum", "dropped barrier in the loop"): "race",
    ("block_sum", "barrier for some threads"): "deadlock",
    ("block_sum", "missing init"): "mismatch",
    ("warp_sum", "wrong width"): "mismatch",
    ("warp_sum", "mask lacks callers"): "deadlock",
    ("matmul_tiled", "dropped second barrier"): "race",
    ("histogram", "no atomic"): "race",
    ("vector_copy", "misaligned"): "misaligned",
    ("vector_copy", "misaligned on both sides"): "misaligned",
    ("cp_async", "missing wait"): "cp_async",
    ("mma_sync", "dropped barrier"): "race",
    ("warp_volatile", "not volatile"): "race",
    ("local_vector", "vector past the local array"): "array_bounds",
    ("row_chain", "reads another block's result"): "race",
    ("row_chain", "never ends"): "limit",
    ("row_chain", "too much shared memory"): "cannot_launch",
}


@cache
def said(name: str) -> dict[str, str]:
    """The emulator's word on a kernel ("") and on each of its mutants, from a child of its own."""

    def work() -> dict[str, str]:
        compiler = cc.find_compiler()
        assert compiler is not None
        machine = Machine(compiler)
        texts = {"": kernel_text(name), **mutants(name)}
        return {what: say(machine, name, text) for what, text in texts.items()}

    return isolated(work, dict[str, str], 300)


@pytest.mark.parametrize("name", BENCHES)
def test_a_right_kernel_is_not_accused(name: str) -> None:
    assert said(name)[""] == "right"


@pytest.mark.parametrize(("name", "what"), MUTANTS)
def test_a_wrong_twin_is_found(name: str, what: str) -> None:
    found = said(name)[what]
    assert found != "right"
    assert found == FOUND_AS.get((name, what), found)


def test_there_are_enough_wrong_twins() -> None:
    assert len(MUTANTS) >= 60
