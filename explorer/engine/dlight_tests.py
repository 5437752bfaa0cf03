"""The tests of TVM 0.27's dlight rules in words: which block, loop or type turned a rule away.

`WORDS` maps the source of a test to a sentence over the values it had.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import s_tir, tirx

from explorer.engine.candidates import leaf_blocks
from explorer.engine.refuse import REFUSALS

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


def _buffers(regions: Any) -> str:
    return f"{len(regions)} buffer{'' if len(regions) == 1 else 's'}"


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
NOT_NORMAL = (
    "The function is not a chain of blocks that each have loops of their own, one loop an iterator "
    "in the iterators' order"
)

WORDS: dict[str, Callable[[_Values], str]] = {
    "not isinstance(func, tirx.PrimFunc) or not self.is_target_available(target)": lambda v: (
        "The target is no GPU."
    ),
    "not self.is_target_available(target)": lambda v: "The target is no GPU.",
    # the form all rules but Matmul and RMSNorm bring a function into
    "block_infos is None": lambda v: f"{NOT_NORMAL}: {shape(_func_of(v))}.",
    "result is None": lambda v: f"{NOT_NORMAL}: {shape(_func_of(v))}.",
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
        f"{len(v['block_stmt'].reads)} buffers it reads, {len(v['ret'])} are indexed by fewer "
        "iterators than the block has "
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
        f"{_block(v, 'block')} reads {_buffers(v['block'].reads)}; a matmul reads two."
    ),
    "len(block.writes) != 1": lambda v: (
        f"{_block(v, 'block')} writes {_buffers(v['block'].writes)}; a matmul writes one."
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
