"""reorder: loops of one chain in a new order."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Function, Loop, Node
from explorer.model.refs import LoopRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import Field, ListField, LoopField
from explorer.primitives.scope import Scope


class Reorder(Step, frozen=True, tag="reorder"):
    """Put loops of one chain into a new order, outermost first; the others stay in their places.

    Before:
        for i, j, k in T.grid(128, 64, 32):
    After `sch.reorder(k, i)`:
        for k, j, i in T.grid(32, 64, 128):
    """

    MENU: ClassVar[str] = "Shape the loop"
    STARRED: ClassVar[str] = "ordered_loops"
    form: ClassVar[tuple[Field, ...]] = (
        ListField(
            "ordered_loops", "New order, outermost first", item=LoopField("loop", "Loop"), least=2
        ),
    )

    ordered_loops: tuple[LoopRef, ...]

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """A swap with the loop inside or outside, and a form for more."""
        if not isinstance(node, Loop) or node.ref is None:
            return []
        scope = Scope(function)
        offers = []
        inner = scope.only_child_loop(node)
        outer = scope.parent.get(node.id)
        if inner is not None and inner.ref is not None:
            label = f"Move inside {inner.name}"
            step = cls((inner.ref, node.ref))
            offers.append(Offer(op="reorder", label=label, group=cls.MENU, step=step, key="r"))
        if isinstance(outer, Loop) and outer.ref is not None and len(outer.children) == 1:
            label = f"Move outside {outer.name}"
            step = cls((node.ref, outer.ref))
            offers.append(Offer(op="reorder", label=label, group=cls.MENU, step=step, key="o"))
        if offers:
            offers.append(Offer(op="reorder", label="Reorder several…", group=cls.MENU))
        return offers
