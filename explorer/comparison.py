"""Variants of one module side by side: what `compare` reports, assembled from workbench verbs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import msgspec

from explorer import workbench
from explorer.errors import Problem, StepRefused, UserError
from explorer.model.loaded import Loaded, Source
from explorer.model.report import Report, VariantReport, migration_report, variant_report
from explorer.model.result import (
    Build,
    Check,
    Compiled,
    Finding,
    FunctionBuild,
    RuleOutcome,
    Time,
    VariantStatus,
)
from explorer.primitives import Step
from explorer.targets.local import detect

ORIGINAL = "original"
PARALLEL = 3
"""Variants worked on at the same time."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What to compare: strategies by name, schedule texts and known steps by variant name."""

    source: Source
    target: str
    names: tuple[str, ...] = ()
    schedules: tuple[tuple[str, str], ...] = ()
    variants: tuple[tuple[str, tuple[Step, ...]], ...] = ()
    function: str = ""
    sizes: dict[str, int] | None = None


@dataclass(frozen=True)
class Made:
    """How a variant came about: its steps, and what each rule said."""

    steps: tuple[Step, ...] = ()
    outcomes: tuple[RuleOutcome, ...] = ()
    strategy: bool = False


def compare(question: Question, loaded: Loaded) -> Report:
    """Every variant built, compiled and checked; one that fails is a row with its reason.

    Raises TargetError when the target is unknown.
    """
    workbench.resolve(question.target)
    names = [*question.names, *(name for name, _ in question.schedules)]
    names += [name for name, _ in question.variants]
    with ThreadPoolExecutor(max_workers=PARALLEL) as pool:
        variants = tuple(pool.map(lambda name: _variant(question, name), names))
    return Report(
        target=question.target,
        migrations=tuple(migration_report(change) for change in loaded.migrations),
        variants=variants,
        other_modules=(
            tuple(name for name in loaded.modules if name != loaded.module) or msgspec.UNSET
        ),
    )


def _variant(question: Question, name: str) -> VariantReport:
    made = Made()
    try:
        made = make(question, name)
        built, lines = build_checked(question, made)
    except UserError as error:
        broke = error.problem.kind in ("WorkerDied", "BuildError")
        status: VariantStatus = "failed" if broke else "refused"
        return variant_report(name, Build(status=status, reason=str(error)), ())
    built = _with_rules(built, made)
    if question.function:
        built = only(built, question.function)
    return variant_report(name, built, lines)


def make(question: Question, name: str) -> Made:
    """The steps of a variant.  Raises UserError when it can't be made."""
    for variant, steps in question.variants:
        if variant == name:
            return Made(steps)
    for schedule, text in question.schedules:
        if schedule == name:
            return Made(workbench.schedule_steps(question.source, text))
    if name == ORIGINAL:
        return Made()
    proposal = workbench.propose(question.source, (), name, question.target, question.function)
    return Made(workbench.steps_of(proposal), proposal.outcomes, strategy=True)


def build_checked(question: Question, made: Made) -> tuple[Build, tuple[str, ...]]:
    """A variant built, looked at, compiled and checked, with its lines of Python.

    Raises StepRefused for the first step that does not apply, and what its verbs raise.
    """
    source, sizes = question.source, question.sizes or {}
    view = workbench.view(source, made.steps)
    lines = tuple(line for step in view.steps for line in step.lines)
    for step in view.steps:
        if step.refusal is not None:
            raise StepRefused(step.refusal.what, step.refusal.why, step.refusal.do)
    built = workbench.build(source, made.steps, question.target, sizes)
    built = with_findings(built, _findings(question, made))
    if any(function.kernels for function in built.functions):
        built = with_compiled(built, workbench.compile_check(source, made.steps, question.target))
    if any(function.kernels for function in built.functions if function.status == "built"):
        built = with_checks(built, _checks(question, made, built))
    return with_wrong(with_times(built)), lines


def _findings(question: Question, made: Made) -> tuple[Finding, ...]:
    try:
        sizes = question.sizes or {}
        return workbench.findings(question.source, made.steps, question.target, sizes)
    except UserError as error:
        return unseen(error.problem)


def _checks(question: Question, made: Made, built: Build) -> dict[str, Check]:
    """Every function's verdict; a check that could not be made says why."""
    try:
        return workbench.check(
            question.source, made.steps, question.target, question.sizes or {}, question.function
        )
    except UserError as error:
        why = Check(status="not_checked", detail=str(error))
        return {function.name: why for function in built.functions}


def with_findings(built: Build, seen: tuple[Finding, ...]) -> Build:
    """A build with what the static checks saw, in place of what they explain better."""
    known = {(each.code, each.function, each.node) for each in seen}
    explained = {each.function for each in seen if each.severity == "error"}
    own = tuple(
        each
        for each in built.findings
        if (each.code, each.function, each.node) not in known
        and not (each.code == "not_lowered" and each.function in explained)
    )
    return msgspec.structs.replace(built, findings=own + seen)


def unseen(problem: Problem) -> tuple[Finding, ...]:
    """What takes the findings' place when the static checks could not run."""
    said = Finding(
        code="check_failed", severity="warning", function="", where="static checks",
        message=f"The static checks could not run: {problem.what} {problem.why}".strip(),
        cure="Treat their points as not checked.",
    )  # fmt: skip
    return (said,)


def with_compiled(built: Build, compiled: tuple[Compiled, ...]) -> Build:
    """A build after NVRTC's word: text it refuses is no kernel, and text it never saw is said."""
    findings: list[Finding] = []
    refused: dict[str, str] = {}
    for each in compiled:
        where = f"kernels of {each.function}"
        if each.line is not None:
            where = f"CUDA line {each.line}: {each.text}"
        if each.status == "refused":
            refused[each.function] = each.detail
            findings.append(
                Finding(
                    code="nvrtc_error", severity="error", function=each.function, where=where,
                    message=each.detail,
                    cure=_change(each),
                )
            )  # fmt: skip
        elif each.status == "not_compiled":
            findings.append(
                Finding(
                    code="not_compiled", severity="info", function=each.function, where=where,
                    message=f"The CUDA text was generated, not compiled. {each.detail}",
                )
            )  # fmt: skip
    functions = tuple(
        msgspec.structs.replace(function, status="no_kernel", reason=refused[function.name])
        if function.name in refused
        else function
        for function in built.functions
    )
    reason = " ".join(f"{name}: {detail}" for name, detail in refused.items())
    return msgspec.structs.replace(
        built,
        functions=functions,
        findings=built.findings + tuple(findings),
        status="failed" if refused else built.status,
        reason=" ".join(part for part in (built.reason, reason) if part),
    )


def _change(refused: Compiled) -> str:
    """What to do about a text that NVRTC refuses."""
    if refused.step:
        return f"Change step {refused.step} ({refused.step_line}); TVM itself accepted it."
    if refused.step == 0:
        return "Change the module itself; TVM accepted it."
    return "Change the step that made this line; TVM itself accepted it."


def with_checks(built: Build, checks: dict[str, Check]) -> Build:
    """A build with the verdict on each function's results."""
    functions = tuple(
        msgspec.structs.replace(function, check=checks[function.name])
        if function.name in checks
        else function
        for function in built.functions
    )
    return msgspec.structs.replace(built, functions=functions)


def with_wrong(built: Build) -> Build:
    """A build whose reason says which kernels were shown to be wrong."""
    wrong = [
        f"{function.name} is wrong ({function.check.status}): {function.check.detail}"
        for function in built.functions
        if function.check.status not in ("match", "not_checked")
    ]
    return msgspec.structs.replace(built, reason=" ".join(filter(None, (built.reason, *wrong))))


def with_times(built: Build) -> Build:
    """A build whose missing times and checks say why they are missing."""
    return msgspec.structs.replace(
        built, functions=tuple(_timed(function) for function in built.functions)
    )


def _timed(function: FunctionBuild) -> FunctionBuild:
    untimed = function.time.status == "not_measured"
    if function.status == "built" and function.kernels and untimed and detect():
        why = "Not timed by this program: the exported script times it on this machine's GPU."
        return msgspec.structs.replace(function, time=Time(status="not_measured", reason=why))
    if function.status != "built":
        why = "Not built." if function.status == "no_kernel" else function.reason
        return msgspec.structs.replace(
            function,
            time=Time(status="not_measured", reason=why),
            check=Check(status="not_checked", detail=why),
        )
    return function


def _with_rules(built: Build, made: Made) -> Build:
    """A strategy's build, with the rule that scheduled each function or why none did."""
    if not made.strategy:
        return built
    functions = tuple(_with_rule(function, made.outcomes) for function in built.functions)
    built = msgspec.structs.replace(built, functions=functions)
    said = _said(made.outcomes)
    if not made.steps:
        failed = any(outcome.status == "failed" for outcome in made.outcomes)
        return msgspec.structs.replace(
            built,
            status="failed" if failed else "not_applicable",
            reason=said or "No function could be scheduled this way.",
        )
    if built.status == "failed" and said:
        return msgspec.structs.replace(built, reason=f"{built.reason} {said}")
    return built


def _with_rule(function: FunctionBuild, outcomes: tuple[RuleOutcome, ...]) -> FunctionBuild:
    applied = [o.rule for o in outcomes if o.function == function.name and o.status == "applied"]
    return msgspec.structs.replace(function, rule=applied[-1]) if applied else function


def _said(outcomes: tuple[RuleOutcome, ...]) -> str:
    """What kept a strategy from scheduling functions, in words; "" when it scheduled all."""
    done = {outcome.function for outcome in outcomes if outcome.status == "applied"}
    parts = []
    for name in dict.fromkeys(outcome.function for outcome in outcomes):
        if name not in done:
            said = [outcome for outcome in outcomes if outcome.function == name]
            failed = [o for o in said if o.status == "failed"] or said
            parts.append("; ".join(f"{o.rule} on {name} {o.status}: {o.reason}" for o in failed))
    return " ".join(part if part.endswith(".") else part + "." for part in parts)


def only(built: Build, name: str) -> Build:
    """A build narrowed to one function."""
    functions = tuple(function for function in built.functions if function.name == name)
    if built.status not in ("built", "failed"):
        return msgspec.structs.replace(built, functions=functions)
    found = tuple(each for each in built.findings if each.function in (name, ""))
    reasons = [function.reason for function in functions if function.status != "skipped"]
    failed = any(reasons)
    skipped = all(function.status == "skipped" for function in functions)
    return msgspec.structs.replace(
        built,
        functions=functions,
        findings=found,
        status="failed" if failed else "not_applicable" if skipped else "built",
        reason=" ".join(filter(None, reasons)) or (functions[0].reason if skipped else ""),
    )
