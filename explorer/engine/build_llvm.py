"""Functions built for this machine's processor, with their LLVM IR as source."""

from __future__ import annotations

from tvm import ir, tirx
from tvm.target import Target as TvmTarget

from explorer.engine.failures import last_line
from explorer.engine.lower import LOWERING_ERRORS, only
from explorer.model.nest import Function, Loop, Nest
from explorer.model.result import Build, Check, Finding, FunctionBuild, Time

NO_KERNEL = Check(
    status="not_checked", detail="Built for a CPU: there is no kernel that could be emulated."
)
UNTIMED = Time(status="not_measured", reason="Built for a CPU: timing it there gives a time.")


def build_llvm(mod: ir.IRModule, nest: Nest) -> Build:
    """Build every PrimFunc for llvm; one that fails hides no other."""
    functions: list[FunctionBuild] = []
    findings: list[Finding] = []
    sources: list[str] = []
    for function in nest.functions:
        if function.kind != "prim":
            reason = f"A {function.kind} function: only PrimFuncs are built."
            functions.append(FunctionBuild(name=function.name, status="skipped", reason=reason))
            continue
        try:
            sources.append(_source(mod, function.name))
            functions.append(
                FunctionBuild(name=function.name, status="built", check=NO_KERNEL, time=UNTIMED)
            )
        except LOWERING_ERRORS as failure:
            reason = not_for_processor(function, failure)
            functions.append(FunctionBuild(name=function.name, status="no_kernel", reason=reason))
            findings.append(
                Finding(
                    code="not_lowered", severity="error", function=function.name,
                    where=f"function {function.name}", message=reason,
                )
            )  # fmt: skip
    failed = [f"{each.name}: {each.reason}" for each in functions if each.status == "no_kernel"]
    return Build(
        status="failed" if failed else "built",
        reason=" ".join(failed),
        functions=tuple(functions),
        findings=tuple(findings),
        source="\n".join(sources),
    )


def _source(mod: ir.IRModule, name: str) -> str:
    built = tirx.build(only(mod, name), target=TvmTarget("llvm"))
    return str(built.inspect_source("ll"))


def not_for_processor(function: Function, failure: Exception) -> str:
    """Why a function has no code for a processor, in words."""
    axes = {node.binding for node in function.nodes if isinstance(node, Loop) and node.binding}
    if axes:
        return f"Loops are bound to {', '.join(sorted(map(str, axes)))}: a CPU has no such axes."
    return f"TVM can't lower {function.name} for llvm: {last_line(str(failure))}"
