"""Small CUDA kernels with known answers, and what the emulator says about a text of one of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from explorer.emulator.machine import ORDERS, Kernels, Limits, Machine

FOLDER = Path(__file__).parent / "kernels"
Arrays = list[np.ndarray]


@dataclass(frozen=True)
class Bench:
    """How a kernel is launched: inputs, results (by numpy), further arguments."""

    inputs: Callable[[np.random.Generator], Arrays]
    results: Callable[..., Arrays]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    more: tuple[int, ...] = ()
    start: str = "poison"
    """What results hold before: "poison", or "zero" for kernels that add to them."""


def whole(shape: tuple[int, ...], kind: str = "float32", low: int = -4, high: int = 5):
    return lambda rng: [rng.integers(low, high, shape).astype(kind)]


def both(*makers: Callable[[np.random.Generator], Arrays]):
    return lambda rng: [array for make in makers for array in make(rng)]


def _vote(a: np.ndarray) -> Arrays:
    out = np.zeros_like(a)
    for row, result in zip(a.reshape(-1, 32), out.reshape(-1, 32), strict=True):
        kept = row[row > 0]
        result[: kept.size] = kept
    return [out, (a.reshape(-1, 32) == 3).any(1).astype("int32")]


def _stencil(a: np.ndarray) -> Arrays:
    padded = np.concatenate([[0], a, [0]]).astype("float32")
    return [padded[:-2] + 2 * padded[1:-1] + padded[2:]]


def _dot(a: np.ndarray, b: np.ndarray) -> Arrays:
    return [(a.astype("int32") @ b.astype("int32")).astype("int32")]


def _f32(a: np.ndarray, b: np.ndarray) -> Arrays:
    return [a.astype("float32") @ b.astype("float32")]


BENCHES = {
    "saxpy": Bench(whole((1000,)), lambda a: [2 * a + 1], (8,), (128,), (1000,)),
    "transpose": Bench(whole((50, 37)), lambda a: [a.T.copy()], (3, 4), (16, 16), (50, 37)),
    "block_sum": Bench(whole((1024,)), lambda a: [a.reshape(4, 256).sum(1)], (4,), (256,)),
    "staged_sum": Bench(whole((1024,)), lambda a: [a.reshape(4, 256).sum(1)], (4,), (256,)),
    "warp_sum": Bench(whole((128,)), lambda a: [a.reshape(4, 32).sum(1)], (4,), (32,)),
    "matmul_tiled": Bench(
        both(whole((24, 24)), whole((24, 24))), _f32, (3, 3), (8, 8), (24,)
    ),
    "stencil": Bench(whole((300,)), _stencil, (3,), (128,), (300,)),
    "histogram": Bench(
        whole((200,), "int32", 0, 10), lambda a: [np.bincount(a, minlength=10).astype("int32")],
        (4,), (64,), (200,), "zero",
    ),
    "scan": Bench(whole((64,)), lambda a: [np.cumsum(a).astype("float32")], (1,), (64,)),
    "vector_copy": Bench(whole((258,)), lambda a: [a], (3,), (32,), (258,)),
    "half2_add": Bench(
        both(whole((64,), "float16"), whole((64,), "float16")), lambda a, b: [a + b], (1,), (32,)
    ),
    "dot_int8": Bench(
        both(whole((64, 32), "int8", -128, 128), whole((32,), "int8", -128, 128)), _dot, (1,), (64,)
    ),
    "wmma": Bench(both(whole((16, 32), "float16"), whole((32, 16), "float16")), _f32, (1,), (32,)),
    "mma_sync": Bench(
        both(whole((16, 16), "float16"), whole((16, 8), "float16")), _f32, (1,), (64,)
    ),
    "cp_async": Bench(
        whole((512,)), lambda a: [a.reshape(4, 128)[:, ::-1].reshape(-1)], (4,), (32,)
    ),
    "vote": Bench(whole((128,), "int32"), _vote, (4,), (32,), (), "zero"),
    "warp_volatile": Bench(whole((256,)), lambda a: [a.reshape(4, 64).sum(1)], (4,), (64,)),
    "local_vector": Bench(
        whole((256,)), lambda a: [a.reshape(-1, 8)[:, ::-1].reshape(-1)], (1,), (32,)
    ),
    "row_chain": Bench(whole((128,)), lambda a: [a + 8], (4,), (32,)),
}  # fmt: skip


def kernel_text(name: str) -> str:
    """The right kernel."""
    text = (FOLDER / f"{name}.cu").read_text()
    return "\n".join(line for line in text.splitlines() if not line.startswith("// mutant"))


def mutants(name: str) -> dict[str, str]:
    """The wrong twins of a kernel, by what is wrong with them."""
    found = {}
    for line in (FOLDER / f"{name}.cu").read_text().splitlines():
        match = re.match(r"// mutant ([^:]+): (.*?) => ?(.*)", line)
        if match:
            right = kernel_text(name)
            what, old, new = match.groups()
            assert old in right, f"{name}: {old!r} is not in the kernel"
            found[what] = right.replace(old, new)
    return found


def say(machine: Machine, name: str, text: str) -> str:
    """ "right", or what the emulator found first: a fatal event, "race" or "mismatch"."""
    bench = BENCHES[name]
    kernels = Kernels(machine, text)
    for run, order in enumerate(ORDERS):
        rng = np.random.default_rng(run)
        inputs = bench.inputs(rng)
        results = bench.results(*inputs)
        machine.clear()
        given = []
        for at, array in enumerate(inputs):
            given.append(machine.buffer(f"in{at}", array.shape, array.dtype, role="in"))
            given[-1][...] = array
        made = []
        for at, array in enumerate(results):
            made.append(machine.buffer(f"out{at}", array.shape, array.dtype, role="inout"))
            made[-1].view(np.uint8)[...] = 0 if bench.start == "zero" else (0xFF, 0xCB, 0x7F)[run]
        machine.configure(order, run, (0xFF, 0xCB, 0x7F)[run], Limits())
        machine.begin(3.0)
        kernels.launch(name, bench.grid, bench.block, *given, *made, *bench.more)
        report = machine.end()
        if report.fatal:
            return report.fatal
        if report.races:
            return "race"
        for got, expected in zip(made, results, strict=True):
            if not np.array_equal(got, expected):
                return "mismatch"
    return "right"
