"""Our race against a plain `time_evaluator` loop: how often each ranks two equal kernels, and cost.

    python bench/race.py [--races 20] [--budget 2]

Both time the same two builds of one matmul on this machine's processor.  The plain way is what
scripts do: `time_evaluator(number=20, repeat=5)` for one kernel and then for the other.  It "calls
them different" when the medians differ by over 2 %, our own least effect.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import tvm
from tvm import tirx
from tvm.target import Target

from explorer.engine.isolate import forking
from explorer.engine.load import module
from explorer.engine.lower import only
from explorer.engine.race import race
from explorer.experiment import Variant
from explorer.model.loaded import Source
from explorer.model.race import Method
from explorer.race.verdict import LEAST_EFFECT
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


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--races", type=int, default=20)
    options.add_argument("--budget", type=float, default=2.0)
    given = options.parse_args()
    ours = [our_race(given.budget) for _ in range(given.races)]
    plain = [plain_race() for _ in range(given.races)]
    load = f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores"
    print(f"{given.races} races of two equal kernels, {load}")
    print("| way | called different | largest ratio seen | seconds a race |")
    print("|---|--:|--:|--:|")
    for name, found in (("our race", ours), ("plain loop", plain)):
        different = sum(each[0] for each in found)
        largest = max(max(ratio, 1 / ratio) for _, ratio, _ in found)
        seconds = statistics.median(each[2] for each in found)
        print(f"| {name} | {different} of {len(found)} | {largest:.3f} | {seconds:.1f} |")
    return 0 if sum(each[0] for each in ours) <= 0.05 * given.races else 1


def our_race(budget_s: float) -> tuple[bool, float, float]:
    """Whether a verdict ranked them, the ratio, and how long it took in all."""
    start = time.monotonic()
    twice = (Variant("one"), Variant("same"))
    (heat,) = race(Source(MATMUL), twice, LLVM, {}, method=Method(budget_s=budget_s)).heats
    (verdict,) = heat.verdicts
    return verdict.outcome in ("faster", "slower"), verdict.ratio, time.monotonic() - start


def plain_race() -> tuple[bool, float, float]:
    """The same for one `time_evaluator` after the other."""
    start = time.monotonic()
    mod = only(module(Source(MATMUL)), "main")
    rng = np.random.default_rng(0)
    arrays = [tvm.runtime.tensor(rng.random((64, 64), np.float32), tvm.cpu()) for _ in range(3)]
    medians = []
    for _ in range(2):
        with forking:
            built = tirx.build(mod, target=Target("llvm"))
        timer = built.time_evaluator("main", tvm.cpu(), number=20, repeat=5)
        medians.append(statistics.median(timer(*arrays).results))
    ratio = medians[1] / medians[0]
    return abs(np.log(ratio)) > np.log1p(LEAST_EFFECT), ratio, time.monotonic() - start


if __name__ == "__main__":
    sys.exit(main())
