"""Answers of the command line as text for people."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from explorer.model.diagnosis import Diagnosis, TriedCure
from explorer.model.doctor import Tool
from explorer.model.loaded import Loaded
from explorer.model.nest import Block, Function, Loop
from explorer.model.race import Provenance
from explorer.model.race_report import MeasuredTime, TimingReport
from explorer.model.report import FunctionReport, Report, VariantReport


def loaded(module: Loaded) -> str:
    """What loading gave: rewrites, notes, and every function's nest."""
    parts = [f"Module {module.module}"]
    if len(module.modules) > 1:
        parts[0] += f" (the text has: {', '.join(module.modules)})"
    parts += [f"line {m.line}: {m.rule}: {m.before} -> {m.after}" for m in module.migrations]
    for note in module.notes:
        where = f"line {note.line}: " if note.line is not None else ""
        parts.append(f"{where}{note.message}")
    if module.symbols:
        parts.append(f"Symbolic sizes: {', '.join(module.symbols)} (give them with --size).")
    parts += [nest(function) for function in module.nest.functions]
    return "\n".join(parts)


def nest(function: Function) -> str:
    """One function's loops and blocks, indented."""
    kind = {"prim": "", "relax": " (Relax)", "extern": " (external)"}[function.kind]
    lines = [f"\n{function.name}{kind}{' (host)' if function.host else ''}"]
    for buffer in function.buffers:
        shape = ", ".join(buffer.shape)
        lines.append(f"    {buffer.name}: ({shape}) {buffer.dtype} {buffer.scope}")
    for node in function.nodes:
        indent = "    " * node.id.count("/")
        if isinstance(node, Loop):
            how = node.binding or ("" if node.mode == "serial" else node.mode)
            lines.append(f"{indent}for {node.name} in {node.extent}  [{node.kind}] {how}".rstrip())
        elif isinstance(node, Block):
            writes = ", ".join(access.region for access in node.writes)
            lines.append(f"{indent}block {node.name}: writes {writes}")
        else:
            lines.append(f"{indent}{node.text}")
    if function.note:
        lines.append(f"    {function.note}")
    return "\n".join(lines)


def report(made: Report) -> str:
    """All variants as a table, then each one's reason and findings."""
    rows: list[tuple[str, ...]] = [
        ("variant", "status", "function", "kernel", "grid", "block", "shared", "check", "time")
    ]
    for variant in made.variants:
        rows += _rows(variant)
    parts = [f"Target: {made.target}"]
    if made.other_modules is not msgspec.UNSET:
        parts.append(f"Other modules of the text are left alone: {', '.join(made.other_modules)}.")
    parts += [f"line {m.line}: {m.rule}: {m.before} -> {m.after}" for m in made.migrations]
    parts += ["", table(rows)]
    for variant in made.variants:
        parts += _details(variant)
    if made.verdicts is not msgspec.UNSET:
        parts += [f"{v.function}: {v.variant} against {v.other}: {v.words}" for v in made.verdicts]
    return "\n".join(parts)


def timing(made: TimingReport) -> str:
    """A race as tables, one a function and device, then the verdicts and how it was measured."""
    parts = [f"Target: {made.target}"]
    if made.warning:
        parts.append(f"Warning: {made.warning}")
    for heat in made.heats:
        place = heat.provenance
        parts.append(f"\n{heat.function} on {place.device or 'no device'}")
        rows: list[tuple[str, ...]] = [
            ("variant", "median us", "95 % interval", "runs", "GFLOP/s", "GB/s", "check", "")
        ]
        for variant in made.variants:
            for time in variant.times:
                if (time.function, time.device) == (heat.function, place.device):
                    rows.append((variant.name, *_measured(time)))
        parts.append(table(rows))
        for verdict in made.verdicts:
            if (verdict.function, verdict.device) == (heat.function, place.device):
                parts.append(f"{verdict.variant} against {verdict.other}: {verdict.words}")
        parts += [f"Fastest: {heat.winner}"] if heat.winner else []
        parts += [f"Device lost: {heat.lost}"] if heat.lost else []
        parts += heat.no_baseline
        parts += where(place)
        if heat.roof is not None:
            parts.append(f"Bound: {heat.roof.source}; {heat.roof.holds}.")
    return "\n".join(parts)


def where(place: Provenance | None) -> list[str]:
    """What may have disturbed times, and how they were got."""
    if place is None:
        return []
    lines = [f"Note: {note}." for note in place.notes]
    if place.method:
        lines.append(
            f"{place.runner}; TVM {place.tvm}; {place.date}; sizes {place.sizes or 'fixed'}. "
            f"Method: {place.method}."
        )
    return lines


def _measured(time: MeasuredTime) -> tuple[str, ...]:
    if time.status != "measured":
        bound = f" Roofline bound: {time.bound_us:.3g} us." if time.bound_us else ""
        return ("-", "", "", "", "", time.check.status, time.reason + bound)
    share = f"{100 * time.bound_share:.0f} % of the bound" if time.bound_share else ""
    share = " ".join(filter(None, (share, time.library and f"({time.library})")))
    return (
        f"{time.median_us:.2f}", f"{time.low_us:.2f} to {time.high_us:.2f}", str(time.runs),
        _rate(time.gflops), _rate(time.gbs), time.check.status, share,
    )  # fmt: skip


def _rate(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _rows(variant: VariantReport) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for function in variant.functions:
        time, check = _time(function), function.check.status
        for kernel in function.kernels:
            grid, block = " x ".join(map(str, kernel.grid)), " x ".join(map(str, kernel.block))
            shared = f"{kernel.shared_bytes} B"
            rows.append((function.name, kernel.name, grid, block, shared, check, time))
        if not function.kernels:
            rows.append((function.name, function.status, "", "", "", check, time))
    rows = rows or [("", "", "", "", "", "", "")]
    first = [(variant.name, variant.status, *rows[0])]
    return first + [("", "", *row) for row in rows[1:]]


def _time(function: FunctionReport) -> str:
    us = function.time.median_us
    return f"{us:.2f} us" if us is not None else function.time.status.replace("_", " ")


def _details(variant: VariantReport) -> list[str]:
    lines = [f"\n{variant.name}: {variant.status}. {variant.reason}".rstrip()]
    for function in variant.functions:
        if function.rule:
            lines.append(f"  {function.name}: scheduled by {function.rule}")
        if function.check.detail and function.status == "built":
            lines.append(f"  {function.name}: {function.check.status}: {function.check.detail}")
    for found in variant.findings:
        cure = f" {found.cure}" if found.cure else ""
        lines.append(f"  {found.severity} {found.code} ({found.where}): {found.message}{cure}")
    reasons = dict.fromkeys(f.time.reason for f in variant.functions if f.time.reason)
    lines += [f"  no time: {reason}" for reason in reasons if variant.status == "built"]
    return lines


def table(rows: Iterable[tuple[str, ...]]) -> str:
    """Columns as wide as their widest cell."""
    cells = list(rows)
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
             for row in cells]  # fmt: skip
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def tools(found: tuple[Tool, ...]) -> str:
    """What is installed, and what to run where something is missing."""
    rows = [("", "tool", "version", "for")]
    rows += [
        ("ok" if tool.found else "MISSING" if tool.required else "no", tool.name,
         tool.version or "-", tool.purpose)
        for tool in found
    ]  # fmt: skip
    repairs = [f"{tool.name}: {tool.repair}" for tool in found if tool.repair]
    return "\n".join([table(rows), *(["", *repairs] if repairs else [])])


def diagnosis(found: Diagnosis, path: str) -> str:
    """What keeps a module from being kernels, and cures with what became of them."""
    lines = []
    if found.error is not None:
        lines.append(f"line {found.error.line}: {found.error.excerpt}")
        lines.append(found.error.sentence())
    if found.error is None or found.what != found.error.what:
        lines.append(found.what)
        lines += [found.why] if found.why else []
    lines += [f"  {place.function}: {place.message} {place.do}".rstrip() for place in found.places]
    offered = [cure for cure in found.cures if cure.offered]
    failed = [cure for cure in found.cures if not cure.offered]
    if offered:
        lines += ["", "Cures, tried and checked:"]
        lines += [f"  {cure.label} → {tried(cure)}" for cure in offered]
    if failed:
        lines += ["", "Tried in vain:"] + [f"  {cure.label}: {cure.reason}" for cure in failed]
    if offered:
        names = [cure.id.partition(":")[2] for cure in offered if cure.id.startswith("strategy:")]
        lines += ["", "Side by side:"]
        lines.append(f"    python -m explorer compare {path} --with original,{','.join(names)}"
                     if names else f"    python -m explorer compare {path}")  # fmt: skip
    return "\n".join(lines)


def tried(cure: TriedCure) -> str:
    """What became of a cure: launches and verdict, e.g. "8 blocks of 128 threads · match"."""
    parts = list(dict.fromkeys(each.words() for each in cure.launches))
    more = f" and {len(parts) - 2} more kernels" if len(parts) > 2 else ""
    said = "; ".join(parts[:2]) + more
    verdict = cure.check.status.replace("_", " ")
    if cure.check.status == "not_checked":
        verdict += f" ({cure.check.detail})"
    return f"{said} · {verdict}" + (f". {cure.reason}" if cure.reason else "")
