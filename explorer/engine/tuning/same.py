"""The same function under other names: found by structure, and steps carried over by place."""

from __future__ import annotations

from typing import Any

import msgspec
import tvm_ffi
from tvm import ir, tirx

from explorer.engine.live import Live
from explorer.engine.places import all_blocks, block_ref, blocks_named, loops_around, sref_of
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives import Step


def same(one: tirx.PrimFunc, other: tirx.PrimFunc) -> bool:
    """Equal in structure.  Names and the function's attributes don't count."""
    return bool(tvm_ffi.structural_equal(_bare(one), _bare(other)))


def functions(mod: ir.IRModule) -> tuple[str, ...]:
    """The names of a module's PrimFuncs, in its order."""
    every = mod.functions_items()
    return tuple(str(gv.name_hint) for gv, func in every if isinstance(func, tirx.PrimFunc))


def functions_like(func: tirx.PrimFunc, mod: ir.IRModule) -> tuple[str, ...]:
    """The functions of `mod` that are the same as `func`."""
    return tuple(name for name in functions(mod) if same(mod[name], func))


def carried(steps: tuple[Step, ...], one: Live, other: Live, function: str) -> tuple[Step, ...]:
    """Steps of `one`'s function for `function` of `other`, which is the same but for names.

    Both schedules are taken along, in place.  Raises StepRefused.
    """
    made = []
    for step in steps:
        twin = _twin(step, one, other, function)
        one.do(step)
        other.do(twin)
        made.append(twin)
    return tuple(made)


def _twin(step: Step, one: Live, other: Live, function: str) -> Step:
    def moved(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(moved(item) for item in value)
        if isinstance(value, BlockRef):
            return _block(value, one, other, function)
        if isinstance(value, LoopRef):
            block = _block(value.block, one, other, function)
            named = blocks_named(other.sch, function, block.name)[block.nth]
            loop = loops_around(sref_of(other.sch, named))[value.depth]
            return LoopRef(block, value.depth, str(loop.stmt.loop_var.name))
        return value

    fields = {name: moved(getattr(step, name)) for name in step.__struct_fields__}
    return msgspec.structs.replace(step, **fields)


def _block(ref: BlockRef, one: Live, other: Live, function: str) -> BlockRef:
    """The block at the same place in `other`."""
    meant = blocks_named(one.sch, ref.func, ref.name)[ref.nth]
    blocks = all_blocks(one.sch, ref.func)
    at = next(n for n, block in enumerate(blocks) if block.same_as(meant))
    there = all_blocks(other.sch, function)[at]
    return block_ref(other.sch, function, sref_of(other.sch, there))


def _bare(func: tirx.PrimFunc) -> tirx.PrimFunc:
    for key, _ in func.attrs.items():
        func = func.without_attr(key)
    return func
