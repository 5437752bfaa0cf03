"""What a tuning job comes to, as text for people and as plain data."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import msgspec

from explorer.tuning.events import Candidate
from explorer.tuning.records import Records
from explorer.tuning.summary import FUNNEL, Summary, figure

BAR = 20
COMMAND = "python -m explorer"


def resume_command(path: Path) -> str:
    """The command that goes on with the job."""
    return f"{COMMAND} tune --work-dir {shlex.quote(str(path))} --resume"


def progress(summary: Summary, now: float) -> str:
    """Where the job is, in one line."""
    job = summary.job
    done = min(summary.trials(), job.trials)
    filled = BAR * done // job.trials if job.trials else 0
    parts = [f"[{'#' * filled}{'-' * (BAR - filled)}] {done}/{job.trials} trials"]
    phases = {f"{phase} {name}" for name, phase in summary.phase.items()}
    parts += sorted(phases)[:1] if len(phases) == 1 else [f"{len(phases)} functions"] * bool(phases)
    if summary.paused:
        parts.append("paused")
    best = [(each.function, b) for each in job.tasks if (b := summary.best(each.function))]
    parts += [f"best {figure_words(b)}" if len(job.tasks) == 1 else f"{f} {figure_words(b)}"
              for f, b in best[:3]]  # fmt: skip
    left = summary.left_s(now)
    if left is not None:
        parts.append(f"about {left / 60:.0f} min left" if left > 90 else f"about {left:.0f} s left")
    return "  ".join(parts)


def report(summary: Summary, path: Path) -> str:
    """What came of it: for each function the best beside its rivals, and how to go on."""
    parts = []
    for task in summary.job.tasks:
        best = summary.best(task.function)
        if best is None:
            parts.append(f"{task.function}: no candidate has a time. {common_reason(summary)}")
            continue
        parts.append(f"{task.function}: {figure_words(best)}, candidate {best.id}")
        checked = summary.checked.get(best.id)
        said = "not checked" if checked is None else checked.check.status.replace("_", " ")
        detail = checked.check.detail if checked is not None else ""
        parts.append(f"    check: {said}{f' ({detail})' if detail else ''}")
        for (function, name), rival in summary.rivals.items():
            if function == task.function:
                us = rival.us if rival.us is not None else rival.predicted_us
                parts.append(f"    {name}: {rival.reason if us is None else micros(us)}")
    counts = summary.funnel()
    told = [f"{n} {fate.replace('_', ' ')}" for fate in FUNNEL if (n := counts[fate])]
    parts.append(f"{summary.trials()} trials; {', '.join(told) or 'no candidates'}")
    end = summary.finished
    if end is not None:
        parts.append(f"Ended: {end.how}. {end.reason}".strip())
    parts.append(f"Everything is kept in {path}. Go on: {resume_command(path)}")
    best_ids = [b.id for task in summary.job.tasks if (b := summary.best(task.function))]
    if best_ids:
        parts.append(f"Take the best out: {COMMAND} export MODULE --tuned {path}#{best_ids[0]}")
    return "\n".join(parts)


def summary(state: Summary, path: Path) -> dict[str, Any]:
    """The same as plain data."""
    end = state.finished
    return {
        "work_dir": str(path),
        "how": None if end is None else end.how,
        "reason": "" if end is None else end.reason,
        "trials": state.trials(),
        "funnel": state.funnel(),
        "functions": [
            {
                "function": task.function,
                "best": _best(state, task.function),
                "rivals": [
                    {"name": name, "us": r.us, "predicted_us": r.predicted_us, "reason": r.reason}
                    for (function, name), r in state.rivals.items() if function == task.function
                ],
            }
            for task in state.job.tasks
        ],
        "resume": resume_command(path),
    }  # fmt: skip


def _best(state: Summary, function: str) -> dict[str, Any] | None:
    best = state.best(function)
    if best is None:
        return None
    checked = state.checked.get(best.id)
    check = {"status": "not_checked"} if checked is None else msgspec.to_builtins(checked.check)
    return {
        "id": best.id, "fate": best.fate, "us": best.us, "predicted_us": best.predicted_us,
        "origin": best.origin, "check": check,
    }  # fmt: skip


def common_reason(summary: Summary) -> str:
    """The reason that most candidates gave; "" when none gave one."""
    reasons: dict[str, int] = {}
    for each in summary.candidates.values():
        if each.reason:
            reasons[each.reason] = reasons.get(each.reason, 0) + 1
    return max(reasons, key=lambda each: reasons[each], default="")


def figure_words(candidate: Candidate) -> str:
    """A time, or a prediction called so."""
    us = figure(candidate)
    assert us is not None
    return micros(us) + (" predicted" if candidate.fate == "predicted" else "")


def micros(us: float) -> str:
    """A time with four digits."""
    return f"{us:.4g} µs" if us < 10_000 else f"{us / 1000:.4g} ms"


def records(found: Records, path: str) -> str:
    """A database as text: each workload with its records, fastest first, and what was skipped."""
    parts = []
    numbers = dict.fromkeys(
        [w.number for w in found.workloads] + [r.workload for r in found.records]
    )
    for number in numbers:
        workload = found.workload(number)
        about = "its line is missing" if workload is None else workload.reason or workload.about()
        mine = found.of(number)
        parts.append(f"workload {number}: {about}; {len(mine)} records")
        for each in mine:
            time = "no time" if each.us is None else micros(each.us)
            target = each.target or "no target"
            parts.append(
                f"    {each.number:>5}  {time:>12}  {each.instructions} instructions  {target}"
            )
    parts += [f"skipped: {bad.file} line {bad.line}: {bad.reason}" for bad in found.skipped]
    if found.records:
        parts.append(f"One as a file: {COMMAND} records {path} --export best -o FILE")
    return "\n".join(parts) or "The database is empty."
