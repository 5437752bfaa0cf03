"""Names of TVM's schedule rules, for choosing some without TVM at hand."""

from __future__ import annotations

import re

from explorer.model.target import Target

_CPU = (
    "ApplyCustomRule", "InlineConstantScalars", "AutoInline", "AddRFactor", "MultiLevelTiling",
    "ParallelizeVectorizeUnroll", "RandomComputeLocation",
)  # fmt: skip
_GPU = (
    "ApplyCustomRule", "MultiLevelTiling", "InlineConstantScalars", "AutoInline",
    "CrossThreadReduction", "ParallelizeVectorizeUnroll", "AutoBind",
)  # fmt: skip
_TENSOR_CORES_FROM = 75
_EXTRA = {
    "llvm": ("MultiLevelTilingWideVector",),
    "cuda": ("MultiLevelTilingTensorCore",),
}


def usual(target: Target) -> tuple[str, ...]:
    """The rules that TVM uses for a target unless told otherwise."""
    if target.kind == "llvm":
        return _CPU
    number = re.match(r"sm_(\d+)", target.arch)
    with_cores = number is not None and int(number[1]) >= _TENSOR_CORES_FROM
    return ("MultiLevelTilingTensorCore", *_GPU) if with_cores else _GPU


def extra(target: Target) -> tuple[str, ...]:
    """Rules that can be added for a target."""
    return tuple(rule for rule in _EXTRA[target.kind] if rule not in usual(target))
