"""What it is: a kernel uses a data type or an instruction that the chosen architecture lacks.

Why it matters: the CUDA text does not compile for it, or the type is emulated in many
instructions.

What to try: choose a newer architecture, or another data type or intrinsic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from explorer.analysis.kernel import Kernel
from explorer.analysis.limits import FEATURES, capability
from explorer.findings.base import Context, finding
from explorer.findings.launches import launches
from explorer.model.result import Finding

CODE = "needs_newer_gpu"
TITLE = "The architecture lacks what the kernel uses"

_INTRINSICS = {
    "ptx_ldmatrix": "ldmatrix",
    "ptx_cp_async": "cp.async",
    "ptx_cp_async_commit_group": "cp.async",
    "tvm_mma_sync": "wmma",
    "tvm_load_matrix_sync": "wmma",
    "mma.sync.m16n8k16": "mma.sync.m16n8k16",
}


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per kernel and feature it uses, one per function and type that is emulated."""
    have = capability(ctx.target.arch)
    if not have:
        return
    used: set[tuple[str, str]] = set()
    for launch in launches(ctx):
        for feature in sorted(set(_features(launch.kernel))) if launch.kernel else ():
            needed, source = FEATURES[feature]
            if have < needed:
                used.add((launch.function.name, feature))
                yield finding(
                    CODE, "error" if feature != "float16" else "warning",
                    launch.function, launch.node,
                    f"The kernel uses {feature}, which needs sm_{needed} ({source});"
                    f" the target is {ctx.target.arch}.",
                    f"Choose a target of sm_{needed} or newer.",
                    where=launch.where,
                )  # fmt: skip
    for function in ctx.device_functions():
        for feature in sorted({name for b in function.buffers for name in _types(b.dtype)}):
            needed, source = FEATURES[feature]
            if have < needed and (function.name, feature) not in used:
                yield finding(
                    CODE, "warning", function, f"function {function.name}",
                    f"Its buffers are {feature}, which needs sm_{needed} ({source}); for"
                    f" {ctx.target.arch} TVM emulates it with integer operations.",
                    f"Choose a target of sm_{needed} or newer.",
                )  # fmt: skip


def _features(kernel: Kernel) -> Iterator[str]:
    for dtype in kernel.dtypes:
        yield from _types(dtype)
    for intrinsic in kernel.intrinsics:
        if intrinsic in _INTRINSICS:
            yield _INTRINSICS[intrinsic]


def _types(dtype: str) -> Iterator[str]:
    yield from (name for name in FEATURES if dtype.startswith(name))
