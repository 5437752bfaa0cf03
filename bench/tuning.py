"""Our tuning job against stock `tune_tir`, side by side: pace, first result, best result.

    python bench/tuning.py [--target llvm|static] [--trials 32] [--seeds 1] [--size 128]

Both tune one float32 matmul for the same target, with the same number of trials and the same seed,
one after the other on this machine, with TVM imported.  Stock gets its own defaults: local builder,
local runner, XGBoost, evolutionary search.  With `static` neither has a device: stock's runner
tells our predictions instead of times, and its builder gets the headers of the CUDA wheels, which
it does not find by itself.  A third way is then the best case for stock: instead of its builder one
in its own process, which imports and compiles nothing.  What ours needs with the check of the best
candidates is told beside.  Processor seconds show what the clock of a loaded machine hides.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import msgspec
from tvm import ir
from tvm.ir.utils import derived_object
from tvm.s_tir import meta_schedule as ms
from tvm.target import Target as TvmTarget

from explorer.engine import nvrtc
from explorer.engine.load import module
from explorer.engine.race_build import Starter
from explorer.engine.race_device import OnDevice
from explorer.engine.race_material import Material
from explorer.engine.targets import cuda_tags
from explorer.engine.tuning.job import tune
from explorer.engine.tuning.space import Space, search_target
from explorer.engine.tuning.static import predict
from explorer.engine.warm import warm
from explorer.model.loaded import Source
from explorer.model.race import HERE, Heat, Method
from explorer.model.target import Target
from explorer.runners import RUNNERS
from explorer.targets import DEFAULT, resolve
from explorer.tuning.events import Candidate, Entered, Event
from explorer.tuning.folder import Folder, Reader
from explorer.tuning.job import Task, TuneJob
from explorer.tuning.summary import Summary

MATMUL = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {n}), "float32"), B: T.Buffer(({n}, {n}), "float32"),
         C: T.Buffer(({n}, {n}), "float32")):
    for i, j, k in T.grid({n}, {n}, {n}):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


class Run(msgspec.Struct):
    """One way's run: seconds until all trials were done, in all (with what follows them), of
    processors, and until the first result."""

    search_s: float
    all_s: float
    cpu_s: float
    first_s: float | None
    tried: int
    valid: int
    best: ir.IRModule | None


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--target", choices=("llvm", "static"), default="llvm")
    options.add_argument("--trials", type=int, default=32)
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--size", type=int, default=128)
    given = options.parse_args()
    source = Source(MATMUL.format(n=given.size))
    target = resolve("llvm" if given.target == "llvm" else DEFAULT, cuda_tags())
    warm()
    what = (source, target, given.target)
    seeds = range(given.seeds)
    # Ours first: it is forked, and a process in which TVM has compiled is no good parent.
    ways = {"ours": [our_run(*what, given.trials, seed) for seed in seeds]}
    ways["stock"] = [stock_run(*what, given.trials, seed) for seed in seeds]
    if given.target == "static":
        ways["stock, our builder"] = [
            stock_run(*what, given.trials, seed, builder=texts()) for seed in seeds
        ]
    load = f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores"
    print(f"matmul {given.size}³ float32, {target.tag}, {given.trials} trials, {load}")
    print(
        "| seed | way | trials a minute | with the final check | CPU s a trial | first result s ",
        end="",
    )
    print("| valid | best |")
    print("|--:|---|--:|--:|--:|--:|--:|--:|")
    for seed in seeds:
        ours = ways["ours"][seed]
        for name, runs in ways.items():
            each = runs[seed]
            ratio = "1" if each is ours else compared(*what, ours, each)
            first = "-" if each.first_s is None else f"{each.first_s:.1f}"
            print(
                f"| {seed} | {name} | {60 * each.tried / each.search_s:.1f} "
                f"| {60 * each.tried / each.all_s:.1f} | {each.cpu_s / each.tried:.2f} | {first} "
                f"| {each.valid} of {each.tried} | {ratio} |"
            )
    return 0


def our_run(source: Source, target: Target, kind: str, trials: int, seed: int) -> Run:
    """A tuning job in a forked process, as the worker server begins it."""
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(Path(path))
        folder.create(
            TuneJob(
                source=source, target=target.tag, tasks=(Task("main"),), trials=trials, seed=seed,
                runner="llvm" if kind == "llvm" else "static",
            )
        )  # fmt: skip
        began, clock, cpu = time.time(), time.monotonic(), cpu_s()
        pid = os.fork()
        if pid == 0:
            try:
                tune(path)
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        all_s, used_s = time.monotonic() - clock, cpu_s() - cpu
        events: list[Event] = Reader(folder).news()
        made = Summary(folder.job())
        made.add(events)
        tried = [each for each in events if isinstance(each, Candidate) and each.trial]
        good = [each for each in tried if each.fate in ("measured", "predicted")]
        best = made.best("main")
        space = Space(module(source), "main", target, folder.job())
        funnel = made.funnel()
        checking = [e.at for e in events if isinstance(e, Entered) and e.phase == "checking"]
        return Run(
            checking[0] - began if checking else all_s, all_s, used_s,
            good[0].at - began if good else None,
            made.trials(), funnel["measured"] + funnel["predicted"],
            None if best is None
            else space.schedule(best.design, best.decisions, best.trace).mod,
        )  # fmt: skip


def stock_run(
    source: Source, target: Target, kind: str, trials: int, seed: int, builder: Any = None
) -> Run:
    """TVM's own `tune_tir`, with its own builder where none is given."""
    mod, first, results = module(source), list[float](), list[bool]()

    @derived_object
    class Note(ms.measure_callback.PyMeasureCallback):
        """Notes when the first valid result is there, and how many there are."""

        def apply(
            self, task_scheduler: Any, task_id: int, candidates: Any, builds: Any, measured: Any
        ) -> None:
            """Called by TVM after each batch."""
            good = [each is not None and not each.error_msg for each in measured]
            if any(good) and not first:
                first.append(time.monotonic())
            results.extend(good)

    options: dict[str, Any] = {}
    if kind == "static":
        options = {"builder": builder or noting(), "runner": predictions(target)}
    with tempfile.TemporaryDirectory() as path:
        began, cpu = time.monotonic(), cpu_s()
        stock_target: TvmTarget = search_target(target)
        database = ms.tir_integration.tune_tir(
            mod["main"], stock_target, path, trials, seed=seed + 1,
            num_trials_per_iter=min(trials, 64),
            measure_callbacks=[Note(), *ms.MeasureCallback.create("default")], **options,
        )  # fmt: skip
        all_s, used_s = time.monotonic() - began, cpu_s() - cpu
        found = ms.tir_integration.compile_tir(database, mod["main"], stock_target)
    return Run(
        all_s, all_s, used_s, first[0] - began if first else None, len(results), sum(results),
        None if found is None else found.mod,
    )  # fmt: skip


def cpu_s() -> float:
    """Processor seconds of this process and of those it has buried."""
    each = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in each)


def noting() -> Any:
    """Stock's own builder, which also leaves the module beside what it made of it."""
    tree = Path(tempfile.mkdtemp())
    headers = nvrtc.include_folders()[0]
    (tree / "include").symlink_to(headers)
    (tree / "targets/x86_64-linux").mkdir(parents=True)
    (tree / "targets/x86_64-linux/include").symlink_to(headers)
    os.environ["CUDA_PATH"] = str(tree)
    local = ms.builder.LocalBuilder()

    @derived_object
    class Noting(ms.builder.PyBuilder):
        """Builds as `local` does."""

        def build(self, build_inputs: Any) -> list[Any]:
            """Called by TVM for a batch."""
            found = list(local.build(build_inputs))
            for each, made in zip(build_inputs, found, strict=True):
                if made.error_msg is None:
                    note = Path(str(made.artifact_path)).parent / "module.json"
                    note.write_text(ir.save_json(each.mod), encoding="utf-8")
            return found

    return Noting()


def texts() -> Any:
    """A builder that only writes the module down."""

    @derived_object
    class Texts(ms.builder.PyBuilder):
        """Each in a folder of its own: TVM deletes the folder of an artifact."""

        def build(self, build_inputs: Any) -> list[Any]:
            """Called by TVM for a batch."""
            found = []
            for each in build_inputs:
                path = Path(tempfile.mkdtemp()) / "module.json"
                path.write_text(ir.save_json(each.mod), encoding="utf-8")
                found.append(ms.builder.BuilderResult(str(path), None))
            return found

    return Texts()


def predictions(target: Target) -> Any:
    """A runner whose times are our predictions."""

    @derived_object
    class Told(ms.runner.PyRunnerFuture):
        """A result that is there already."""

        def __init__(self, us: float | None, refused: str) -> None:
            super().__init__()
            self.us, self.refused = us, refused

        def done(self) -> bool:
            """Called by TVM."""
            return True

        def result(self) -> Any:
            """Called by TVM."""
            if self.us is None:
                return ms.runner.RunnerResult(None, self.refused)
            return ms.runner.RunnerResult([self.us / 1e6], None)

    @derived_object
    class Predictions(ms.runner.PyRunner):
        """Predicts one after another."""

        def run(self, runner_inputs: Any) -> list[Any]:
            """Called by TVM for a batch."""
            found = []
            for each in runner_inputs:
                note = Path(str(each.artifact_path)).parent / "module.json"
                mod = ir.load_json(note.read_text(encoding="utf-8"))
                word = predict(mod, "main", target, {})
                found.append(Told(word.us, word.refused))
            return found

    return Predictions()


def compared(source: Source, target: Target, kind: str, ours: Run, stock: Run) -> str:
    """The time of stock's best over that of our best, both timed or predicted in the same way."""
    if stock.best is None or ours.best is None:
        return "none"
    if kind == "static":
        us = [predict(each, "main", target, {}).us for each in (ours.best, stock.best)]
    else:
        heats: list[Heat] = []
        runner = RUNNERS["llvm"]
        places = runner.places(HERE, target)
        assert isinstance(places, tuple)
        OnDevice(
            runner, places[0], HERE, target, Method(budget_s=10.0),
            lambda function, place, heat: heats.append(heat),
        ).run(
            Material(module(source), "main", {}),
            [Starter("ours", ours.best), Starter("stock", stock.best)],
        )  # fmt: skip
        us = [row.median_us for row in heats[-1].rows]
    if us[0] is None or us[1] is None:
        return "not timed"
    return f"{us[1] / us[0]:.2f}"


if __name__ == "__main__":
    sys.exit(main())
