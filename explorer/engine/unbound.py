"""What keeps a function from being kernels, named: unbound loops, host parts, host loops.

From the loop nest alone, so that every place the user must look at has a node to light up.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from explorer.analysis.nests import below, bound, loops_on_path, on_host, path, regions
from explorer.model.nest import Block, Function, Loop
from explorer.model.result import Finding

STRATEGY_CURES = ("strategy:default_gpu", "strategy:dlight")
_TRY = "Bind {loop} to blockIdx.x or threadIdx.x, or apply DefaultGPUSchedule or dlight."


class Verdict(msgspec.Struct, frozen=True):
    """Why a function is not a kernel in one sentence ("" when nothing was found), and where."""

    reason: str
    findings: tuple[Finding, ...]


def no_kernel(function: Function) -> Verdict:
    """The verdict on a function that gave no kernel at all."""
    blocks = on_host(function)
    if not blocks:
        return _blockless(function)
    findings = tuple(_unbound("no_kernel", function, block) for block in _one_per_nest(blocks))
    names = _names(loop.name for block in blocks for loop in _unbound_loops(function, block))
    if not names:
        return Verdict(
            f"No kernel: {_blocks(blocks)} without a loop, so nothing can be bound.", findings
        )
    verb = "is" if len(names) == 1 else "are"
    reason = (
        f"No kernel: {', '.join(names)} {verb} unbound."
        " At least one loop must be bound to blockIdx or threadIdx."
    )
    return Verdict(reason, findings)


def partly_on_host(function: Function, touched: Iterable[str]) -> Verdict:
    """The verdict on a function with kernels whose host code touches GPU memory.

    `touched` are the buffers that the lowered host code reads or writes.
    """
    blocks = on_host(function)
    buffers = ", ".join(touched)
    if not blocks:
        message = f"Host code reads or writes {buffers}, which lies in GPU memory."
        found = Finding(
            code="partly_on_host", severity="error", function=function.name, where=buffers,
            message=message, cure="Move that work into a block whose loops are bound.",
        )  # fmt: skip
        return Verdict(message, (found,))
    findings = tuple(_unbound("partly_on_host", function, block) for block in _one_per_nest(blocks))
    verb = "runs" if len(blocks) == 1 else "run"
    names = _names(loop.name for block in blocks for loop in _unbound_loops(function, block))
    loops = f": {', '.join(names)} {'is' if len(names) == 1 else 'are'} unbound" if names else ""
    reason = f"Part of the work has no kernel and {verb} on the host: {_blocks(blocks)}{loops}."
    return Verdict(reason, findings)


def host_loops(function: Function, lowered: Iterable[tuple[str, str]]) -> Verdict:
    """The verdict on kernels launched inside a host loop.

    `lowered` are name and extent of the host's loops, used where the nest shows none.
    """
    loops: dict[str, Loop] = {}
    for region in regions(function):
        for loop in loops_on_path(function, region.root):
            if loop.extent_value != 1:
                loops[loop.id] = loop
    if not loops:
        words = ", ".join(f"{name} ({extent})" for name, extent in lowered)
        message = f"The kernel is launched again and again inside a host loop: {words}."
        found = Finding(
            code="host_loop_launch", severity="error", function=function.name, where=words,
            message=message, cure="Bind that loop, or move it into the kernel.",
        )  # fmt: skip
        return Verdict(message, (found,))
    findings = tuple(_host_loop(function, loop) for loop in loops.values())
    words = ", ".join(f"{loop.name} ({loop.extent})" for loop in loops.values())
    verb = "is" if len(loops) == 1 else "are"
    return Verdict(
        f"The kernel is launched inside a host loop: {words} {verb} outside the bound loops.",
        findings,
    )


def nothing_to_do(function: Function) -> str:
    """Why there can't be a kernel and need not be one, or ""."""
    empty = [n for n in function.nodes if isinstance(n, Loop) and n.extent_value == 0]
    if empty and all(_below_empty(function, block, empty) for block in _computing(function)):
        return f"Nothing to compute: loop {empty[0].name} has extent 0."
    return "" if function.nodes else "Nothing to compute: the function has no statements."


def _computing(function: Function) -> tuple[Block, ...]:
    return tuple(n for n in function.nodes if isinstance(n, Block) and not n.is_root)


def _below_empty(function: Function, block: Block, empty: list[Loop]) -> bool:
    around = {loop.id for loop in loops_on_path(function, block)}
    return any(loop.id in around for loop in empty)


def _blockless(function: Function) -> Verdict:
    loops = [node for node in function.nodes if isinstance(node, Loop) and not bound(node)]
    names = _names(loop.name for loop in loops)
    where = f"loops {', '.join(names)}" if names else f"function {function.name}"
    buffers = _names(b.name for b in function.buffers if b.param)
    wrap = "wrap the store in a T.sblock with its axes (T.axis.spatial), then bind its loops."
    if any(isinstance(node, Block) for node in function.nodes):
        message = "No kernel: TVM left no launch in the function."
        cure = "Apply DefaultGPUSchedule or dlight to the module as it was before."
    else:
        message = "No kernel: no T.sblock was found, so no loop can be scheduled or bound."
        cure = f"In the text, {wrap}"
    found = Finding(
        code="no_kernel", severity="error", function=function.name, where=where,
        message=message + (f" Its buffers are {', '.join(buffers)}." if buffers else ""),
        cure=cure, node=loops[0].id if loops else "",
    )  # fmt: skip
    return Verdict(f"{message} {cure}", (found,))


def _unbound(code: str, function: Function, block: Block) -> Finding:
    loops = _unbound_loops(function, block)
    loop = _bindable(loops)
    serial = ", ".join(f"{each.name} ({each.extent})" for each in loops)
    verb = "is" if len(loops) == 1 else "are"
    if loops:
        message = f"Block {block.name} runs on the host: {serial} {verb} unbound."
    else:
        own = [n.name for n in below(function, block) if isinstance(n, Loop)]
        inside = f"its loops ({', '.join(own)}) are part of its body" if own else "it has no loop"
        message = f"Block {block.name} runs on the host: {inside}, so nothing can be bound."
    cures: tuple[str, ...]
    parallel = [each.name for each in loops if each.mode == "parallel"]
    if parallel:
        message += f" T.parallel ({', '.join(parallel)}) means threads of the CPU."
    if loop is not None:
        cure, cures = _TRY.format(loop=loop.name), (f"bind:{loop.id}", *STRATEGY_CURES)
    elif loops:
        kinds = {each.kind for each in loops}
        why = "only reductions" if kinds == {"reduction"} else "no loop that is purely spatial"
        cure, cures = f"It has {why}: apply DefaultGPUSchedule or dlight.", STRATEGY_CURES
    else:
        cure = "Give it a loop with add_unit_loop and bind that, or apply DefaultGPUSchedule."
        cures = STRATEGY_CURES
    return Finding(
        code=code, severity="error", function=function.name,
        where=f"block {block.name}" + (f", loops {serial}" if loops else ""),
        message=message, cure=cure, node=loop.id if loop else (loops[0].id if loops else block.id),
        cure_id=cures[0], cures=cures,
    )  # fmt: skip


def _host_loop(function: Function, loop: Loop) -> Finding:
    how_often = f"{loop.extent} times" if loop.extent_value != 1 else "once"
    can_bind = loop.ref is not None and loop.kind == "spatial" and loop.mode == "serial"
    free = "blockIdx." + _free_block_axis(function, loop)
    # No strategy here: to them a function whose blocks are all bound is scheduled already.
    cures = (f"bind:{loop.id}",) if can_bind else ()
    return Finding(
        code="host_loop_launch", severity="error", function=function.name,
        where=f"loop {loop.name} ({loop.extent})",
        message=f"Loop {loop.name} is outside the bound loops: the host launches the kernel"
        f" {how_often}.",
        cure=f"Bind {loop.name} to {free}, fuse it with the bound loop, or reorder it inside.",
        node=loop.id, cure_id=cures[0] if cures else "", cures=cures,
    )  # fmt: skip


def _free_block_axis(function: Function, loop: Loop) -> str:
    nodes = (*path(function, loop), *below(function, loop))
    taken = {node.binding for node in nodes if isinstance(node, Loop)}
    return next((axis for axis in "xyz" if f"blockIdx.{axis}" not in taken), "x")


def _unbound_loops(function: Function, block: Block) -> list[Loop]:
    return [loop for loop in loops_on_path(function, block) if not bound(loop)]


def _bindable(loops: list[Loop]) -> Loop | None:
    """The loop that binding would help most: the outermost spatial one that does something."""
    spatial = [
        loop
        for loop in loops
        if loop.kind == "spatial" and loop.ref is not None and loop.mode in ("serial", "parallel")
    ]
    return next((loop for loop in spatial if loop.extent_value != 1), next(iter(spatial), None))


def _one_per_nest(blocks: tuple[Block, ...]) -> list[Block]:
    """The first block below each top-level loop: binding that loop cures its neighbours too."""
    first: dict[str, Block] = {}
    for block in blocks:
        first.setdefault("/".join(block.id.split("/")[:2]), block)
    return list(first.values())


def _blocks(blocks: tuple[Block, ...]) -> str:
    names = _names(block.name for block in blocks)
    return ("block " if len(names) == 1 else "blocks ") + ", ".join(names)


def _names(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
