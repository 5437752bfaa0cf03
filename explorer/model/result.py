"""What became of a variant: build, kernels, findings, check and time.  Shapes of `--json`."""

from __future__ import annotations

from typing import Literal

import msgspec

from explorer.errors import Refusal

Severity = Literal["error", "warning", "info"]
VariantStatus = Literal["built", "refused", "failed", "not_applicable"]
FunctionStatus = Literal["built", "no_kernel", "skipped"]
CheckStatus = Literal["match", "mismatch", "out_of_bounds", "race", "deadlock", "not_checked"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing a static check saw.

    `where` names loops, blocks or buffers in words; `node` is the nest node to light up; `cure` is
    a sentence saying what to try; `cure_id` names a one-click cure the workbench knows
    ("bind:<node id>", "strategy:default_gpu", "strategy:dlight"), or is empty; `cures` are all of
    them, best first, when there are several.
    """

    code: str
    severity: Severity
    function: str
    where: str
    message: str
    cure: str = ""
    node: str = ""
    cure_id: str = ""
    cures: tuple[str, ...] = ()


class Kernel(msgspec.Struct, frozen=True, kw_only=True):
    """A `__global__` function of the emitted CUDA text and how the host launches it.

    `grid` and `block` are extents in order x, y, z as text (numbers, or expressions for dynamic
    shapes); `shared_bytes` is static shared memory, `dynamic_shared_bytes` what the launch adds.
    """

    name: str
    grid: tuple[str, str, str]
    block: tuple[str, str, str]
    shared_bytes: int
    dynamic_shared_bytes: int = 0
    source: str = ""
    launches: str = "1"
    """How often one call launches it: "1", or the extent of the host loop around it."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict on the emitted kernels and what it covered."""

    status: CheckStatus
    detail: str
    covered: str = ""
    max_error: float | None = None


class Time(msgspec.Struct, frozen=True, kw_only=True):
    """A timing, or why there is none and what would give it."""

    status: Literal["measured", "not_measured"]
    reason: str = ""
    median_us: float | None = None
    low_us: float | None = None
    high_us: float | None = None
    runs: int = 0
    runner: str = ""
    device: str = ""


NOT_MEASURED = Time(
    status="not_measured",
    reason="No CUDA device on this machine: a local NVIDIA GPU would give a time.",
)
NOT_CHECKED = Check(status="not_checked", detail="The kernels were not run.")


class RuleOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What one automatic rule did with one function: applied, declined, failed or not tried."""

    rule: str
    function: str
    status: Literal["applied", "declined", "failed", "skipped"]
    reason: str = ""
    details: str = ""


class FunctionBuild(msgspec.Struct, frozen=True, kw_only=True):
    """One function of a built variant."""

    name: str
    status: FunctionStatus
    reason: str = ""
    rule: str = ""
    kernels: tuple[Kernel, ...] = ()
    check: Check = NOT_CHECKED
    time: Time = NOT_MEASURED


class Compiled(msgspec.Struct, frozen=True, kw_only=True):
    """NVRTC's word on the CUDA text of one function, for architecture `arch`.

    `line` (1-based) and `text` are the first line refused; `log` is NVRTC's own text.  `step`
    (1-based; 0: the module as loaded) is the first step after which it is refused, `step_line` that
    step's line of Python.
    """

    function: str
    status: Literal["compiled", "refused", "not_compiled"]
    detail: str
    arch: str
    line: int | None = None
    text: str = ""
    log: str = ""
    step: int | None = None
    step_line: str = ""


class Build(msgspec.Struct, frozen=True, kw_only=True):
    """A variant compiled for a target; `source` is the whole device text, `host` the host code."""

    status: VariantStatus
    reason: str = ""
    details: str = ""
    functions: tuple[FunctionBuild, ...] = ()
    findings: tuple[Finding, ...] = ()
    source: str = ""
    host: str = ""
    refusal: Refusal | None = None
