"""From a scheduled module to CUDA text, launch configuration and host code, function by function.

No silent success: a function without a kernel, with work left on the host, or with a kernel that
the host launches in a loop is an error that names loops and blocks.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import msgspec
import tvm_ffi
from tvm import ir, relax, tirx
from tvm.target import Target as TvmTarget

from explorer.analysis.nests import regions
from explorer.engine import unbound
from explorer.engine.build_llvm import build_llvm
from explorer.engine.failures import sentence
from explorer.engine.find import findings
from explorer.engine.host_code import Launch, Sizes
from explorer.engine.load import module
from explorer.engine.lower import LOWERING_ERRORS, Lowered, called, cuda_source, lower
from explorer.engine.replay import Replay, replay
from explorer.engine.sample import unwrapped
from explorer.engine.targets import tvm_target
from explorer.model.cuda_text import kernel_texts
from explorer.model.loaded import Source
from explorer.model.nest import Function, Nest
from explorer.model.result import Build, Finding, FunctionBuild, Kernel
from explorer.model.target import Target
from explorer.primitives import AnyStep

Extents = tuple[str, str, str]


def build(
    source: Source, steps: tuple[AnyStep, ...], target: Target, sizes: dict[str, int]
) -> Build:
    """Build what `source` becomes after `steps`; its findings are those of building alone.

    A step that no longer applies makes the build "refused"; the others are built all the same.
    Raises LoadError.
    """
    done = replay(source, steps)
    built, _ = _made(done, target, sizes)
    if done.refusals:
        first = done.refusals[0]
        reason = f"{first.sentence()} That step was skipped."
        built = msgspec.structs.replace(built, status="refused", reason=reason, refusal=first)
    return built


def static_checks(
    source: Source, steps: tuple[AnyStep, ...], target: Target, sizes: dict[str, int]
) -> tuple[Finding, ...]:
    """What the static checks see in the same build, worst first; none for llvm."""
    if target.kind != "cuda":
        return ()
    done = replay(source, steps)
    built, lowered = _made(done, target, sizes)
    return findings(module(source), done.live.mod, target, sizes, built, lowered)


_KEPT_BUILDS = 8
_builds: OrderedDict[tuple[int, bytes], tuple[Build, dict[str, Lowered]]] = OrderedDict()


def _made(done: Replay, target: Target, sizes: dict[str, int]) -> tuple[Build, dict[str, Lowered]]:
    """The build of a state, kept: the static checks look at what was lowered for it."""
    key = (done.state.number, msgspec.json.encode((target, sizes)))
    if key not in _builds:
        lowered: dict[str, Lowered] = {}
        built = build_module(done.live.mod, done.state.nest, target, sizes, lowered)
        _builds[key] = built, lowered
        while len(_builds) > _KEPT_BUILDS:
            _builds.popitem(last=False)
    return _builds[key]


def build_module(
    mod: ir.IRModule,
    nest: Nest,
    target: Target,
    sizes: dict[str, int],
    lowered: dict[str, Lowered] | None = None,
) -> Build:
    """Build every function of `mod`, whose nest is `nest`; one that fails hides no other.

    `sizes` turn launch expressions into numbers.  About 5 ms a function.  What was lowered is put
    into `lowered`, by function.
    """
    if target.kind == "llvm":
        return build_llvm(mod, nest)
    return _Builder(mod, nest, target, sizes, {} if lowered is None else lowered).build()


def texts_by_function(
    mod: ir.IRModule, nest: Nest, target: Target, only: str = ""
) -> dict[str, str]:
    """The CUDA text of each function (or `only` one) that has one, alone, as NVRTC is given it."""
    made = tvm_target(target)
    texts = {}
    for function in nest.functions:
        if function.kind == "prim" and not function.host and only in ("", function.name):
            texts[function.name] = lower(function.name, mod, made).source
    return {name: text for name, text in texts.items() if kernel_texts(text)}


class _Builder:
    """One build; lives for one call."""

    def __init__(
        self,
        mod: ir.IRModule,
        nest: Nest,
        target: Target,
        sizes: dict[str, int],
        lowered: dict[str, Lowered],
    ) -> None:
        self.mod = mod
        self.nest = nest
        self.target: TvmTarget = tvm_target(target)
        self.sizes = sizes
        self.callers = _callers(mod)
        self.findings: list[Finding] = []
        self.details: list[str] = []
        self.lowered = lowered
        self.failed: list[str] = []

    def build(self) -> Build:
        functions = tuple(self._function(function) for function in self.nest.functions)
        source = self._whole_source()
        texts = kernel_texts(source)
        functions = tuple(_with_sources(function, texts) for function in functions)
        built = any(function.status == "built" for function in functions)
        reason = " ".join(self.failed)
        if not self.failed and not built:
            why = {each.name: each.reason for each in functions if each.reason}
            reason = "No function of the module is meant for the GPU."
            reason += "".join(f" {name}: {words}" for name, words in why.items())
        return Build(
            status="failed" if self.failed else "built" if built else "not_applicable",
            reason=reason,
            details="\n\n".join(self.details),
            functions=functions,
            findings=tuple(self.findings),
            source=source,
            host="\n\n".join(filter(None, (each.host_script for each in self.lowered.values()))),
        )

    def _function(self, function: Function) -> FunctionBuild:
        skipped = self._not_expected(function)
        if skipped:
            return FunctionBuild(name=function.name, status="skipped", reason=skipped)
        lowered = lower(function.name, self.mod, self.target)
        self.lowered[function.name] = lowered
        launches = lowered.host.launches if lowered.host else []
        touched = lowered.host.touched if lowered.host else {}
        sizes = Sizes(self.sizes, _symbols(self.mod[function.name]))
        kernels = tuple(_kernel(launch, lowered, sizes) for launch in launches)
        if not launches and (lowered.failure is None or not _has_binding(function)):
            verdict = unbound.no_kernel(function)
        elif lowered.failure is not None:
            verdict = self._failure(function, lowered.failure)
        elif touched:
            verdict = unbound.partly_on_host(function, touched)
        elif any(launch.loops for launch in launches):
            verdict = unbound.host_loops(function, _host_loops(launches, sizes))
            self._fail(function, verdict)
            return FunctionBuild(
                name=function.name, status="built", reason=verdict.reason, kernels=kernels
            )
        else:
            return FunctionBuild(name=function.name, status="built", kernels=kernels)
        self._fail(function, verdict)
        return FunctionBuild(
            name=function.name, status="no_kernel", reason=verdict.reason, kernels=kernels
        )

    def _fail(self, function: Function, verdict: unbound.Verdict) -> None:
        self.failed.append(f"{function.name}: {verdict.reason}")
        self.findings += verdict.findings

    def _failure(self, function: Function, failure: Exception) -> unbound.Verdict:
        self.details.append(f"{function.name}:\n{failure}")
        reason = sentence(function, failure)
        found = Finding(
            code="not_lowered", severity="error", function=function.name,
            where=f"function {function.name}", message=reason,
        )  # fmt: skip
        return unbound.Verdict(reason, (found,))

    def _not_expected(self, function: Function) -> str:
        """Why no kernel is expected of a function, or ""."""
        if function.kind == "relax":
            calls = f" It calls {', '.join(function.calls)}." if function.calls else ""
            return f"Relax function: its PrimFuncs are what is built.{calls}" + _relax_left(
                self.mod[function.name]
            )
        if function.kind == "extern":
            return "External function: its code is not in the module."
        if function.host:
            kind = self.mod[function.name].attrs["target"].kind.name
            return f"Host function: its own target is {kind}."
        callers = [name for name in self.callers.get(function.name, ()) if name != function.name]
        if callers and function.private:
            return f"Called by {', '.join(callers)} and compiled with it."
        return unbound.nothing_to_do(function)

    def _whole_source(self) -> str:
        """All kernels as one CUDA text, as TVM would emit it for the module."""
        good = [each for each in self.lowered.values() if each.source and each.device is not None]
        if len(good) == 1:
            return good[0].source
        functions: dict[Any, Any] = {}
        names: set[str] = set()
        for each in good:
            assert each.device is not None
            for var, func in each.device.functions_items():
                if var.name_hint in names:
                    return "\n".join(each.source for each in good)
                names.add(var.name_hint)
                functions[var] = func
        if not functions:
            return ""
        try:
            return cuda_source(ir.IRModule(functions), self.target)
        except LOWERING_ERRORS:
            # Each alone has code, together they don't (names clash): show them one after another.
            return "\n".join(each.source for each in good)


def _kernel(launch: Launch, lowered: Lowered, sizes: Sizes) -> Kernel:
    static = sum(
        sizes.number(_bytes(buffer)) or 0 for buffer in _static_shared(lowered, launch.kernel)
    )
    dynamic = 0 if launch.dynamic_shared is None else sizes.number(launch.dynamic_shared)
    return Kernel(
        name=launch.kernel,
        grid=_extents(launch, "blockIdx", sizes),
        block=_extents(launch, "threadIdx", sizes),
        shared_bytes=static,
        dynamic_shared_bytes=dynamic or 0,
        launches=" * ".join(sizes.text(extent) for _, extent in launch.loops) or "1",
    )


def _extents(launch: Launch, kind: str, sizes: Sizes) -> Extents:
    x, y, z = (sizes.text(launch.extents.get(f"{kind}.{axis}", 1)) for axis in "xyz")
    return x, y, z


def _static_shared(lowered: Lowered, kernel: str) -> list[Any]:
    found: list[Any] = []

    def visit(alloc: Any) -> None:
        scope = str(alloc.buffer.scope())
        if scope.startswith("shared") and not scope.startswith("shared.dyn"):
            found.append(alloc.buffer)

    if kernel in lowered.kernels:
        tvm_ffi.structural_walk(lowered.kernels[kernel].body, (tirx.AllocBuffer, visit))
    return found


def _bytes(buffer: Any) -> Any:
    dtype = tvm_ffi.dtype(str(buffer.dtype))
    bits = 8 if str(dtype) == "bool" else int(dtype.bits) * int(dtype.lanes)
    count: Any = 1
    for size in buffer.shape:
        count = count * (unwrapped(int(size)) if isinstance(size, tirx.IntImm) else size)
    return (count * bits + 7) // 8


def _host_loops(launches: list[Launch], sizes: Sizes) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for launch in launches:
        for name, extent in launch.loops:
            found[name] = "unknown" if extent is None else sizes.text(extent)
    return list(found.items())


def _with_sources(function: FunctionBuild, texts: dict[str, str]) -> FunctionBuild:
    kernels = tuple(
        msgspec.structs.replace(kernel, source=texts.get(kernel.name, ""))
        for kernel in function.kernels
    )
    return msgspec.structs.replace(function, kernels=kernels)


def _has_binding(function: Function) -> bool:
    return bool(regions(function)) or not function.schedulable


def _callers(mod: ir.IRModule) -> dict[str, list[str]]:
    callers: dict[str, list[str]] = {}
    for var, func in mod.functions_items():
        if isinstance(func, tirx.PrimFunc):
            for name in called(mod, func):
                callers.setdefault(name, []).append(var.name_hint)
    return callers


def _symbols(func: Any) -> dict[str, Any]:
    """The function's symbolic sizes by name, as TVM's variables."""
    return {str(var.name): var for var in tirx.analysis.undefined_vars(func.body, [])}


def _relax_left(func: Any) -> str:
    """Relax operators that are not legalised into PrimFuncs yet, as a sentence."""
    names: dict[str, None] = {}

    def visit(expr: Any) -> None:
        if isinstance(expr, ir.Call) and isinstance(expr.op, ir.Op):
            name = str(expr.op.name)
            if not name.startswith("relax.call_") and name.startswith("relax."):
                names[name.replace("relax.", "R.")] = None

    relax.analysis.post_order_visit(func.body, visit)
    if not names:
        return ""
    return f" {', '.join(names)} has no PrimFunc until LegalizeOps is run."
