"""All checks that need a CUDA GPU, and one report file.

python tests/gpu/run.py --report tests/gpu/report.json
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from explorer import samples, workbench
from explorer.errors import UserError
from explorer.experiment import Variant
from explorer.model.loaded import Source
from explorer.model.race import Method, Race, Row, Where
from explorer.worker import client

SAMPLES = ("01_vector_add", "03_matmul_float32", "07_softmax")
EQUAL_RACES = 20

OUTSIDE = """
@I.ir_module
class Two:
    @T.prim_func(s_tir=True)
    def bad(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
        for i in range(1024):
            with T.sblock("B"):
                vi = T.axis.spatial(1024, i)
                B[vi] = A[vi + 1073741824]

    @T.prim_func(s_tir=True)
    def good(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
        for i in range(1024):
            with T.sblock("B"):
                vi = T.axis.spatial(1024, i)
                B[vi] = A[vi] + T.float32(1)
"""
"""`bad` reads far outside of A: a GPU answers with an illegal address; that sticks to a process."""
CASES = Path(__file__).parents[1] / "cases"
TIMEABLE = ("match", "mismatch")


class Failed(Exception):
    """A check that did not hold; the message says what was seen."""


def need(condition: object, what: str) -> None:
    if not condition:
        raise Failed(what)


def variants_of(source: Source, target: str, *names: str) -> tuple[Variant, ...]:
    return tuple(
        Variant(name, workbench.steps_of(workbench.propose(source, (), name, target)))
        for name in names
    )


def race(source: Source, variants: tuple[Variant, ...], **options: Any) -> Race:
    method = Method(
        budget_s=options.pop("budget_s", 2.0), cache=options.pop("cache", "warm"),
        baselines=options.pop("baselines", False),
    )  # fmt: skip
    where, sizes = options.pop("where", Where()), options.pop("sizes", {})
    return workbench.race(source, variants, "local", sizes, method=method, where=where).result()


def rows(found: Race) -> list[Row]:
    return [row for heat in found.heats for row in heat.rows]


def sample(name: str) -> Source:
    return Source(samples.sample(name).text)


def device() -> dict[str, Any]:
    refusal = workbench.can_time("local", Where())
    need(refusal is None, refusal.sentence() if refusal else "")
    tools = {tool.name: tool.version or "" for tool in workbench.tools() if tool.found}
    source = sample("01_vector_add")
    (row,) = rows(race(source, variants_of(source, "local", "default_gpu"), budget_s=0.3))
    need(row.status == "measured", f"not even a vector sum runs: {row.reason}")
    return {
        "target": workbench.resolve("local").tag,
        "tools": tools,
        "vector_add_us": row.median_us,
    }


def first_figure() -> dict[str, Any]:
    """How long after the question the first figure is there: new text, and the same again."""
    source = Source(sample("03_matmul_float32").text.replace("128", "192"))
    chosen = variants_of(source, "local", "default_gpu", "dlight")
    seen = []
    for _ in range(2):
        start, first = time.monotonic(), []

        def news(so_far: Race, start: float = start, first: list[float] = first) -> None:
            if not first and any(row.status == "measured" for row in rows(so_far)):
                first.append(time.monotonic() - start)

        workbench.race(
            source, chosen, "local", {}, method=Method(budget_s=1.0), on_news=news
        ).result()
        seen += first or [-1.0]
    need(min(seen) > 0, "no figure came")
    return {"seconds": seen}


def races() -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for name in SAMPLES:
        source = sample(name)
        found = race(source, variants_of(source, "local", "default_gpu", "dlight"))
        seen[name] = {
            "rows": {r.variant: [r.status, r.reason, r.median_us, r.low_us, r.high_us,
                                 r.check.status, r.bound_share] for r in rows(found)},
            "verdicts": [v.words for heat in found.heats for v in heat.verdicts],
            "place": [heat.place.device for heat in found.heats],
            "notes": [note for heat in found.heats for note in heat.place.notes],
        }  # fmt: skip
        need(all(r.status == "measured" for r in rows(found)), f"{name}: {seen[name]}")
        need(all(r.check.status == "match" for r in rows(found)), f"{name}: {seen[name]}")
    return seen


def equal() -> dict[str, Any]:
    source = sample("03_matmul_float32")
    (one,) = variants_of(source, "local", "dlight")
    outcomes = []
    for _ in range(EQUAL_RACES):
        found = race(source, (one, Variant("same", one.steps)), budget_s=1.0)
        outcomes += [v.outcome for heat in found.heats for v in heat.verdicts]
    need(outcomes.count("no_difference") >= 0.95 * EQUAL_RACES, f"{outcomes}")
    return {"outcomes": outcomes}


def cache() -> dict[str, Any]:
    source = sample("01_vector_add")
    chosen = variants_of(source, "local", "default_gpu")
    warm, cold = (rows(race(source, chosen, cache=how))[0] for how in ("warm", "flushed"))
    need(warm.median_us and cold.median_us, f"{warm.reason} {cold.reason}")
    need(cold.high_us >= warm.low_us, f"cold {cold.median_us} us, warm {warm.median_us} us")
    return {"warm_us": warm.median_us, "flushed_us": cold.median_us}


def fault() -> dict[str, Any]:
    source = Source(OUTSIDE)
    found = race(source, variants_of(source, "local", "default_gpu"))
    heats = {heat.function: heat.rows[0] for heat in found.heats}
    bad, good = heats["bad"], heats["good"]
    need(bad.status == "not_measured", f"{bad}")
    need(good.status == "measured" and good.check.status == "match", f"after the fault: {good}")
    return {"said": bad.reason, "after_us": good.median_us}


def bound() -> dict[str, Any]:
    """Compute-bound and memory-bound, with cold caches: both parts of the roofline hold."""
    seen = {}
    for name in ("01_vector_add", "03_matmul_float32", "04_matmul_tensor_core"):
        source = sample(name)
        found = race(source, variants_of(source, "local", "dlight"), cache="flushed")
        for heat in found.heats:
            for row in heat.rows:
                roof = None if heat.roof is None else heat.roof.source
                seen[name] = [row.median_us, row.bound_us, row.bound_share, row.reason, roof]
                need("faster" not in row.reason and "less than" not in row.reason, f"{row}")
                need(row.bound_share is None or row.bound_share <= 1.12, f"{row}")
    return seen


def libraries() -> dict[str, Any]:
    """cuBLAS through PyTorch or CuPy, where they are installed; a reason where not."""
    seen = {}
    for name in ("03_matmul_float32", "04_matmul_tensor_core", "06_batched_matmul", "07_softmax"):
        source = sample(name)
        found = race(source, variants_of(source, "local", "dlight"), baselines=True)
        for heat in found.heats:
            for row in heat.rows:
                if row.library:
                    seen[f"{name} {row.variant}"] = [
                        row.library, row.status, row.reason, row.median_us, row.check.status,
                    ]  # fmt: skip
                    need(row.check.status != "mismatch", f"{row}")
            seen[name] = [*heat.no_baseline, *(v.words for v in heat.verdicts)]
            need(heat.no_baseline or len(heat.rows) > 1, f"{name} has no library and no reason")
    return seen


def emulator() -> dict[str, Any]:
    """The emulator's verdict on every kernel against what the device computes."""
    rows_seen, different = [], []
    for name, source, variant, sizes in kernels():
        verdicts = workbench.check(source, variant.steps, "local", sizes)
        found = race(source, (variant,), sizes=sizes, budget_s=0.3)
        for heat in found.heats:
            emulated = verdicts.get(heat.function)
            row = heat.rows[0]
            said = "not_checked" if emulated is None else emulated.status
            # What reads outside, races or hangs may do anything on a device, also the right thing.
            row_says = row.check.status if row.check.status in TIMEABLE else row.status
            rows_seen.append([name, variant.name, heat.function, said, row_says, row.reason[:200]])
            if said in TIMEABLE and row_says in TIMEABLE and said != row_says:
                different.append(rows_seen[-1])
    need(rows_seen, "nothing was compared")
    need(not different, f"the emulator and the device disagree: {different}")
    return {"kernels": len(rows_seen), "table": rows_seen}


def kernels() -> Iterator[tuple[str, Source, Variant, dict[str, int]]]:
    """Samples scheduled both ways, and the cases that come with a schedule."""
    for name in (each.name for each in samples.samples()):
        source = sample(name)
        sizes = dict.fromkeys(workbench.open_source(source).symbols, 128)
        for way in ("default_gpu", "dlight"):
            try:
                (variant,) = variants_of(source, "local", way)
            except UserError:
                continue
            yield name, source, variant, sizes
    for case in sorted(CASES.iterdir()):
        if not (case / "sched.py").exists():
            continue
        source = Source((case / "module.py").read_text(encoding="utf-8"))
        try:
            text = (case / "sched.py").read_text(encoding="utf-8")
            proposal = workbench.read_schedule(source, text, ())
            sizes = dict.fromkeys(workbench.open_source(source).symbols, 128)
        except UserError:
            continue
        yield case.name, source, Variant("schedule", workbench.steps_of(proposal)), sizes


def lock() -> dict[str, Any]:
    source = sample("03_matmul_float32")
    chosen = variants_of(source, "local", "dlight")
    start = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: race(source, chosen), range(2)))
    need(all(row.status == "measured" for each in found for row in rows(each)), f"{found}")
    return {"seconds": time.monotonic() - start}


def rpc() -> dict[str, Any]:
    port = 9097
    server = subprocess.Popen(
        [sys.executable, "-m", "tvm.exec.rpc_server", "--host", "127.0.0.1", "--port", str(port),
         "--port-end", str(port + 1), "--no-fork"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        source = sample("01_vector_add")
        chosen = variants_of(source, "local", "default_gpu")
        for _ in range(30):
            time.sleep(1)
            where = Where(server=f"127.0.0.1:{port}", again=True)
            row = rows(race(source, chosen, where=where))[0]
            if row.status == "measured":
                return {"median_us": row.median_us, "check": row.check.status}
        raise Failed(row.reason)
    finally:
        server.kill()
        server.wait()


def script() -> dict[str, Any]:
    source = sample("03_matmul_float32")
    (chosen,) = variants_of(source, "local", "default_gpu")
    made = workbench.export(source, chosen.steps, "local", {}, "python")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "schedule.py")
        path.write_text(made.text, encoding="utf-8")
        ends = {}
        for limit in ("1e9", "0.001"):
            done = subprocess.run(
                [sys.executable, str(path), "--expect-us", limit, "--tolerance", "5%"],
                capture_output=True, text=True, timeout=300, check=False,
            )  # fmt: skip
            ends[limit] = (done.returncode, done.stdout[-2000:], done.stderr[-500:])
    need(ends["1e9"][0] == 0 and ends["0.001"][0] == 1, f"{ends}")
    return {"said": ends["1e9"][1]}


CHECKS: dict[str, Callable[[], dict[str, Any]]] = {
    "device": device, "first_figure": first_figure, "race": races, "equal": equal, "cache": cache,
    "bound": bound, "fault": fault, "lock": lock, "rpc": rpc, "script": script,
    "libraries": libraries, "emulator": emulator,
}  # fmt: skip


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--report", type=Path, default=Path(__file__).with_name("report.json"))
    options.add_argument("--only", choices=CHECKS, action="append")
    given = options.parse_args()
    client.start()
    report: dict[str, Any] = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "checks": {}}
    for name in given.only or CHECKS:
        start = time.monotonic()
        try:
            outcome = {"passed": True, "seen": CHECKS[name]()}
        except (Failed, UserError) as failed:
            outcome = {"passed": False, "seen": str(failed)}
        except Exception:  # noqa: BLE001  the other checks are still worth their time
            outcome = {"passed": False, "seen": traceback.format_exc()}
        outcome["seconds"] = round(time.monotonic() - start, 1)
        report["checks"][name] = outcome
        print(f"{name}: {'passed' if outcome['passed'] else 'FAILED'}", flush=True)
        given.report.write_text(json.dumps(report, indent=1), encoding="utf-8")
    client.close()
    return 0 if all(each["passed"] for each in report["checks"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
