"""A candidate for CUDA ranked without a GPU: built, refused or given a predicted time.

The time is the static model's (docs/tuning.md): good for an order, never a measurement.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import msgspec
import numpy as np
from tvm import ir

from explorer.analysis import limits as gpu_limits
from explorer.analysis import prediction as model
from explorer.analysis.compiled import ptx_by_kernel, resources
from explorer.analysis.limits import limits_of
from explorer.engine import disk_cache, nvrtc, unbound
from explorer.engine.extract import nest_of
from explorer.engine.failures import sentence
from explorer.engine.host_code import Launch
from explorer.engine.lanes import Env, single
from explorer.engine.lower import Lowered, lower
from explorer.engine.sample import launch_extents
from explorer.engine.setting import symbols_of
from explorer.engine.targets import tvm_target
from explorer.engine.tuning.demand import Kernel, Refused
from explorer.model.target import Target

VERSION = "4"
"""Part of the key under which predictions are kept: raise it when the model changes."""
SUMMED = ("device_bytes", "l1_sectors", "l2_sectors", "shared_wavefronts")
"""Facts of which a function has the sum over its kernels, of the others the largest."""
OPEN_SIZE = 1024
"""A symbolic size that was given no value."""


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """The model's word on a function.

    `us` is None when it can't be built or launched: `refused` says why in a sentence, `by` who says
    so.  `parts` are microseconds by limit (summed over kernels; the launches, "launch") and facts
    about the kernels; `assumed` names what the model had to assume, each a sentence.
    """

    us: float | None
    refused: str = ""
    by: str = ""
    parts: dict[str, float] = {}
    assumed: tuple[str, ...] = ()


def predict(
    scheduled: ir.IRModule, function: str, target: Target, sizes: dict[str, int]
) -> Prediction:
    """Build `function` of `scheduled` for a CUDA target and predict its time.

    0.1 to 0.5 s for most, nearly all of it NVRTC; kept on disk by the CUDA text.  Raises
    ToolMissing when NVRTC is not installed.
    """
    lowered = lower(function, scheduled, tvm_target(target))
    assumed: set[str] = set()
    values = dict(sizes)
    for symbol in symbols_of(scheduled[function]):
        if str(symbol.name) not in values:
            values[str(symbol.name)] = OPEN_SIZE
            assumed.add(f"{symbol.name} has no value: {OPEN_SIZE} was taken.")
    key = disk_cache.key(
        "static", VERSION, nvrtc.version(), target.tag, msgspec.json.encode(target).decode(),
        msgspec.json.encode(values, order="sorted").decode(), lowered.source, lowered.host_script,
    )  # fmt: skip
    kept = disk_cache.load(key, Prediction) if lowered.source else None
    if kept is not None:
        return kept
    try:
        _lowered(lowered, scheduled, function)
        made = _predicted(lowered, target, values, assumed)
    except Refused as refused:
        made = Prediction(us=None, refused=str(refused), by=refused.by)
    if lowered.source:
        disk_cache.store(key, made)
    return made


def _lowered(lowered: Lowered, scheduled: ir.IRModule, function: str) -> None:
    """Raises Refused unless all of it became kernels."""
    launched = lowered.host is not None and bool(lowered.host.launches)
    if lowered.failure is None and launched and lowered.host and not lowered.host.touched:
        return
    nest = nest_of(scheduled, scheduled.script(show_meta=False))
    about = next(each for each in nest.functions if each.name == function)
    if lowered.failure is not None:
        raise Refused("lowering", sentence(about, lowered.failure))
    if lowered.host is None or not launched:
        raise Refused("lowering", unbound.no_kernel(about).reason)
    raise Refused("lowering", unbound.partly_on_host(about, lowered.host.touched).reason)


def _predicted(
    lowered: Lowered, target: Target, sizes: Mapping[str, int], assumed: set[str]
) -> Prediction:
    host = Env(1, sizes)
    assert lowered.host is not None
    for launch in lowered.host.launches:
        _launchable(launch, host, target)
    arch = _compiled_for(target.arch, assumed)
    binary = nvrtc.compile_text(lowered.source, arch, lines=False, keep=False)
    if not binary.cubin:
        raise Refused("NVRTC", f"NVRTC refuses the text: {binary.error.rstrip('.')}.")
    found = resources(binary.log)
    texts = ptx_by_kernel(binary.ptx)
    on, stand_in = model.card(target.tag, target.arch)
    if stand_in:
        assumed.add(f"No peaks are known of {target.tag}: those of {on.name} were taken.")
    total = 0.0
    parts: defaultdict[str, float] = defaultdict(float)
    for launch in lowered.host.launches:
        kernel = Kernel(lowered, launch, host, target, found[launch.kernel], assumed, on.sms)
        demand = kernel.demand(texts[launch.kernel])
        times = model.times(demand, on, target.arch)
        once = model.together(times)
        total += demand.launches * (once + model.LAUNCH_US)
        parts["launch"] += demand.launches * model.LAUNCH_US
        for name, value in times.items():
            parts[name] += demand.launches * value
        for name, value in kernel.facts(demand, on.sms).items():
            parts[name] = parts[name] + value if name in SUMMED else max(parts[name], value)
    parts["kernels"] = len(lowered.host.launches)
    return Prediction(
        us=total, parts={name: round(float(value), 4) for name, value in parts.items()},
        assumed=tuple(sorted(assumed)),
    )  # fmt: skip


def _launchable(launch: Launch, host: Env, target: Target) -> None:
    """Raises Refused for a launch that CUDA refuses whatever the code is."""
    grid, block = ([size or 0 for size in extents] for extents in launch_extents(launch, host))
    threads = int(np.prod(block))
    shape = " x ".join(map(str, block))
    if threads > target.max_threads_per_block or any(
        size > most for size, most in zip(block, gpu_limits.MAX_BLOCK, strict=True)
    ):
        raise Refused(
            "launch limits",
            f"{launch.kernel} has {shape} = {threads} threads a block; the limit is "
            f"{target.max_threads_per_block} (1024 x 1024 x 64).",
        )
    if threads == 0 or 0 in grid:
        raise Refused("launch limits", f"{launch.kernel} is launched with a grid without blocks.")
    if any(size > most for size, most in zip(grid, gpu_limits.MAX_GRID, strict=True)):
        shape = " x ".join(map(str, grid))
        raise Refused(
            "launch limits",
            f"{launch.kernel} has a grid of {shape} blocks; the limit is "
            f"{' x '.join(map(str, gpu_limits.MAX_GRID))}.",
        )
    dynamic = 0 if launch.dynamic_shared is None else single(launch.dynamic_shared, host) or 0
    most = limits_of(target.arch).shared_per_block_bytes
    if dynamic > most:
        raise Refused(
            "launch limits",
            f"{launch.kernel} asks for {dynamic} bytes of dynamic shared memory; the limit of "
            f"{target.arch} is {most}.",
        )


def _compiled_for(arch: str, assumed: set[str]) -> str:
    """The architecture to compile for: the oldest that NVRTC still knows, if `arch` is older."""
    known = nvrtc.architectures()
    if arch in known:
        return arch
    older = [name for name in known
             if gpu_limits.capability(name) <= gpu_limits.capability(arch)]  # fmt: skip
    used = older[-1] if older else known[0]
    assumed.add(f"NVRTC does not compile for {arch}: registers are those of {used}.")
    return used
