"""Why a postprocessor refused a sample, in one sentence; TVM itself only says no."""

from __future__ import annotations

import math
import re
from typing import Any

from tvm import error, ir, s_tir, tirx, transform
from tvm.s_tir.analysis import calculate_allocated_bytes, verify_gpu_code
from tvm.target import Target as TvmTarget

from explorer.engine.failures import last_line

_SAYS_NO = {
    "DisallowDynamicLoop": "A loop's extent is not a fixed number.",
    "RewriteCooperativeFetch": "The copies into shared memory can't be shared out among threads.",
    "RewriteUnboundBlock": "A block that is not bound to threads can't be bound.",
    "RewriteParallelVectorizeUnroll": "The loops can't be run in parallel, as vectors or unrolled.",
    "RewriteReductionBlock": "The start of a reduction can't be parted from its steps.",
    "RewriteTensorize": "The inner block does not fit the tensor instruction.",
    "RewriteLayout": "The layout of a constant input can't be changed to fit.",
}
_SAID = (
    (r"pipeline_stages.size\(\) == original_order.size\(\) \((\d+) vs\. (\d+)\)",
     "The rule made a software pipeline of {0} parts, and the loop has {1} with these tiles."),
    (r"No matched reducer",
     "Threads can't share a reduction whose start value and operation TVM does not know."),
    (r"'fuse' requires at least 1 loop",
     "A block has no loop left to bind: its loops are bound, parallel or hold other blocks."),
    (r"(?i)reduction block vars|complete block|reduction block",
     "A block updates what it reads, or adds up without T.init: TVM can't move it."),
    (r"^\s*(\w*Error:?)?\s*$",
     "A block writes at places that depend on data, in place, or is opaque: TVM can't move it."),
)  # fmt: skip
"""What TVM says while it works on a schedule, and what it means."""


def said(failure: Exception) -> str:
    """What TVM raised, in one sentence."""
    text = str(failure)
    for pattern, sentence in _SAID:
        if found := re.search(pattern, text):
            return sentence.format(*found.groups())
    return re.sub(r"^(Check failed: .*? is false: |Check failed: )", "", last_line(text))


MAX_VECTOR_BYTES = 16
"""What VerifyGPUCode allows one load or store on every GPU."""

_LOWER = transform.Sequential([
    s_tir.transform.LowerCrossThreadReduction(), s_tir.transform.LowerInitBlock(),
    s_tir.transform.PlanAndUpdateBufferAllocationLocation(),
    s_tir.transform.ConvertBlocksToOpaque(), s_tir.transform.UnifyThreadBinding(),
    s_tir.transform.CompactBufferAllocation(), s_tir.transform.LowerMatchBuffer(),
    s_tir.transform.InjectSoftwarePipeline(), s_tir.transform.LowerOpaqueBlock(),
    tirx.transform.FlattenBuffer(), tirx.transform.NarrowDataType(32),
    tirx.transform.StmtSimplify(), tirx.transform.VectorizeLoop(True),
    s_tir.transform.InjectVirtualThread(), s_tir.transform.InjectDoubleBuffer(),
    tirx.transform.StorageRewrite(), s_tir.transform.MergeSharedMemoryAllocations(),
])  # fmt: skip
"""About what VerifyGPUCode looks at: kernels whose memory is laid out."""


def why(postproc: str, sch: s_tir.Schedule, target: TvmTarget) -> str:
    """The reason for which `postproc` refused `sch`, as far as it can be found out."""
    if postproc != "VerifyGPUCode":
        return _SAYS_NO.get(postproc, f"TVM's {postproc} refused it.")
    found = wrong_threads(sch) or _over_limit(sch.mod, target)
    return found or "The kernel breaks a limit of the GPU, or TVM can't lower it."


def wrong_threads(sch: s_tir.Schedule) -> str:
    """What is wrong with the number of threads of a block that says how many it may have.

    "" when nothing is.  Works before postprocessing too.
    """
    for function in sch.mod.functions.values():
        for block, threads in _blocks_and_threads(function.body, {}, []):
            low = block.annotations.get("meta_schedule.thread_extent_low_inclusive")
            high = block.annotations.get("meta_schedule.thread_extent_high_inclusive")
            if low is None or high is None:
                continue
            count = math.prod(threads.values())
            if not int(low) <= count <= int(high):
                return (
                    f"Block {block.name_hint} has {count} threads a block; "
                    f"it needs {int(low)} to {int(high)}."
                )
    return ""


def _blocks_and_threads(
    stmt: Any, threads: dict[str, int], found: list[tuple[Any, dict[str, int]]]
) -> list[tuple[Any, dict[str, int]]]:
    """Every block with the extents of the threadIdx loops around it, by axis."""
    if isinstance(stmt, tirx.For):
        binding = stmt.thread_binding
        if binding is not None and str(binding.thread_tag).startswith("threadIdx"):
            extent = int(stmt.extent) if isinstance(stmt.extent, tirx.IntImm) else 1
            threads = {**threads, str(binding.thread_tag): extent}
    elif isinstance(stmt, s_tir.SBlock):
        if "warp_execution" in stmt.annotations:
            threads = {**threads, "threadIdx.x": 32}
        found.append((stmt, threads))
    for child in _children(stmt):
        _blocks_and_threads(child, threads, found)
    return found


def _children(stmt: Any) -> list[Any]:
    if isinstance(stmt, s_tir.SBlockRealize):
        return [stmt.block]
    if isinstance(stmt, tirx.SeqStmt):
        return list(stmt.seq)
    named = (getattr(stmt, name, None) for name in ("body", "then_case", "else_case"))
    return [each for each in named if isinstance(each, tirx.Stmt)]


def _over_limit(mod: ir.IRModule, target: TvmTarget) -> str:
    """The limit that the lowered kernels break, with their figure."""
    try:
        lowered = _LOWER(mod)
    except (error.InternalError, s_tir.ScheduleError, ValueError, TypeError) as failure:
        return said(failure)
    attrs = target.attrs
    limits = {
        "max_threads_per_block": int(attrs["max_threads_per_block"]),
        "max_shared_memory_per_block": int(attrs["max_shared_memory_per_block"]),
        "max_vector_bytes": MAX_VECTOR_BYTES,
    }
    for function in lowered.functions.values():
        for name, limit in limits.items():
            if not verify_gpu_code(function, {name: limit}):
                return _SENTENCES[name].format(got=_figure(name, mod, function), limit=limit)
    return ""


_SENTENCES = {
    "max_threads_per_block": "It has {got} threads a block; the target allows {limit}.",
    "max_shared_memory_per_block": "It uses {got} bytes of shared memory; the target has {limit}.",
    "max_vector_bytes": "It loads or stores more than {limit} bytes at once.",
}


def _figure(name: str, mod: ir.IRModule, lowered: Any) -> int:
    """By how much a limit is missed: the largest figure of the kernels."""
    if name == "max_shared_memory_per_block":
        found = calculate_allocated_bytes(lowered)
        return max(
            sum(int(size) for scope, size in scopes.items() if str(scope).startswith("shared"))
            for scopes in found.values()
        )
    blocks = [
        threads for function in mod.functions.values()
        for _, threads in _blocks_and_threads(function.body, {}, [])
    ]  # fmt: skip
    return max(math.prod(threads.values()) for threads in blocks)
