"""One function through TVM's own pipeline, stopped to look where host and device part.

The pipeline is TVM's, unchanged; a pass instrument keeps the module as `SplitHostDevice` leaves it:
kernels with their thread extents, and a host function that still is readable code.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import tvm_ffi
from tvm import error, ir, s_tir, tirx, transform
from tvm.ir.instrument import pass_instrument
from tvm.target import Target as TvmTarget
from tvm.tirx.build import codegen_build, split_host_device_mods

from explorer.engine.host_code import HostCode, read_host

LOWERING_ERRORS = (
    s_tir.ScheduleError, error.InternalError, error.DiagnosticError,
    RuntimeError, TypeError, ValueError, IndexError, KeyError, AttributeError,
)  # fmt: skip
"""What TVM raises when a module can't be lowered or has no code."""


@dataclass
class Lowered:
    """A function as host code and kernels.

    `failure` is set when TVM gave up after the split (or `host` is None: before it); `device` is
    what code generation takes, empty without a kernel.  `host_module` is the host code as the
    pipeline leaves it, `launch_params` what each kernel's launch arguments are, in order.
    """

    host: HostCode | None = None
    host_script: str = ""
    kernels: dict[str, tirx.PrimFunc] = field(default_factory=dict)
    device: ir.IRModule | None = None
    host_module: ir.IRModule | None = None
    source: str = ""
    launch_params: dict[str, tuple[str, ...]] = field(default_factory=dict)
    failure: Exception | None = None


def lower(name: str, mod: ir.IRModule, target: TvmTarget) -> Lowered:
    """Lower function `name` of `mod`, with the functions it calls, for a CUDA target with host.

    About 3 ms for a small function.  TVM's refusals are kept in `failure`, never raised.
    """
    keep = _KeepSplit()
    lowered = Lowered()
    try:
        with transform.PassContext(instruments=[keep]), target:
            bound = tirx.transform.BindTarget(target)(only(mod, name))
            pipeline, _, finalize_device = tirx.get_default_tir_pipeline(target)
            done = pipeline(bound)
            lowered.host_module, devices = split_host_device_mods(done)
            sources = []
            for device_target, device in devices.items():
                lowered.device = finalize_device()(device)
                sources.append(cuda_source(lowered.device, device_target))
                lowered.launch_params |= _launch_params(lowered.device)
            lowered.source = "\n".join(sources)
    except LOWERING_ERRORS as failure:
        lowered.failure = failure
    if keep.split is not None:
        _read_split(lowered, keep.split)
    return lowered


def _launch_params(device: ir.IRModule) -> dict[str, tuple[str, ...]]:
    return {
        var.name_hint: tuple(map(str, (func.attrs or {}).get("tirx.kernel_launch_params", ())))
        for var, func in device.functions_items()
    }


def cuda_source(device: ir.IRModule, target: TvmTarget) -> str:
    """The CUDA text of lowered kernels; nothing is compiled."""
    return str(codegen_build(device, target).inspect_source())


def only(mod: ir.IRModule, name: str) -> ir.IRModule:
    """A module of function `name` and the PrimFuncs it calls; the function can be launched.

    A private function gets its name as global symbol: without one TVM refuses it.
    """
    wanted: dict[str, Any] = {}
    waiting = [name]
    while waiting:
        at = waiting.pop()
        if at not in wanted:
            wanted[at] = mod[at]
            waiting += called(mod, mod[at])
    if "global_symbol" not in (wanted[name].attrs or {}):
        wanted[name] = wanted[name].with_attr("global_symbol", name)
    return ir.IRModule({mod.get_global_var(at): func for at, func in wanted.items()}, mod.attrs)


def called(mod: ir.IRModule, func: Any) -> list[str]:
    """Names of the PrimFuncs of `mod` that a PrimFunc calls."""
    names: dict[str, None] = {}
    tvm_ffi.structural_walk(
        func.body, (ir.GlobalVar, lambda var: names.setdefault(str(var.name_hint)))
    )
    known = {var.name_hint for var, _ in mod.functions_items()}
    return [name for name in names if name in known and isinstance(mod[name], tirx.PrimFunc)]


@pass_instrument
class _KeepSplit:
    """Keeps the module right after host and device code part."""

    def __init__(self) -> None:
        self.split: ir.IRModule | None = None

    def run_after_pass(self, mod: ir.IRModule, info: Any) -> None:
        """Called by TVM after every pass."""
        if info.name == "tirx.SplitHostDevice":
            self.split = mod


def _read_split(lowered: Lowered, split: ir.IRModule) -> None:
    host: dict[Any, Any] = {}
    for var, func in split.functions_items():
        attrs = func.attrs or {}
        if int(attrs.get("calling_conv", 0)) == 2:
            lowered.kernels[var.name_hint] = func
        elif isinstance(func, tirx.PrimFunc):
            host[var] = func.without_attr("target")
    lowered.host = read_host(list(host.values()))
    text = ir.IRModule(host).script(show_meta=False)
    lowered.host_script = "\n".join(
        line for line in text.splitlines() if not line.startswith("#")
    ).strip()
