"""What `compare --json` prints: every variant side by side, as plain data with fixed names."""

from __future__ import annotations

from typing import Any

import msgspec

from explorer.model.loaded import Migration
from explorer.model.result import (
    Build,
    Finding,
    FunctionBuild,
    FunctionStatus,
    Kernel,
    Severity,
    VariantStatus,
)


class MigrationReport(msgspec.Struct, frozen=True):
    """One rewrite of the text; `line` is 1-based."""

    rule: str
    line: int
    before: str
    after: str


class KernelReport(msgspec.Struct, frozen=True):
    """A kernel and its launch, extents in order x, y, z: numbers, or text while a size is open."""

    name: str
    grid: tuple[int | str, ...]
    block: tuple[int | str, ...]
    shared_bytes: int
    """Static and dynamic shared memory of a block."""
    source: str


class CheckReport(msgspec.Struct, frozen=True):
    """A verdict on the results and what it covered."""

    status: str
    detail: str


class TimeReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """A time in microseconds, or why there is none and what would give it."""

    status: str
    reason: str
    median_us: float | None = None
    low_us: float | None = None
    high_us: float | None = None
    runs: int = 0
    runner: str = ""
    device: str = ""


class FunctionReport(msgspec.Struct, frozen=True):
    """One function of a variant; `rule` is the automatic rule that scheduled it, or ""."""

    name: str
    status: FunctionStatus
    reason: str
    rule: str
    kernels: tuple[KernelReport, ...]
    check: CheckReport
    time: TimeReport


class FindingReport(msgspec.Struct, frozen=True):
    """Something a static check saw."""

    code: str
    severity: Severity
    function: str
    where: str
    message: str
    cure: str


class VariantReport(msgspec.Struct, frozen=True):
    """One variant: what it came to and how; `steps` are lines of Python."""

    name: str
    status: VariantStatus
    reason: str
    functions: tuple[FunctionReport, ...]
    findings: tuple[FindingReport, ...]
    steps: tuple[str, ...]


class Report(msgspec.Struct, frozen=True):
    """All variants of a module for one target; `verdicts` only where they were timed.

    `other_modules` are further ones in the text, which were left alone, where there are some.
    """

    target: str
    migrations: tuple[MigrationReport, ...]
    variants: tuple[VariantReport, ...]
    other_modules: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    verdicts: Any = msgspec.UNSET


def variant_report(name: str, build: Build, steps: tuple[str, ...]) -> VariantReport:
    """A build as it is reported."""
    return VariantReport(
        name=name,
        status=build.status,
        reason=build.reason,
        functions=tuple(_function(function) for function in build.functions),
        findings=tuple(_finding(finding) for finding in build.findings),
        steps=steps,
    )


def migration_report(change: Migration) -> MigrationReport:
    """A rewrite as it is reported."""
    return MigrationReport(change.rule, change.line, change.before, change.after)


def _function(function: FunctionBuild) -> FunctionReport:
    return FunctionReport(
        name=function.name,
        status=function.status,
        reason=function.reason,
        rule=function.rule,
        kernels=tuple(_kernel(kernel) for kernel in function.kernels),
        check=CheckReport(function.check.status, function.check.detail),
        time=TimeReport(function.time.status, function.time.reason, function.time.median_us),
    )


def _kernel(kernel: Kernel) -> KernelReport:
    return KernelReport(
        name=kernel.name,
        grid=tuple(_number(extent) for extent in kernel.grid),
        block=tuple(_number(extent) for extent in kernel.block),
        shared_bytes=kernel.shared_bytes + kernel.dynamic_shared_bytes,
        source=kernel.source,
    )


def _finding(found: Finding) -> FindingReport:
    return FindingReport(
        found.code, found.severity, found.function, found.where, found.message, found.cure
    )


def _number(extent: str) -> int | str:
    return int(extent) if extent.isdigit() else extent
