"""What menus ask of a function's nest: what is around a node, below it, who reads and writes."""

from __future__ import annotations

from explorer.model.nest import Block, Function, Loop, Node
from explorer.model.refs import BlockRef


class Scope:
    """A function's nest, indexed.  Built per question round; holds nothing of its own."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.by_id = {node.id: node for node in function.nodes}
        self.parent = {child: node for node in function.nodes for child in node.children}
        self.blocks = [
            node for node in function.nodes if isinstance(node, Block) and not node.is_root
        ]

    def ancestors(self, node: Node) -> list[Node]:
        """Everything around `node`, innermost first."""
        found: list[Node] = []
        up = self.parent.get(node.id)
        while up is not None:
            found.append(up)
            up = self.parent.get(up.id)
        return found

    def loops_around(self, node: Node) -> list[Loop]:
        """The loops around `node` up to the block that encloses it, outermost first."""
        loops: list[Loop] = []
        for up in self.ancestors(node):
            if isinstance(up, Block):
                break
            if isinstance(up, Loop):
                loops.insert(0, up)
        return loops

    def below(self, node: Node) -> list[Node]:
        """Everything under `node`, in pre-order."""
        return [other for other in self.function.nodes if other.id.startswith(node.id + "/")]

    def blocks_below(self, node: Node) -> list[Block]:
        """The blocks under `node`, in pre-order."""
        return [other for other in self.below(node) if isinstance(other, Block)]

    def only_child_loop(self, loop: Loop) -> Loop | None:
        """The loop directly inside `loop` when nothing else is there."""
        if len(loop.children) != 1:
            return None
        child = self.by_id[loop.children[0]]
        return child if isinstance(child, Loop) else None

    def enclosing_block(self, node: Node) -> Block | None:
        """The block whose scope `node` is in; None for the root block's scope."""
        return next(
            (up for up in self.ancestors(node) if isinstance(up, Block) and not up.is_root), None
        )

    def consumers(self, block: Block) -> list[Block]:
        """Other blocks of the same scope that read what `block` writes."""
        written = {access.buffer for access in block.writes}
        return self._peers(block, lambda other: {access.buffer for access in other.reads} & written)

    def producers(self, block: Block) -> list[Block]:
        """Other blocks of the same scope that write what `block` reads."""
        read = {access.buffer for access in block.reads}
        return self._peers(block, lambda other: {access.buffer for access in other.writes} & read)

    def is_output(self, block: Block) -> bool:
        """Whether `block` writes an argument of the function."""
        params = {buffer.name for buffer in self.function.buffers if buffer.param}
        return any(access.buffer in params for access in block.writes)

    def block(self, ref: BlockRef) -> Block | None:
        """The block `ref` names, root included."""
        return next((n for n in self.function.nodes if isinstance(n, Block) and n.ref == ref), None)

    def _peers(self, block: Block, wanted: object) -> list[Block]:
        assert callable(wanted)
        home = self.enclosing_block(block)
        return [
            other
            for other in self.blocks
            if other.id != block.id and self.enclosing_block(other) is home and wanted(other)
        ]


def why_not_free(loop: Loop) -> str:
    """Why TVM won't reshape `loop`, as a sentence, or nothing when it will."""
    if loop.mode == "bound":
        return f"{loop.name} is bound to {loop.binding}: undo that first, then shape it."
    if loop.mode != "serial":
        return f"{loop.name} is {loop.mode}: undo that first, then shape it."
    if loop.annotations:
        return f"{loop.name} is annotated with {loop.annotations[0][0]}: remove that first."
    return ""


def common_loops(scope: Scope, block: Block, others: list[Block]) -> list[Loop]:
    """The loops that hold all of `others` but not `block`, innermost first."""
    shared: list[Loop] | None = None
    for other in others:
        around = scope.loops_around(other)
        shared = around if shared is None else [loop for loop in shared if loop in around]
    own = {loop.id for loop in scope.loops_around(block)}
    return [loop for loop in reversed(shared or []) if loop.id not in own]
