"""A module as a loop nest of plain data: what the graph, the menus and the checks look at."""

from __future__ import annotations

from collections import Counter
from typing import Any

import tvm_ffi
from tvm import ir, relax, s_tir, tirx

from explorer.engine.lines import FunctionText, Item, read_functions
from explorer.model.nest import (
    Access,
    Block,
    Buffer,
    Function,
    Iter,
    IterKind,
    Loop,
    LoopMode,
    Nest,
    Node,
    Statement,
)
from explorer.model.refs import BlockRef, LoopRef

_ITER_KINDS: dict[int, IterKind] = {0: "spatial", 2: "reduction"}
_LOOP_MODES: dict[int, LoopMode] = {
    0: "serial", 1: "parallel", 2: "vectorized", 3: "unrolled", 4: "bound",
}  # fmt: skip


def nest_of(mod: ir.IRModule, script: str) -> Nest:
    """The nest of `mod`; `script` is its printed text, which gives the line spans."""
    texts = read_functions(script)
    functions = {var.name_hint: func for var, func in mod.functions_items()}
    order = [name for name in texts if name in functions]
    order += [str(name) for name in functions if name not in texts]
    return Nest(tuple(_function(name, functions[name], texts.get(name)) for name in order))


def _function(name: str, func: Any, text: FunctionText | None) -> Function:
    if isinstance(func, tirx.PrimFunc):
        return _PrimFunc(name, func, text).function()
    span = text.span if text else None
    attrs = func.attrs or {}
    if isinstance(func, relax.Function):
        return Function(
            name=name, kind="relax", private="global_symbol" not in attrs, host=False,
            scheduled=False, params=tuple(str(p.name) for p in func.params), symbols=(),
            buffers=(), nodes=(), roots=(), calls=_relax_calls(func), span=span, schedulable=False,
            note="A Relax function: it calls PrimFuncs, which are what is scheduled.",
        )  # fmt: skip
    return Function(
        name=name, kind="extern", private=False, host=False, scheduled=False, params=(),
        symbols=(), buffers=(), nodes=(), roots=(), span=span, schedulable=False,
        note="An external function: its code is not in the module.",
    )  # fmt: skip


def _relax_calls(func: relax.Function) -> tuple[str, ...]:
    names: dict[str, None] = {}

    def visit(expr: Any) -> None:
        if isinstance(expr, ir.GlobalVar):
            names[expr.name_hint] = None

    relax.analysis.post_order_visit(func.body, visit)
    return tuple(names)


class _PrimFunc:
    """Reads one PrimFunc; lives for one call of `function`."""

    def __init__(self, name: str, func: tirx.PrimFunc, text: FunctionText | None) -> None:
        self.name = name
        self.func = func
        self.text = text
        self.nodes: list[Node | None] = []
        self.seen: Counter[str] = Counter()
        self.buffer_names: dict[int, str] = {}
        self.buffers: list[Buffer] = []
        self.uses: dict[int, set[IterKind]] = {}
        """Kinds of the block iterators that a loop variable (by handle) takes part in."""

    def function(self) -> Function:
        func, attrs = self.func, self.func.attrs or {}
        params = [p for p in func.params if isinstance(p.ty, tirx.BufferType)]
        for param in params:
            self._add_buffer(param, param=True)
        root = func.body if isinstance(func.body, s_tir.SBlockRealize) else None
        tree = _tree(func.body)
        items = self._items(tree, root is not None)
        if root is not None and not (items and items[0].obj is tree[0].obj):
            self.seen[root.block.name_hint] += 1
            self._add_buffers(root.block)
        for item in tree:
            self._note_uses(item)
        roots = [self._node(item, f"{self.name}/{n}", _Scope()) for n, item in enumerate(items)]
        nodes = tuple(node for node in self.nodes if node is not None)
        note = _note(func, nodes)
        target = attrs.get("target")
        return Function(
            name=self.name,
            kind="prim",
            private="global_symbol" not in attrs,
            host=bool(target is not None and "gpu" not in target.keys),
            scheduled=bool(attrs.get("tirx.is_scheduled", False)),
            params=tuple(str(p.name) for p in func.params),
            symbols=_symbols(func),
            buffers=tuple(self.buffers),
            nodes=nodes,
            roots=tuple(roots),
            span=self.text.span if self.text else None,
            schedulable=not note,
            note=note,
        )

    def _items(self, tree: list[Item], has_root: bool) -> list[Item]:
        """The text's items with their TVM objects, or TVM's own tree when the text doesn't match.

        The printer leaves out a root block that carries nothing of its own; so does the nest.
        """
        real = [item for top in tree for item in top.flat()]
        bare = tree[0].children if has_root else tree
        if self.text is None:
            return bare
        shown = [item for top in self.text.items for item in top.flat()]
        for wanted in (real, real[1:]) if has_root else (real,):
            if len(wanted) == len(shown) and all(
                a.kind == b.kind and (a.kind == "loop" or a.name == b.name)
                for a, b in zip(wanted, shown, strict=True)
            ):
                for actual, item in zip(wanted, shown, strict=True):
                    item.obj, item.name = actual.obj, actual.name
                return self.text.items
        return bare

    def _note_uses(self, item: Item) -> None:
        if item.kind == "block":
            for var, value in zip(item.obj.block.iter_vars, item.obj.iter_values, strict=True):
                kind = _ITER_KINDS.get(int(var.iter_type), "opaque")
                for used in _variables(value):
                    self.uses.setdefault(_key(used), set()).add(kind)
        for child in item.children:
            self._note_uses(child)

    def _node(self, item: Item, node_id: str, scope: _Scope) -> str:
        at = len(self.nodes)
        self.nodes.append(None)
        inner = scope
        if item.kind == "block":
            ref = BlockRef(item.name, self.seen[item.name], self.name)
            self.seen[item.name] += 1
            is_root = item.obj is self.func.body or item.obj.same_as(self.func.body)
            inner = _Scope(inside=not is_root)
            self._add_buffers(item.obj.block)
        elif item.kind == "loop":
            inner = _Scope(scope.inside, scope.depth + 1)
        # Statements of a block's body are the block; only its loops are worth a node of their own.
        children = _without_statements(item.children) if inner.inside else item.children
        ids = tuple(self._node(child, f"{node_id}/{n}", inner) for n, child in enumerate(children))
        if item.kind == "block":
            self.nodes[at] = self._block(item, node_id, ref, ids)
        elif item.kind == "loop":
            self.nodes[at] = self._loop(item, node_id, scope, ids, at)
        else:
            self.nodes[at] = Statement(id=node_id, text=item.text, span=item.span, children=ids)
        return node_id

    def _block(self, item: Item, node_id: str, ref: BlockRef, children: tuple[str, ...]) -> Block:
        realize, block = item.obj, item.obj.block
        predicate = realize.predicate
        return Block(
            id=node_id,
            name=item.name,
            iters=tuple(
                Iter(
                    str(var.var.name), text_of(var.dom.extent),
                    _ITER_KINDS.get(int(var.iter_type), "opaque"), text_of(value),
                )
                for var, value in zip(block.iter_vars, realize.iter_values, strict=True)
            ),
            reads=tuple(self._access(region) for region in block.reads),
            writes=tuple(self._access(region) for region in block.writes),
            has_init=block.init is not None,
            predicate=None if isinstance(predicate, tirx.IntImm) else text_of(predicate),
            annotations=_annotations(block.annotations),
            allocates=tuple(self.buffer_names[_key(b)] for b in block.alloc_buffers),
            is_root=realize.same_as(self.func.body),
            ref=ref,
            span=item.span,
            children=children,
        )  # fmt: skip

    def _loop(
        self, item: Item, node_id: str, scope: _Scope, children: tuple[str, ...], at: int
    ) -> Loop:
        loop = item.obj
        below = next((n for n in self.nodes[at + 1 :] if isinstance(n, Block)), None)
        kinds = self.uses.get(_key(loop.loop_var), set())
        extent = loop.extent
        thread = loop.thread_binding
        return Loop(
            id=node_id,
            name=item.name,
            extent=text_of(extent),
            extent_value=int(extent) if isinstance(extent, tirx.IntImm) else None,
            kind=next(iter(kinds)) if len(kinds) == 1 else "mixed" if kinds else "opaque",
            mode=_LOOP_MODES[int(loop.kind)],
            binding=str(thread.thread_tag) if thread is not None else None,
            annotations=_annotations(loop.annotations),
            ref=None if below is None else LoopRef(below.ref, scope.depth, item.name),
            inside_block=scope.inside and below is None,
            span=item.span,
            children=children,
        )

    def _access(self, region: Any) -> Access:
        source = region.source
        name = self.buffer_names.get(_key(source))
        plain = "".join(str(region))  # TVM's own str subclass can't be encoded as JSON
        return Access(name or str(source.name), plain)

    def _add_buffers(self, block: s_tir.SBlock) -> None:
        for buffer in block.alloc_buffers:
            self._add_buffer(buffer, param=False)
        for match in block.match_buffers:
            self._add_buffer(match.buffer, param=False)

    def _add_buffer(self, buffer: Any, param: bool) -> None:
        taken = set(self.buffer_names.values())
        name, n = str(buffer.name), 1
        while name in taken:
            name, n = f"{buffer.name}_{n}", n + 1
        self.buffer_names[_key(buffer)] = name
        self.buffers.append(
            Buffer(
                name=name,
                shape=tuple(text_of(size) for size in buffer.shape),
                dtype=str(buffer.dtype),
                scope=str(buffer.scope()),
                param=param,
                strides=tuple(text_of(stride) for stride in buffer.strides or ()),
                nbytes=_nbytes(buffer),
            )
        )


class _Scope:
    """Where a node stands: in a block's body or not, and under how many loops of its scope."""

    def __init__(self, inside: bool = False, depth: int = 0) -> None:
        self.inside = inside
        self.depth = depth


def _tree(stmt: Any) -> list[Item]:
    """TVM's loops and blocks below `stmt`, in source order (init before body)."""
    if isinstance(stmt, tirx.For):
        return [Item("loop", str(stmt.loop_var.name), obj=stmt, children=_tree(stmt.body))]
    if isinstance(stmt, s_tir.SBlockRealize):
        block = stmt.block
        inner = _tree(block.body)
        if block.init is not None:
            inner.insert(0, Item("stmt", "init", children=_tree(block.init)))
        return [Item("block", str(block.name_hint), obj=stmt, children=inner)]
    if isinstance(stmt, tirx.SeqStmt):
        return [item for part in stmt.seq for item in _tree(part)]
    below: list[Item] = []
    for name in ("body", "then_case", "else_case"):
        child = getattr(stmt, name, None)
        if child is not None:
            below += _tree(child)
    return below


def _without_statements(items: list[Item], initial: bool = False) -> list[Item]:
    """Loops and blocks only; those under a dropped `if` or `while` move up.

    Of T.init() only the loops stay: its blocks are no part of TVM's schedule tree.
    """
    kept: list[Item] = []
    for item in items:
        init = initial or (item.kind == "stmt" and item.name == "init")
        if item.kind == "stmt" or (initial and item.kind == "block"):
            kept += _without_statements(item.children, init)
        elif initial:
            children = _without_statements(item.children, init)
            kept.append(Item("loop", item.name, item.span, obj=item.obj, children=children))
        else:
            kept.append(item)
    return kept


def _note(func: tirx.PrimFunc, nodes: tuple[Node, ...]) -> str:
    """Why the function can't be scheduled, or nothing."""
    if any(isinstance(node, Block) and not node.is_root for node in nodes):
        return ""
    if any(isinstance(node, Statement) and "launch_thread" in node.text for node in nodes):
        return "Already lowered: it launches threads itself and has no blocks left to schedule."
    return "No T.sblock in it: wrap each store in a T.sblock, then its loops can be scheduled."


def size_variables(func: tirx.PrimFunc) -> list[Any]:
    """Symbolic sizes in the order the parameters name them; integer arguments are sizes too."""
    found: dict[str, Any] = {}
    for param in func.params:
        if isinstance(param.ty, tirx.BufferType):
            for size in [*param.shape, *(param.strides or ()), param.elem_offset]:
                if size is not None:
                    for var in _variables(size):
                        found.setdefault(str(var.name), var)
        elif str(param.ty).startswith(("int", "uint")):
            found.setdefault(str(param.name), param)
    return list(found.values())


def _symbols(func: tirx.PrimFunc) -> tuple[str, ...]:
    return tuple(str(var.name) for var in size_variables(func))


def _nbytes(buffer: Any) -> int | None:
    count = 1
    for size in buffer.shape:
        if not isinstance(size, tirx.IntImm):
            return None
        count *= int(size)
    dtype = tvm_ffi.dtype(str(buffer.dtype))
    bits = 8 if str(dtype) == "bool" else int(dtype.bits) * int(dtype.lanes)
    return (count * bits + 7) // 8


def _annotations(annotations: Any) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((str(key), text_of(value)) for key, value in annotations.items()))


def _variables(value: Any) -> list[Any]:
    if isinstance(value, tirx.Var):
        return [value]
    return [] if isinstance(value, tirx.IntImm) else list(tirx.analysis.undefined_vars(value))


def text_of(value: Any) -> str:
    """An expression as short text: integers without their dtype, names, else TVMScript."""
    if isinstance(value, tirx.IntImm):
        return str(int(value))
    if isinstance(value, tirx.Var):
        return str(value.name)
    if isinstance(value, tirx.FloatImm):
        return str(float(value))
    if isinstance(value, (tuple, list, ir.Array)):
        return f"[{', '.join(text_of(item) for item in value)}]"
    return _written(value)


def _written(value: Any) -> str:
    """TVMScript of an object.  TVM's `str` gives a subclass of str, which JSON refuses."""
    return str(str(value))


def _key(obj: Any) -> int:
    """Identity of a TVM object; two Python wrappers of one object give the same key."""
    return int(obj.__chandle__())
