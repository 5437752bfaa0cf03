"""What the compiler says about the kernels: registers, spills, occupancy, a bound, PTX and SASS."""

from __future__ import annotations

import html

import streamlit as st

from explorer.model.analysis import Analysis, Cliff, KernelAnalysis, Occupancy, Roofline
from explorer.ui import ask, say
from explorer.ui.components.codeview import codeview
from explorer.ui.desk import Desk
from explorer.ui.words import facts_html, size

HEIGHT = 420


def draw(desk: Desk, result: ask.Result) -> bool:
    """The kernels of the current variant as compiled; True while they are being compiled."""
    if result.build is None or not any(f.kernels for f in result.build.functions):
        say.note("There is no kernel to compile.")
        return result.waiting != ""
    answer = ask.analysed(desk)
    if answer.problem is not None:
        say.note(say.sentence(answer.problem))
        return False
    if answer.value is None:
        say.note("NVRTC and ptxas are compiling the kernels…")
        return True
    analysis = answer.value
    if analysis.status != "analysed":
        place = f"CUDA line {analysis.line}: {analysis.text} " if analysis.line else ""
        say.alert(f"{place}{analysis.reason}", "warn")
    for kernel in analysis.kernels:
        _kernel(kernel, analysis)
    return False


def registers(analysis: Analysis | None) -> str:
    """Registers a thread of every kernel, as text; "" when not known."""
    if analysis is None:
        return ""
    return ", ".join(
        f"{k.registers}{f' + {size(k.spill_store_bytes)} spilled' if k.spill_store_bytes else ''}"
        for k in analysis.kernels
    )


def _kernel(kernel: KernelAnalysis, analysis: Analysis) -> None:
    facts, code = st.columns([2, 3], gap="medium")
    with facts:
        st.html(
            f'<div class="node-title">{html.escape(kernel.name)}</div>'
            f'<div class="prose">{facts_html(kernel_facts(kernel, analysis))}</div>'
        )
    with code:
        what = st.segmented_control(
            "Code", ["SASS", "PTX"], default="SASS", key=f"code_{kernel.name}", required=True,
            label_visibility="collapsed",
        )  # fmt: skip
        codeview(
            kernel.ptx if what == "PTX" else with_lines(kernel), "asm", key=f"asm_{kernel.name}",
            height=HEIGHT, label=f"{what} of {kernel.name}",
        )  # fmt: skip


def kernel_facts(kernel: KernelAnalysis, analysis: Analysis) -> list[tuple[str, str]]:
    """Resources, occupancy and the roofline bound, as rows."""
    spills = f"{size(kernel.spill_store_bytes)} stored, {size(kernel.spill_load_bytes)} loaded"
    rows = [
        ("compiled by", f"{analysis.compiler} for {analysis.arch}"),
        ("registers a thread", str(kernel.registers)),
        ("spills a thread", spills if kernel.spill_store_bytes else "none"),
        ("stack a thread", size(kernel.stack_bytes)),
        ("static shared", size(kernel.static_shared_bytes)),
        ("constant memory", size(kernel.constant_bytes)),
        ("instructions", str(kernel.instructions)),
    ]
    if kernel.dynamic_shared_bytes:
        rows.insert(5, ("dynamic shared", size(kernel.dynamic_shared_bytes)))
    if kernel.occupancy is not None:
        rows += _occupancy(kernel.occupancy)
    if kernel.roofline is not None:
        rows += _roofline(kernel.roofline)
    return rows


def _occupancy(occupancy: Occupancy) -> list[tuple[str, str]]:
    text = (
        f"{occupancy.fraction:.0%}: {occupancy.warps_per_sm} of {occupancy.max_warps} warps an SM "
        f"in {occupancy.blocks_per_sm} blocks"
    )
    rows = [("occupancy, at most", text), ("limited by", " and ".join(occupancy.limiters))]
    rows += [("next step up", _cliff(occupancy.better))] if occupancy.better else []
    rows += [("next step down", _cliff(occupancy.worse))] if occupancy.worse else []
    return rows


def _cliff(cliff: Cliff) -> str:
    return f"{cliff.resource} {cliff.now} → {cliff.at}: {cliff.blocks} blocks an SM"


def _roofline(bound: Roofline) -> list[tuple[str, str]]:
    """A bound is never called a time."""
    work = bound.work
    least = f"at least {bound.bound_us:.2f} µs on {bound.gpu}, limited by {bound.limited_by}"
    moved = size(work.read_bytes + work.written_bytes)
    rows = [
        ("bound, not a time", least),
        ("work", f"{work.flops:.3g} operations, {moved} moved"),
        ("peaks", f"{bound.peak_tflops:g} TFLOP/s, {bound.peak_gbs:g} GB/s: {bound.source}"),
    ]
    return rows + ([("not counted", ", ".join(work.left_out))] if work.left_out else [])


def with_lines(kernel: KernelAnalysis) -> str:
    """SASS with the CUDA line each instruction comes from in front."""
    lines = kernel.sass.splitlines()
    width = max((len(str(n)) for n in kernel.sass_lines), default=1)
    return "\n".join(
        f"{str(n) if n else '':>{width}}  {line}"
        for n, line in zip(kernel.sass_lines, lines, strict=False)
    )
