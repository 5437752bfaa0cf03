"""How long the workers take: click to graph and TVMScript, to CUDA source, four variants' source.

    python bench/server_side.py [--rounds 5] [--json]

Everything is asked through the workbench, as the page does: JSON to a worker process and back is
in the times.  Workers are warm.  Every click adds a step that was not asked for before, so no time
is that of a remembered answer.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.rows import Row, finish, row
from explorer import samples, workbench
from explorer.model.loaded import Source
from explorer.model.nest import Loop
from explorer.primitives import STEPS, Step
from explorer.targets import DEFAULT
from explorer.worker import client

SAMPLES = ("01_vector_add", "03_matmul_float32", "07_softmax", "13_conv2d", "14_int4_matmul")
FACTORS = (2, 4, 8, 16, 32, 64)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    return finish(measure(given.rounds), given.json)


def measure(rounds: int) -> list[Row]:
    """All rows.  Starts the workers and waits until they are warm."""
    client.start()
    if not client.wait_until_ready():
        raise SystemExit("The workers did not get ready.")
    opened: list[float] = []
    clicked: list[float] = []
    built: list[float] = []
    found: list[float] = []
    compared: list[float] = []
    for round_ in range(rounds):
        for name in SAMPLES:
            # A text of its own, so that nothing of an earlier round is remembered.
            source = Source(f"# round {round_}\n{samples.sample(name).text}")
            opened.append(timed(partial(first_picture, source)))
            manual: tuple[Step, ...] = ()
            for steps in clicks(source):
                clicked.append(timed(partial(workbench.view, source, steps)))
                built.append(timed(partial(workbench.build, source, steps, DEFAULT, {})))
                found.append(timed(partial(workbench.findings, source, steps, DEFAULT, {})))
                manual = steps
            compared.append(timed_comparison(source, manual))
    return [
        row("module opened: load, nest, TVMScript", opened, None),
        row("click → new graph and TVMScript", clicked, 100),
        row("click → CUDA source", built, 200),
        row("static findings after it", found, None),
        row("four variants' CUDA source", compared, 500),
    ]


def first_picture(source: Source) -> None:
    """What the page needs to draw a module for the first time."""
    workbench.open_source(source)
    workbench.view(source, ())


def clicks(source: Source) -> Iterator[tuple[Step, ...]]:
    """Growing lists of steps: the loops of every block split, then bound, as a user would."""
    split, bind = STEPS["split"], STEPS["bind"]
    steps: tuple[Step, ...] = ()
    for number, factor in enumerate(FACTORS[:3]):
        nest = workbench.view(source, steps).nest
        loops = [
            node
            for function in nest.functions
            for node in function.nodes
            if isinstance(node, Loop) and node.ref and node.mode == "serial"
        ]
        spatial = [loop for loop in loops if loop.kind == "spatial"]
        steps = (*steps, split(spatial[-1].ref, (None, factor)))
        yield steps
        if number == 0:
            steps = (*steps, bind(spatial[0].ref, "blockIdx.x"))
            yield steps


def timed_comparison(source: Source, manual: tuple[Step, ...]) -> float:
    """Original, by hand, DefaultGPUSchedule and dlight built at the same time.

    The proposals are made before the clock starts: a variant's steps are known when it is compared.
    """
    variants = [(), manual]
    for strategy in ("default_gpu", "dlight"):
        proposal = workbench.propose(source, (), strategy, DEFAULT)
        variants.append(workbench.steps_of(proposal))
    with ThreadPoolExecutor(len(variants)) as threads:

        def all_four() -> None:
            list(threads.map(lambda s: workbench.build(source, s, DEFAULT, {}), variants))

        return timed(all_four)


def timed(action: Callable[[], object]) -> float:
    """Milliseconds that `action` takes."""
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


if __name__ == "__main__":
    sys.exit(main())
