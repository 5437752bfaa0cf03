"""Targets between plain values and TVM's own objects."""

from __future__ import annotations

from tvm.target import Target as TvmTarget
from tvm.target import list_tags

from explorer.model.target import Target
from explorer.targets.json_text import LIMITS
from explorer.targets.limits import complete


def cuda_tags() -> tuple[Target, ...]:
    """TVM's NVIDIA tags as complete targets, by name."""
    found = []
    for name, target in sorted(list_tags().items()):
        if target.kind.name == "cuda":
            attrs = dict(target.attrs)
            stated = {limit: int(attrs[limit]) for limit in LIMITS if limit in attrs}
            found.append(complete(str(name), str(attrs["arch"]), stated))
    return tuple(found)


def tvm_target(target: Target, triple: str = "") -> TvmTarget:
    """TVM's target with every limit set, and llvm for its host code.

    `triple` is the LLVM triple of the processor it runs on, "" for this machine's.
    """
    host = TvmTarget({"kind": "llvm", "mtriple": triple}) if triple else TvmTarget("llvm")
    if target.kind == "llvm":
        return host
    options: dict[str, object] = {
        "kind": "cuda",
        "arch": target.arch,
        "max_num_threads": target.max_threads_per_block,
        "max_threads_per_block": target.max_threads_per_block,
        "max_shared_memory_per_block": target.max_shared_memory_per_block,
        "thread_warp_size": target.thread_warp_size,
        "registers_per_block": target.registers_per_block,
    }
    if target.l2_cache_size_bytes is not None:
        options["l2_cache_size_bytes"] = target.l2_cache_size_bytes
    return TvmTarget(options, host)
