"""DefaultGPUSchedule of TVM 0.27, run on any function and explained as manual steps.

Two faults of 0.27 are worked around.  The pass puts a unit loop around the root block of every
function with more than one loop nest, and then aborts because both blocks are called "root"; it
aborts in the same way where two blocks share a name.  So blocks get unique names first, the names
are given back afterwards, and the unit loop, which binds nothing, is taken off again.
"""

from __future__ import annotations

from typing import Any

import msgspec
from tvm import ir, s_tir, tirx
from tvm_ffi import structural_equal

from explorer.engine.candidates import SCHEDULED, leaf_blocks, note_of, skip_reason
from explorer.engine.dlight_words import reason_of
from explorer.engine.live import Live
from explorer.engine.places import all_blocks, block_ref, loops_around, sref_of
from explorer.engine.record import Recorder
from explorer.engine.refuse import REFUSALS, explain
from explorer.engine.rename_blocks import rename, restored, under_root, unique, unwrap
from explorer.engine.targets import tvm_target
from explorer.errors import StepRefused
from explorer.model.result import RuleOutcome
from explorer.model.target import Target
from explorer.model.view import Proposal
from explorer.primitives import Step
from explorer.primitives.default_gpu_schedule import DefaultGpuSchedule
from explorer.schedule_text.host import Variable

RULE = "DefaultGPUSchedule"
BLOCKS = 256
"""The pass launches no more blocks than this and loops inside a thread for the rest."""


def propose(live: Live, target: Target, functions: tuple[str, ...]) -> Proposal:
    """Steps that do what the pass does, function by function."""
    steps: list[Step] = []
    outcomes: list[RuleOutcome] = []
    manual, notes = True, []
    for name in functions:
        reason = skip_reason(live.mod, name)
        if reason:
            outcomes.append(RuleOutcome(rule=RULE, function=name, status="skipped", reason=reason))
            continue
        stale = note_of(live.mod[name])
        try:
            after = run_pass(live.mod, target, name)
        except StepRefused as refused:
            outcomes.append(
                RuleOutcome(
                    rule=RULE,
                    function=name,
                    status="failed",
                    reason=" ".join(
                        part for part in (_why(live.mod[name], refused), stale) if part
                    ),
                    details=refused.problem.details or refused.problem.why,
                )
            )
            continue
        if not leaf_blocks(live.mod[name])[0]:
            outcomes.append(
                RuleOutcome(
                    rule=RULE,
                    function=name,
                    status="declined",
                    reason="It has no T.sblock, and only loops around blocks can be bound. "
                    "Wrap the statement in `with T.sblock(...)`.",
                )
            )
            continue
        try:
            scheduled, made = manual_steps(live, name, target.max_threads_per_block)
            same = structural_equal(_bare(scheduled.mod[name]), _bare(after[name]))
        except StepRefused:
            same = False
        if not same:
            manual = False
            notes.append(f"{name}: no list of primitives gives the pass's module; it is one step.")
            made = (DefaultGpuSchedule(function=name, target=target.tag),)
            scheduled, _ = live.apply(made[0])
        live = scheduled
        steps += made
        outcomes.append(
            RuleOutcome(rule=RULE, function=name, status="applied", reason=_gave(made, stale))
        )
    return Proposal(
        steps=msgspec.to_builtins(steps),
        outcomes=tuple(outcomes),
        manual=manual,
        note=" ".join(notes),
    )


def run_pass(mod: ir.IRModule, target: Target, name: str) -> ir.IRModule:
    """A new module with TVM's pass run on the function called `name`.  Raises StepRefused."""
    func = mod[name].without_attr(SCHEDULED) if SCHEDULED in mod[name].attrs else mod[name]
    names: list[str] = []
    body = under_root(func.body) if _is_one_block(func) else func.body
    renamed = func.with_body(rename(body, unique(names)))
    alone = ir.IRModule({ir.GlobalVar(name): renamed})
    try:
        with tvm_target(target):
            after = s_tir.transform.DefaultGPUSchedule()(alone)[name]
    except REFUSALS as error:
        raise explain(RULE, error) from error
    body = unwrap(after.body)
    body = rename(body, restored(names))
    return with_function(mod, name, _bare(after.with_body(body)))


def with_function(mod: ir.IRModule, name: str, func: tirx.PrimFunc) -> ir.IRModule:
    """A new module with one function replaced; `mod` is left as it was."""
    functions = {gv: (func if gv.name_hint == name else old) for gv, old in mod.functions_items()}
    return ir.IRModule(functions, attrs=mod.attrs)


def manual_steps(live: Live, name: str, threads: int) -> tuple[Live, tuple[Step, ...]]:
    """The pass's own decisions as steps.  Raises StepRefused where a primitive does not apply.

    For each block without blocks inside and without a bound loop around: the loops whose block
    iterator is spatial *by position* are fused and split by `threads` a block.
    """
    host = Recorder(live)
    refs = [block_ref(live.sch, name, sref_of(live.sch, b)) for b in _leaves(live, name)]
    for ref in refs:
        block = Variable("block", host.live.block(ref))
        sref = sref_of(host.live.sch, block.value)
        around = loops_around(sref)
        if any(loop.stmt.thread_binding is not None for loop in around):
            continue
        kinds = [iv.iter_type for iv in sref.stmt.iter_vars]
        if not around:
            loops = [host.call("add_unit_loop", [block], {})]
        else:
            found = host.call("get_loops", [block], {})
            loops = [
                loop
                for loop, kind in zip(found, kinds, strict=False)
                if kind == tirx.IterVar.DataPar
            ]
            if not loops:
                loops = [host.call("add_unit_loop", [found[0]], {})]
        fused = host.call("fuse", loops, {"preserve_unit_iters": False})
        extent = host.call("get", [fused], {}).extent
        if isinstance(extent, int) and extent <= threads * BLOCKS:
            factors = (None, min(extent, threads))
            bx, tx = host.call("split", [fused], {"factors": factors})
        else:
            rest, bx, tx = host.call("split", [fused], {"factors": (None, BLOCKS, threads)})
            host.call("reorder", [bx, tx, rest], {})
        host.call("bind", [bx, "blockIdx.x"], {})
        host.call("bind", [tx, "threadIdx.x"], {})
    return host.live, tuple(host.steps)


def _is_one_block(func: tirx.PrimFunc) -> bool:
    """The root block itself computes: the pass can't put a loop around that one."""
    leaves, _ = leaf_blocks(func)
    return len(leaves) == 1 and leaves[0].same_as(func.body.block)


def _leaves(live: Live, name: str) -> list[Any]:
    leaves, _ = leaf_blocks(live.mod[name])
    return [
        block for block in all_blocks(live.sch, name) if any(block.same_as(leaf) for leaf in leaves)
    ]


def _bare(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """The function without the mark the pass leaves; a schedule has no step for that."""
    return func.without_attr(SCHEDULED) if SCHEDULED in func.attrs else func


# Words


def _why(func: tirx.PrimFunc, refused: StepRefused) -> str:
    """The failure in words of the function."""
    leaves, _ = leaf_blocks(func)
    for block in leaves:
        kinds = [iv.iter_type for iv in block.iter_vars]
        written = {region.source for region in block.writes}
        if any(region.source.same_as(out) for region in block.reads for out in written) and (
            block.init is None
        ):
            return (
                f"Block {block.name_hint} reads the buffer it writes and has no T.init: TVM cannot "
                "tell that its iterations are independent, so no loop around it may be bound."
            )
        if tirx.IterVar.CommReduce in kinds:
            order = "".join("R" if kind == tirx.IterVar.CommReduce else "S" for kind in kinds)
            return (
                f"The pass takes the first loops of block {block.name_hint} for its spatial "
                f"iterators ({order}) by position; here the loops are in another order, so it "
                "would bind a reduction. Reorder the loops first."
            )
    return reason_of(refused)


_ONE_STEP = "Blocks without loops of their own run in one thread of one block."


def _gave(steps: tuple[Step, ...], stale: str) -> str:
    if any(isinstance(step, DefaultGpuSchedule) for step in steps):
        return " ".join(part for part in (_ONE_STEP, stale) if part)
    count = sum(1 for step in steps if step.op() == "bind") // 2
    gave = f"{count} kernel{'s' if count != 1 else ''}, one element a thread." if count else ""
    if not steps:
        gave = "Every block has a bound loop already: nothing was left to do."
    return " ".join(part for part in (gave, stale) if part)
