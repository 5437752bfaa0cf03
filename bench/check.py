"""How long a verdict takes when nothing of it is cached: every sample, two strategies.

    python bench/check.py [--only NAME] [--json]

The engine's `check` is called in this process, TVM and its intrinsics imported, as in a warm
worker.  Each variant finds what is compiled aside once the workers are warm (the emulator and its
headers) and no compiled kernel or evaluator.  The first check of all starts with an empty cache
folder: it compiles the emulator itself.  Processor time counts the compiler's processes.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import msgspec

from explorer import samples
from explorer.emulator import compiler as cc
from explorer.engine.check import check
from explorer.engine.propose import propose
from explorer.engine.targets import cuda_tags
from explorer.engine.warm import warm
from explorer.model.loaded import Source
from explorer.model.target import Target
from explorer.primitives import AnyStep
from explorer.targets import DEFAULT

WAYS = ("default_gpu", "dlight")


class Verdict(msgspec.Struct, frozen=True):
    """One check: how long it took by the clock and in processor time, and what it said."""

    sample: str
    way: str
    wall_s: float
    cpu_s: float
    status: str


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", default="", help="samples whose name contains this")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="check-bench-") as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        warm()
        found = measure(given.only)
    print(msgspec.json.encode(found).decode() if given.json else table(found))
    return 0


def measure(only: str) -> list[Verdict]:
    """All rows; the first is the first check on a machine."""
    target = next(each for each in cuda_tags() if each.tag == DEFAULT)
    first = samples.samples()[0].name
    rows = [msgspec.structs.replace(judged(first, WAYS[0], target), way="first check of all")]
    for sample in samples.samples():
        if only in sample.name:
            for way in WAYS:
                forget()
                rows.append(judged(sample.name, way, target))
    return rows


def forget() -> None:
    """Delete compiled kernels and evaluators: everything but the emulator and its headers."""
    compiler = cc.find_compiler()
    assert compiler is not None
    for path in set(cc.cache_folder().glob("*.so")) - {cc.runtime_library(compiler)}:
        path.unlink()


def judged(name: str, way: str, target: Target) -> Verdict:
    """One check, timed."""
    source = Source(samples.sample(name).text)
    steps = msgspec.convert(propose(source, (), way, target).steps, tuple[AnyStep, ...])
    wall, cpu = time.monotonic(), processor_s()
    verdicts = check(source, steps, target, {})
    wall, cpu = time.monotonic() - wall, processor_s() - cpu
    return Verdict(name, way, wall, cpu, ", ".join(said.status for _, said in verdicts))


def processor_s() -> float:
    """Processor time of this process and all that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def table(rows: list[Verdict]) -> str:
    """The rows as Markdown."""
    lines = ["| sample | way | wall s | CPU s | verdict |", "|---|---|--:|--:|---|"]
    for each in rows:
        lines.append(
            f"| {each.sample} | {each.way} | {each.wall_s:.2f} | {each.cpu_s:.2f} | {each.status} |"
        )
    load = f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores"
    slowest = max(rows[1:], key=lambda each: each.wall_s, default=rows[0])
    lines.append(f"\nSlowest but for the first: {slowest.sample}, {slowest.wall_s:.2f} s; {load}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
