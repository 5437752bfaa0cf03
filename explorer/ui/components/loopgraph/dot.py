"""A loop nest as DOT: ids, classes and labels only; colours come from the page's theme.

Labels are untrusted names and are escaped.  A node's `id` is its nest id; a function's is its
name, a buffer's `<function>#<buffer>`.
"""

from __future__ import annotations

from functools import lru_cache

import graphviz

from explorer.model.nest import Block, Buffer, Function, Loop, Nest, Node

LABEL_CHARS = 44
MANY_NESTS = 6
_PANE_POINTS = (330, 440)
_LEAF_POINTS = (78, 46)
"""About how much room the pane has, and a node takes, in points."""
_GRAPH = {"bgcolor": "transparent", "nodesep": "0.16", "ranksep": "0.24"}
_NODE = {
    "shape": "box", "style": "rounded,filled", "fontname": "Helvetica", "fontsize": "10",
    "margin": "0.11,0.045", "height": "0.28",
}  # fmt: skip


@lru_cache(maxsize=64)
def nest_dot(nest: Nest, *, only: str = "", buffers: bool = False) -> str:
    """The nest, or one function of it, as a DOT text; `buffers` adds them with their edges."""
    shown = [f for f in nest.functions if not only or f.name == only]
    graph = graphviz.Digraph(
        "nest",
        graph_attr={**_GRAPH, "rankdir": "LR" if sideways(shown) else "TB"},
        node_attr=_NODE,
        edge_attr={"arrowsize": "0.45"},
    )
    names: dict[str, str] = {}
    for function in shown:
        _function(graph, names, function, buffers)
    for function in shown:
        for callee in function.calls:
            if callee in names:
                graph.edge(names[function.name], names[callee], **{"class": "call"})
    return str(graph.source)


def sideways(shown: list[Function]) -> bool:
    """Whether loops are better drawn left to right: many shallow nests, one below the other."""
    leaves = sum(max(1, sum(not n.children for n in f.nodes)) for f in shown)
    depth = 2 + max((n.id.count("/") for f in shown for n in f.nodes), default=0)
    wide, high = _PANE_POINTS
    upright = min(wide / (leaves * _LEAF_POINTS[0]), high / (depth * _LEAF_POINTS[1]))
    flat = min(wide / (depth * _LEAF_POINTS[0] * 1.2), high / (leaves * _LEAF_POINTS[1]))
    return flat > upright and leaves > MANY_NESTS


def _add(
    graph: graphviz.Digraph, names: dict[str, str], node_id: str, css: str, *lines: str
) -> None:
    names[node_id] = f"n{len(names)}"
    label = "\n".join(_short(line) for line in lines if line)
    graph.node(
        names[node_id],
        label=graphviz.escape(label),
        **{"id": graphviz.escape(node_id), "class": f"nd {css}"},
    )


def _function(
    graph: graphviz.Digraph, names: dict[str, str], func: Function, buffers: bool
) -> None:
    _add(graph, names, func.name, f"func k-{func.kind}", *function_label(func))
    for node in func.nodes:
        _add(graph, names, node.id, node_class(node), *node_label(node))
    for child in func.roots:
        graph.edge(names[func.name], names[child], **{"class": "tree"})
    for node in func.nodes:
        for child in node.children:
            graph.edge(names[node.id], names[child], **{"class": "tree"})
    if buffers:
        _buffers(graph, names, func)


def _buffers(graph: graphviz.Digraph, names: dict[str, str], func: Function) -> None:
    """Buffer nodes; a buffer sits below its writers, and readers do not pull the nest apart."""
    known = {buffer.name for buffer in func.buffers}
    written = {a.buffer for n in func.nodes if isinstance(n, Block) for a in n.writes}
    for buffer in func.buffers:
        node_id = buffer_id(func.name, buffer.name)
        kind = "param" if buffer.param else "alloc"
        _add(graph, names, node_id, f"buffer {kind} s-{_word(buffer.scope)}", *buffer_label(buffer))
    for node in func.nodes:
        if not isinstance(node, Block):
            continue
        for name in sorted({access.buffer for access in node.reads} & known):
            pull = "false" if name in written else "true"
            graph.edge(
                names[buffer_id(func.name, name)], names[node.id],
                **{"class": "read", "constraint": pull},
            )  # fmt: skip
        for name in sorted({access.buffer for access in node.writes} & known):
            graph.edge(names[node.id], names[buffer_id(func.name, name)], **{"class": "write"})


def buffer_id(function: str, buffer: str) -> str:
    """The graph id of a buffer."""
    return f"{function}#{buffer}"


def function_label(func: Function) -> tuple[str, ...]:
    """Name with parameters, and what kind of function it is when that is not the usual."""
    kinds = {"relax": "Relax: calls the kernels", "extern": "external"}
    notes = [kinds.get(func.kind, "")]
    notes += ["private"] if func.private and func.kind == "prim" else []
    notes += ["runs on the host"] if func.host else []
    return f"{func.name}({', '.join(func.params)})", ", ".join(n for n in notes if n)


def node_label(node: Node) -> tuple[str, ...]:
    """Two or three short lines for a loop, block or statement."""
    if isinstance(node, Loop):
        second = node.binding or {"serial": ""}.get(node.mode, node.mode)
        second = f"{second} · {node.kind}" if second else node.kind
        extra = ", ".join(key for key, _ in node.annotations)
        return f"{node.name} in {node.extent}", second, extra
    if isinstance(node, Block):
        kinds = " ".join(f"{it.name}:{it.kind[0].upper()}" for it in node.iters)
        writes = ", ".join(sorted({a.buffer for a in node.writes}))
        extra = ", ".join(key for key, _ in node.annotations)
        return node.name, kinds, f"writes {writes}" if writes else "", extra
    return (node.text.splitlines() or [""])[0], ""


def buffer_label(buffer: Buffer) -> tuple[str, ...]:
    """Name, then shape, dtype and scope."""
    shape = "×".join(buffer.shape) or "scalar"
    scope = "" if buffer.scope == "global" and buffer.param else f" {buffer.scope}"
    return buffer.name, f"{shape} {buffer.dtype}{scope}"


def node_class(node: Node) -> str:
    """CSS classes: what it is, and for a loop what it is turned into."""
    if isinstance(node, Loop):
        mode = node.mode
        look = _word(node.binding.split(".")[0]) if node.binding else mode
        return f"loop m-{look} i-{node.kind}"
    return "block" if isinstance(node, Block) else "stmt"


def _word(text: str) -> str:
    """Text as a class name: everything but letters, digits and dashes dropped."""
    return "".join(c if c.isalnum() or c == "-" else "-" for c in text)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LABEL_CHARS else text[: LABEL_CHARS - 1] + "…"
