"""Nests made by hand: no TVM is needed to test what is drawn."""

from __future__ import annotations

from explorer.model.loaded import Loaded, Source
from explorer.model.nest import Access, Block, Buffer, Function, Iter, Loop, Nest, Span
from explorer.model.refs import BlockRef, LoopRef

BLOCK = BlockRef("C")


def loop(node_id: str, name: str, depth: int, child: str, **more: object) -> Loop:
    fields = {
        "id": node_id, "name": name, "extent": "128", "extent_value": 128, "kind": "spatial",
        "mode": "serial", "binding": None, "annotations": (), "ref": LoopRef(BLOCK, depth, name),
        "inside_block": False, "span": Span(3 + depth, 9), "children": (child,),
    }  # fmt: skip
    return Loop(**{**fields, **more})  # type: ignore[arg-type]


def block(node_id: str, name: str = "C", **more: object) -> Block:
    fields = {
        "id": node_id, "name": name, "iters": (Iter("vi", "128", "spatial", "i"),),
        "reads": (Access("A", "A[vi]"),), "writes": (Access("C", "C[vi]"),), "has_init": False,
        "predicate": None, "annotations": (), "allocates": (), "is_root": False, "ref": BLOCK,
        "span": Span(6, 9), "children": (),
    }  # fmt: skip
    return Block(**{**fields, **more})  # type: ignore[arg-type]


def buffer(name: str, **more: object) -> Buffer:
    fields = {"name": name, "shape": ("128",), "dtype": "float32", "scope": "global", "param": True}
    return Buffer(**{**fields, **more})  # type: ignore[arg-type]


def function(name: str = "main", nodes: tuple[object, ...] = (), **more: object) -> Function:
    nodes = nodes or (
        loop(f"{name}/0", "i", 0, f"{name}/0/0", mode="bound", binding="blockIdx.x"),
        loop(f"{name}/0/0", "k", 1, f"{name}/0/0/0", kind="reduction"),
        block(f"{name}/0/0/0"),
    )
    fields = {
        "name": name, "kind": "prim", "private": False, "host": False, "scheduled": False,
        "params": ("A", "C"), "symbols": (), "buffers": (buffer("A"), buffer("C")),
        "nodes": nodes, "roots": (nodes[0].id,), "span": Span(1, 9),  # type: ignore[attr-defined]
    }  # fmt: skip
    return Function(**{**fields, **more})  # type: ignore[arg-type]


def loaded(*functions: Function) -> Loaded:
    return Loaded(
        module="Module", modules=("Module",), text="text", original="text", migrations=(),
        notes=(), constants=(), schedule="", nest=Nest(functions or (function(),)), symbols=(),
    )  # fmt: skip


SOURCE = Source("text")
