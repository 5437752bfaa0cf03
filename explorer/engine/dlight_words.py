"""What a dlight rule did, in words: the tests of TVM 0.27's rules, their failures, their choices.

`WORDS` maps the source of a test to a sentence over the values it had.  A test that is not here
(another TVM) is shown as the rule's source has it, with its values.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from typing import Any

from tvm import s_tir, tirx

from explorer.engine.candidates import leaf_blocks
from explorer.engine.refuse import REFUSALS, explain
from explorer.engine.xray import Exit, Test, decisive

_Values = dict[str, Any]


def _block(values: _Values, key: str) -> str:
    """A block in words, "C (SSR)", whatever form the rule holds it in."""
    found: Any = values.get(key)
    if isinstance(found, s_tir.schedule.SBlockRV):
        try:
            found = values["sch"].get(found)
        except REFUSALS:  # the rule has consumed the block: only its name is lost
            return "the block"
    if isinstance(found, s_tir.SBlock):
        return f"block {found.name_hint} ({kinds(found)})"
    if hasattr(found, "dom_kind"):
        return f"block {found.name} ({found.dom_kind()})"
    return "the block"


def _blocks(values: _Values, key: str) -> str:
    found = values.get(key) or []
    return ", ".join(_block({**values, "_": item}, "_").removeprefix("block ") for item in found)


def kinds(block: s_tir.SBlock) -> str:
    """A block's iterators as dlight writes them: S spatial, R reduction, O other."""
    letters = {tirx.IterVar.DataPar: "S", tirx.IterVar.CommReduce: "R"}
    return "".join(letters.get(iv.iter_type, "O") for iv in block.iter_vars)


def _count(values: _Values, key: str) -> int:
    return len(values.get(key) or [])


def _stored(values: _Values) -> str:
    block = values.get("block")
    store = getattr(block, "body", None)
    if not isinstance(store, tirx.BufferStore):
        return f"{_block(values, 'block')} is not a single store"
    return f"{_block(values, 'block')} stores {str(store.value)[:80]}"


def _extents(values: _Values, key: str) -> str:
    info = values.get(key)
    return " × ".join(f"{i.var.name}={i.dom}" for i in info.iters) if info is not None else ""


def _var(values: _Values) -> str:
    found = values.get("var")
    return str(getattr(found, "name", found))


def _gemv_no(values: _Values) -> str:
    """Which of is_gemv's conditions failed; both rules list them in a fixed order."""
    conditions = list(values["conditions"])
    texts = [
        "it is no reduction",
        "it reads fewer than two buffers",
        "it writes more than one buffer",
        "it is not of the form X[…] = X[…] + Y",
        "it writes a single element",
    ]
    if len(conditions) == 6:
        texts.insert(4, "it reads at a computed index, and pad_einsum wants plain ones")
    failed = [text for text, holds in zip(texts, conditions, strict=False) if not holds]
    return f"{_block(values, 'block_info')} is no matrix-vector product: {' and '.join(failed)}."


def _not_indexing(values: _Values) -> str:
    """The iterator that the widest input of a reduction is not indexed by."""
    info = values["info"]
    kind = "reduction" if info.kind == "R" else "spatial"
    return (
        f"The {kind} iterator {info.var.name} ({info.dom}) of {_block(values, 'block_info')} does "
        "not index the input it reads most of; the rule reduces one input that holds every element."
    )


_LEFT = (
    "the rule takes one reduction block and at most one elementwise block behind it; "
    "after inlining these are left: "
)
_NOT_NORMAL = (
    "The function is not a chain of blocks that each have loops of their own, one loop an iterator "
    "in the iterators' order"
)

WORDS: dict[str, Callable[[_Values], str]] = {
    "not isinstance(func, tirx.PrimFunc) or not self.is_target_available(target)": lambda v: (
        "The target is no GPU."
    ),
    "not self.is_target_available(target)": lambda v: "The target is no GPU.",
    # the form all rules but Matmul and RMSNorm bring a function into
    "block_infos is None": lambda v: f"{_NOT_NORMAL}: {shape(_func_of(v))}.",
    "result is None": lambda v: f"{_NOT_NORMAL}: {shape(_func_of(v))}.",
    "len(block_infos) == 0": lambda v: "No block is left after inlining.",
    "len(block_infos) == 2": lambda v: f"Too many blocks: {_LEFT}{_blocks(v, 'block_infos')}.",
    "not epilogue.is_injective()": lambda v: (
        f"The last one, {_block(v, 'epilogue')}, is not elementwise."
    ),
    "len(block_info.iters) not in [2, 3]": lambda v: (
        f"{_block(v, 'block_info')} has {_count({'i': v['block_info'].iters}, 'i')} iterators; the "
        "rule knows [S, R] and [B, S, R]."
    ),
    # GEMV
    "not all(conditions)": _gemv_no,
    "0 < len(ret) < len(block_stmt.reads)": lambda v: (
        f"{_block(v, 'block_info')} is no matrix-vector product: of the "
        f"{len(v['block_stmt'].reads)} buffers it reads, {len(v['ret'])} are indexed by fewer iterators than the block has "
        f"({_extents(v, 'block_info')}); one or more, but not all, must be."
    ),
    "collect_vars_used_in_prim_expr(access.base) & set((iter_var.var for iter_var in "
    "block_stmt.iter_vars))": lambda v: (
        f"{_block(v, 'block_info')} reads its matrix at an index that is no sum of iterators."
    ),
    "not access.args": lambda v: (
        f"{_block(v, 'block_info')} reads its matrix at one fixed element."
    ),
    "c_loops": lambda v: f"Two iterators of {_block(v, 'block_info')} are divided in the index.",
    "not is_reduction": lambda v: (
        f"A spatial iterator of {_block(v, 'block_info')} is divided in the index (packed data); "
        "only a reduction may be."
    ),
    "not isinstance(len_r, int)": lambda v: "The reduction has no static length.",
    "len_r < LOAD_V_TILE * TR * SCALE_PACK * DEC_PACK": lambda v: (
        f"The reduction has {v['len_r']} iterations; with the reduction outermost the rule wants "
        f"{v['LOAD_V_TILE'] * v['TR'] * v['SCALE_PACK'] * v['DEC_PACK']} or more."
    ),
    "isinstance(len_s, int) and len_s > 96000": lambda v: f"{v['len_s']} rows are more than 96000.",
    "target.kind.name == 'metal'": lambda v: (
        "The matrix is read with the reduction outermost, and the rule has that for Android and "
        "Metal GPUs only."
    ),
    "not (target.kind.name == 'opencl' and ('android' in str(target.host) or 'adreno' in "
    "str(target.attrs)))": lambda v: (
        "The matrix is read with the reduction outermost, and the rule has that for Adreno only."
    ),
    # Reduction
    "not block_info.is_reduction()": lambda v: f"{_block(v, 'block_info')} is no reduction.",
    "not _has_reduction_loop(block_info)": lambda v: (
        f"{_block(v, 'block_info')} has no reduction loop."
    ),
    "len(block_stmt.writes) != 1": lambda v: (
        f"{_block(v, 'block_info')} writes {len(v['block_stmt'].writes)} buffers, not one."
    ),
    "not isinstance(buffer_store, tirx.BufferStore)": lambda v: f"{_stored(v)}.",
    "not isinstance(buffer_store.value, tirx.Add)": lambda v: (
        f"{_stored(v)}; the rule knows sums only: X[…] = X[…] + Y."
    ),
    "not tvm_ffi.structural_equal(buffer_store.value.a, tirx.BufferLoad(buffer_store.buffer, "
    "block.body.indices), map_free_vars=True)": lambda v: (
        f"{_stored(v)}; the rule wants X[…] = X[…] + Y with the same X first."
    ),
    "info is None": lambda v: "The input is indexed by something that is no iterator.",
    "var in seen": lambda v: f"The iterator {_var(v)} indexes the input twice.",
    "not isinstance(info.dom, int)": _not_indexing,
    "info.dom != 1": _not_indexing,
    "info.kind == 'S' and info.dom == 1": _not_indexing,
    "access.base != 0": lambda v: f"The input is read at an offset: {v['access'].base}.",
    "not _inner_spatial_write_back_is_affine(spatial_domains)": lambda v: (
        "The output would be written at an index TVM can't prove: the spatial extents "
        f"{v['spatial_domains']} leave too many parts."
    ),
    # GeneralReduction
    "num_trailing_r > 0": lambda v: (
        f"The first block, {_blocks(v, 'block_infos').split(', ')[0]}, does not end in a reduction."
    ),
    "block.dom_kind() == dom_kind": lambda v: (
        f"{_block(v, 'block')} has other iterators than the first one ({v['dom_kind']}); all "
        "reductions of the rule must be alike."
    ),
    "block_infos[-1].is_injective()": lambda v: (
        f"The last block, {_blocks(v, 'block_infos').split(', ')[-1]}, is not elementwise."
    ),
    "len(block_infos[-1].dom_kind()) <= len(dom_kind)": lambda v: (
        f"The last block, {_blocks(v, 'block_infos').split(', ')[-1]}, has more iterators than the "
        f"first ({v['dom_kind']})."
    ),
    # Matmul
    "not all([is_reduction(block) or is_spatial(block) for block in blocks])": lambda v: (
        f"Every block must be spatial, or spatial with a reduction; here: {_blocks(v, 'blocks')}."
    ),
    "len(reduction_blocks) != 1": lambda v: (
        f"There must be exactly one block with a reduction; here: {_blocks(v, 'blocks')}."
    ),
    "len(block.reads) != 2": lambda v: (
        f"{_block(v, 'block')} reads {len(v['block'].reads)} buffers; a matmul reads two."
    ),
    "len(block.writes) != 1": lambda v: (
        f"{_block(v, 'block')} writes {len(v['block'].writes)} buffers; a matmul writes one."
    ),
    "var in B_axes and var in C_axes": lambda v: (
        f"The spatial iterator {_var(v)} of {_block(v, 'block')} does not index the output "
        "together with an input."
    ),
    "var in A_axes and var in B_axes and (var not in C_axes)": lambda v: (
        f"The reduction iterator {_var(v)} of {_block(v, 'block')} does not index both inputs."
    ),
    "iter_var.iter_type == tirx.IterVar.CommReduce": lambda v: (
        f"The iterator {_var(v)} of {_block(v, 'block')} is neither spatial nor a reduction."
    ),
    "{x.kind for x in traits.values()}.intersection(gemm_traits) != gemm_traits": lambda v: (
        f"{_block(v, 'block')} lacks an axis of a matmul longer than 1: it has "
        f"{', '.join(sorted({x.kind.name[-1] for x in v['traits'].values()} - {'T'}))} of I, J, K."
    ),
    "'no exception in `A_axes = get_access_axes(block.reads[0].region)`'": lambda v: (
        f"{_block(v, 'block')} reads a whole region, not one element at a time."
    ),
    "'no exception in `B_axes = get_access_axes(block.reads[1].region)`'": lambda v: (
        f"{_block(v, 'block')} reads a whole region, not one element at a time."
    ),
    "'dlight.do_not_tensorize' in func.attrs.keys()": lambda v: (
        "The function asks for no tensor cores (dlight.do_not_tensorize)."
    ),
    # LowBatchGEMV
    "len(reduction_block_infos) != 1": lambda v: (
        f"There must be exactly one reduction block; here: {_blocks(v, 'block_infos')}."
    ),
    "len(block_stmt.iter_vars) - len(const_iter_vars) != 1": lambda v: (
        f"{_block(v, 'block_info')} must have exactly one iterator of symbolic size, the batch; it "
        f"has {len(v['block_stmt'].iter_vars) - len(v['const_iter_vars'])} "
        f"({_extents(v, 'block_info')})."
    ),
    "symbolic_iter_var.iter_type != tirx.stmt.IterVar.DataPar": lambda v: (
        "The iterator of symbolic size is not spatial."
    ),
    # RMSNorm
    "not any([identify_rsqrt_block(sch.get(block)) for block in blocks])": lambda v: (
        f"No block computes one rsqrt from one buffer; here: {_blocks(v, 'blocks')}."
    ),
    "not identify_rsqrt_block(sch.get(rsqrt))": lambda v: "The fourth block is not the rsqrt.",
    # Transpose
    "not block.is_injective()": lambda v: (
        f"{_block(v, 'block')} is not elementwise, and no transpose was found behind it."
    ),
    "transpose_block_idx == -1": lambda v: (
        f"No block is a plain copy with its indices in another order; here: {_blocks(v, 'blocks')}."
    ),
    "len(loops) != 2": lambda v: f"The transpose has {len(v['loops'])} loops; the rule knows two.",
}


def declined_in_words(rule: str, test: Test | None) -> tuple[str, str]:
    """The reason of a rule that declined, and where its source says so (as details)."""
    if test is None:
        return f"{rule} says no without a test of its own.", ""
    chain = [test]
    while chain[-1].asked is not None:
        chain.append(chain[-1].asked)
    details = "\n".join(
        f"{os.path.basename(t.file)}:{t.line} {t.function}: {'' if t.holds else 'not '}{t.source}"
        for t in chain
    )
    for found in reversed(chain):
        words = WORDS.get(found.source)
        if words is not None:
            try:
                sentence = words(found.values)
            except (KeyError, AttributeError, TypeError, IndexError):
                continue
            return sentence[0].upper() + sentence[1:], details
    last = chain[-1]
    return f"Its test `{last.source}` is {'true' if last.holds else 'false'}.", details


def failed_in_words(rule: str, error: Exception, func: Any) -> tuple[str, str]:
    """The reason of a rule that raised: the primitive and the loop, or the rule's own line."""
    frames = list(traceback.walk_tb(error.__traceback__))
    reason = explain(rule, error).problem.why if str(error) else type(error).__name__
    inside = [(f, n) for f, n in frames if f"{os.sep}dlight{os.sep}" in f.f_code.co_filename]
    where = ""
    if inside:
        frame, line = inside[-1]
        where = f"{os.path.basename(frame.f_code.co_filename)}:{line}"
    for frame, _ in reversed(frames):
        if frame.f_code.co_filename.endswith(os.path.join("schedule", "schedule.py")):
            method = frame.f_code.co_name
            if method.startswith("_"):
                continue
            target = _touched(frame.f_locals)
            return f"{method}{target} does not apply: {reason}", f"{where}\n{error}"
    own = f"The rule itself breaks ({type(error).__name__}): {reason}"
    if not leaf_blocks(func)[0]:
        own = "It has no T.sblock, which the rule takes for granted."
    elif isinstance(error, TypeError) and "NoneType" in str(error):
        own = f"{_NOT_NORMAL}, which the rule takes for granted: {shape(func)}."
    return own, f"{where}\n{type(error).__name__}: {error}"


def _touched(values: dict[str, Any]) -> str:
    """ " on loop i" for the loop or block a primitive was given."""
    sch = values.get("self")
    for value in values.values():
        items = value if isinstance(value, (list, tuple)) else (value,)
        for item in items:
            if isinstance(item, (s_tir.schedule.LoopRV, s_tir.schedule.SBlockRV)):
                try:
                    stmt = sch.get(item)  # type: ignore[union-attr]
                except REFUSALS:  # the variable is stale: then it has no name
                    continue
                if isinstance(stmt, tirx.For):
                    return f" on loop {stmt.loop_var.name}"
                return f" on block {stmt.name_hint} ({kinds(stmt)})"
        if isinstance(value, str) and value and value != "main":
            return f' of "{value}"'
    return ""


def applied_in_words(rule: str, sch: s_tir.Schedule, exits: list[Exit]) -> str:
    """What the rule chose: tensor cores or not and why, tiles, padding, caches."""
    by_kind: dict[str, list[Any]] = {}
    for inst in sch.trace.insts:
        by_kind.setdefault(str(inst.kind.name), []).append(inst)
    said = []
    if rule == "Matmul":
        said.append(_tensor_cores(by_kind, exits))
    for inst in by_kind.get("PadEinsum", []):
        tile = " × ".join(str(int(n)) for n in inst.attrs[0])
        said.append(f"iterators padded to multiples of {tile}")
    inlined = len(by_kind.get("ComputeInline", [])) + len(by_kind.get("ReverseComputeInline", []))
    if inlined:
        said.append(f"{inlined} block{'s' if inlined > 1 else ''} inlined")
    scopes: dict[str, int] = {}
    for kind in ("CacheRead", "CacheWrite", "SetScope"):
        for inst in by_kind.get(kind, []):
            scope = str(inst.attrs[1])
            scopes[scope] = scopes.get(scope, 0) + 1
    for scope, count in scopes.items():
        said.append(f"{count} buffer{'s' if count > 1 else ''} in {scope}")
    if by_kind.get("RFactor"):
        said.append("the reduction is shared among threads (rfactor)")
    if not said:
        said.append("spatial loops fused, split by threads and bound")
    text = "; ".join(said)
    return text[0].upper() + text[1:] + "."


def _tensor_cores(by_kind: dict[str, list[Any]], exits: list[Exit]) -> str:
    intrinsics = [str(inst.attrs[0]) for inst in by_kind.get("Tensorize", [])]
    sync = [name for name in intrinsics if "sync" in name] or intrinsics
    if sync:
        return f"tensor cores ({sync[0]})"
    values = exits[-1].values
    if values.get("apply_tensorization") is False:
        small = [
            f"{iv.var.name}={iv.dom.extent}"
            for iv in values["block_stmt"].iter_vars[1:]
            if isinstance(iv.dom.extent, tirx.IntImm)
            and iv.dom.extent.value <= values["minimal_tensorize_threshold"]
        ]
        return f"no tensor cores: {', '.join(small)} is not over 64"
    if "in_dtype" in values and values.get("tensorize_sch") is None:
        tried = [e for e in exits if e.function.endswith("Tensorization.apply")]
        if tried:
            reason, _ = declined_in_words("", decisive(exits[: exits.index(tried[-1]) + 1]))
            return f"no tensor cores: {reason.rstrip('.')}"
        return (
            f"no tensor cores: {values['in_dtype']} to {values['out_dtype']} has no intrinsic here"
        )
    return "no tensor cores"


def shape(func: Any) -> str:
    """Why a function is not the chain of simple blocks most rules start from."""
    if func is None:
        return "its blocks or loops are of another form"
    leaves, _ = leaf_blocks(func)
    if not leaves:
        return "it has no T.sblock"
    for block, loops in _with_loops(func):
        if not block.iter_vars and loops:
            return f"block {block.name_hint} has no iterators for its loops"
        if not block.iter_vars:
            return f"block {block.name_hint} is opaque: it has no iterators"
        if len(loops) != len(block.iter_vars):
            names = ", ".join(loop.loop_var.name for loop in loops)
            return (
                f"block {block.name_hint} has {len(block.iter_vars)} iterators under "
                f"{len(loops)} loops ({names})"
            )
    for _, loops in _with_loops(func):
        for loop in loops:
            if isinstance(loop.body, tirx.SeqStmt):
                return f"loop {loop.loop_var.name} holds more than one statement"
    for block, loops in _with_loops(func):
        values = _bindings(func, block)
        for iv, value, loop in zip(block.iter_vars, values, loops, strict=False):
            if not value.same_as(loop.loop_var):
                return (
                    f"block {block.name_hint} binds {iv.var.name} to {value}, where loop "
                    f"{loop.loop_var.name} is in its place"
                )
    return "its blocks or loops are of another form"


def _with_loops(func: Any) -> list[tuple[s_tir.SBlock, list[Any]]]:
    return [(realize.block, loops) for realize, loops in _realized(func)]


def _bindings(func: Any, block: s_tir.SBlock) -> list[Any]:
    return next(list(r.iter_values) for r, _ in _realized(func) if r.block.same_as(block))


def _realized(func: Any) -> list[tuple[Any, list[Any]]]:
    """The leaf blocks as realized, each with the loops around it."""
    leaves, _ = leaf_blocks(func)
    found: list[tuple[Any, list[Any]]] = []

    def walk(stmt: Any, loops: list[Any]) -> None:
        if isinstance(stmt, s_tir.SBlockRealize):
            if any(stmt.block.same_as(leaf) for leaf in leaves):
                found.append((stmt, loops))
            walk(stmt.block.body, [])
        elif isinstance(stmt, tirx.SeqStmt):
            for item in stmt.seq:
                walk(item, loops)
        else:
            inner = [*loops, stmt] if isinstance(stmt, tirx.For) else loops
            for field in ("body", "then_case", "else_case"):
                child = getattr(stmt, field, None)
                if isinstance(child, tirx.Stmt):
                    walk(child, inner)

    walk(func.body, [])
    return found


def _func_of(values: _Values) -> Any:
    if "func" in values:
        return values["func"]
    sch = values.get("sch")
    return None if sch is None else next(iter(sch.mod.functions.values()), None)
