"""The bind doctor: what keeps a module from being kernels, and cures tried before they are offered.

Every cure is applied, built, compiled and checked like any variant; what fails says why.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import msgspec

from explorer import cures, workbench
from explorer.comparison import Made, Question, build_checked, with_findings
from explorer.errors import UserError
from explorer.findings import CHECKS
from explorer.model.diagnosis import Diagnosis, ErrorText, Launch, Place, TriedCure
from explorer.model.loaded import Source
from explorer.model.result import NOT_CHECKED, Build, Check, Finding, RuleOutcome
from explorer.primitives import Step

Steps = tuple[Step, ...]

STRATEGIES = {"strategy:default_gpu": "DefaultGPUSchedule", "strategy:dlight": "dlight"}
"""TVM's own ways, which are always tried."""
CURABLE = ("no_kernel", "partly_on_host", "host_loop_launch")
"""Findings that mean: something here is not bound."""
PARALLEL = 3
_ORDER = ("works", "helps", "fails")
_WORST = ("out_of_bounds", "mismatch", "race", "deadlock", "not_checked", "match")
_RIGHT = ("match", "not_checked")


def label(cure_id: str) -> str:
    """A cure by name."""
    return STRATEGIES.get(cure_id, "Bind for me" if cure_id == cures.BIND else cure_id)


def diagnose(
    source: Source,
    steps: Steps,
    target: str,
    sizes: dict[str, int],
    error: ErrorText | None = None,
) -> Diagnosis:
    """The state of a variant, with every cure tried.  Raises LoadError, TargetError, WorkerDied."""
    build = with_findings(
        workbench.build(source, steps, target, sizes),
        workbench.findings(source, steps, target, sizes),
    )
    found = bad_places(build)
    if not found:
        if build.status in ("failed", "refused"):
            return Diagnosis(status="ill", what=build.reason, error=error)
        fine = "Every function that is wanted on the GPU is a kernel: nothing is unbound."
        return Diagnosis(status="healthy", what=build.reason or fine, error=error)
    ids = cure_ids(build)
    with ThreadPoolExecutor(max_workers=PARALLEL) as pool:
        tried = pool.map(lambda cure_id: try_cure(source, steps, cure_id, target, sizes), ids)
        done = sorted(tried, key=lambda cure: _ORDER.index(cure.outcome))
    return Diagnosis(
        status="ill",
        what=build.reason or found[0].message,
        why=why(found[0].code),
        places=tuple(
            Place(function=f.function, where=f.where, node=f.node, message=f.message, do=f.cure)
            for f in found
        ),
        cures=tuple(done),
        error=error,
    )  # fmt: skip


def bad_places(build: Build) -> tuple[Finding, ...]:
    """The findings that say what is not bound."""
    return tuple(f for f in build.findings if f.code in CURABLE and f.severity == "error")


def cure_ids(build: Build) -> tuple[str, ...]:
    """The cures worth trying: binding where it may help, then TVM's own ways."""
    found = bad_places(build)
    named = [cure for f in found for cure in (f.cures or ((f.cure_id,) if f.cure_id else ()))]
    if found and not any(cure.startswith(cures.BIND) for cure in named):
        named.insert(0, cures.BIND)
    return cures.offered([*named, *STRATEGIES]) if found else ()


def why(code: str) -> str:
    """Why a finding matters, from its check's own docs."""
    check = CHECKS.get(code)
    about = (check.__doc__ or "").split("\n\n") if check is not None else []
    told = next((part for part in about if part.startswith("Why it matters:")), "")
    told = " ".join(told.removeprefix("Why it matters:").split())
    return told[:1].upper() + told[1:]


def try_cure(
    source: Source, steps: Steps, cure_id: str, target: str, sizes: dict[str, int]
) -> TriedCure:
    """One cure applied behind `steps`, built, compiled and checked; a failure is a value."""
    before = workbench.build(source, steps, target, sizes)
    first: TriedCure | None = None
    for made in _attempts(source, steps, cure_id, target):
        tried = made if isinstance(made, TriedCure) else _tried(
            source, steps, cure_id, target, sizes, made, before
        )  # fmt: skip
        if tried.outcome == "works":
            return tried
        if first is None or (first.outcome, tried.outcome) == ("fails", "helps"):
            first = tried
    return first or _failed(cure_id, "There is no loop or block that could be bound.")


def _attempts(source: Source, steps: Steps, cure_id: str, target: str) -> list[Made | TriedCure]:
    """What to put behind `steps`, best first; what can't be put there is a failed cure."""
    try:
        if cure_id.startswith(cures.BIND):
            return [
                Made(plan) if (no := workbench.refused(source, steps, plan)) is None
                else _failed(cure_id, no.sentence())
                for plan in workbench.bind_plans(source, steps, cure_id)
            ]  # fmt: skip
        proposal = workbench.propose(source, steps, cure_id.partition(":")[2], target)
        made = Made(workbench.steps_of(proposal), proposal.outcomes, strategy=True)
        if not made.steps:
            return [_failed(cure_id, _declined(made.outcomes) or proposal.note, made.outcomes)]
        return [made]
    except UserError as error:
        return [_failed(cure_id, str(error))]


def _tried(
    source: Source,
    steps: Steps,
    cure_id: str,
    target: str,
    sizes: dict[str, int],
    made: Made,
    before: Build,
) -> TriedCure:
    question = Question(source=source, target=target, sizes=sizes)
    try:
        built, _ = build_checked(question, Made(steps + made.steps))
    except UserError as error:
        return _failed(cure_id, str(error), made.outcomes)
    launches = tuple(
        Launch(function=f.name, kernel=k.name, grid=k.grid, block=k.block)
        for f in built.functions
        for k in f.kernels
    )
    plain = msgspec.json.decode(msgspec.json.encode(made.steps))
    tried = TriedCure(
        id=cure_id, label=label(cure_id), outcome="works", steps=plain, launches=launches,
        check=_worst(built), outcomes=made.outcomes,
    )  # fmt: skip
    wrong = _wrong(built)
    if wrong:
        return msgspec.structs.replace(tried, outcome="fails", reason=wrong)
    bare = {f.name: f.reason for f in built.functions if f.status == "no_kernel"}
    bare |= {f.function: f.message for f in bad_places(built)}
    if not bare:
        return tried
    reason = " ".join(
        f"{name}: {why} {_declined(made.outcomes, name)}".strip() for name, why in bare.items()
    )
    ill = {f.function for f in bad_places(before)} | {
        f.name for f in before.functions if f.status == "no_kernel"
    }
    cured = any(f.kernels for f in built.functions if f.name in ill - set(bare))
    helps = cured and set(bare) <= ill
    return msgspec.structs.replace(tried, outcome="helps" if helps else "fails", reason=reason)


def _wrong(built: Build) -> str:
    """What was shown to be wrong with the kernels that there are, or ""."""
    for function in built.functions:
        if function.check.status not in _RIGHT:
            return f"{function.name}: {function.check.detail}"
    made = {function.name for function in built.functions if function.kernels}
    errors = [
        f for f in built.findings
        if f.severity == "error" and f.code not in CURABLE and f.function in made
    ]  # fmt: skip
    return f"{errors[0].function}: {errors[0].message}" if errors else ""


def _worst(built: Build) -> Check:
    checks = [f.check for f in built.functions if f.status == "built" and f.kernels]
    return min(checks, key=lambda check: _WORST.index(check.status), default=NOT_CHECKED)


def _declined(outcomes: tuple[RuleOutcome, ...], function: str = "") -> str:
    """What the rules said against a function (or all), failures before the last refusal."""
    said = [o for o in outcomes if o.reason and function in ("", o.function)]
    said = [o for o in said if o.status in ("failed", "declined", "skipped")]
    failed = [o for o in said if o.status == "failed"]
    parts = [f"{o.rule} {o.status}: {o.reason.rstrip('.')}." for o in (failed or said[-1:])[:2]]
    return " ".join(parts)


def _failed(cure_id: str, reason: str, outcomes: tuple[RuleOutcome, ...] = ()) -> TriedCure:
    return TriedCure(
        id=cure_id, label=label(cure_id), outcome="fails", reason=reason, outcomes=outcomes
    )
