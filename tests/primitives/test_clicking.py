"""A tiled shared-memory matmul, built only from what the menus offer."""

from __future__ import annotations

from typing import Any

import pytest
import tvm

from explorer.engine.extract import nest_of
from explorer.engine.live import Live
from explorer.model.nest import Block, Function, Loop, Node
from explorer.primitives import Step, make, offers
from tests.engine import kernels


class Hand:
    """Clicks: a node by name, an offer by its label, the form's fields as text."""

    def __init__(self, text: str, func: str = "main") -> None:
        self.live = Live(kernels.module(text))
        self.func = func
        self.steps: list[Step] = []

    @property
    def function(self) -> Function:
        found = nest_of(self.live.mod, self.live.mod.script()).function(self.func)
        assert found is not None
        return found

    def click(self, node: Node, label: str, **fields: Any) -> None:
        """Take the offer whose label starts with `label`, fill its form, apply it."""
        function = self.function
        offer = next(offer for offer in offers(function, node) if offer.label.startswith(label))
        assert not offer.refusal, offer.refusal
        step = offer.step or make(offer.op, {**offer.known, **fields}, function)
        self.live, _ = self.live.apply(step)
        self.steps.append(step)

    def loop(self, block: str, name: str) -> Loop:
        """The loop called `name` around block `block`."""
        inner = self.block(block)
        return next(
            n
            for n in self.function.nodes
            if isinstance(n, Loop) and n.name == name and inner.id.startswith(n.id + "/")
        )

    def block(self, name: str) -> Block:
        """The block called `name`."""
        return next(n for n in self.function.nodes if isinstance(n, Block) and n.name == name)


def test_a_tiled_shared_memory_matmul_by_clicking() -> None:
    hand = Hand(kernels.MATMUL)
    for loop in ("i", "j", "k"):
        hand.click(hand.loop("C", loop), "Split", factors="None, 16")
    order = [str(hand.loop("C", name).ref) for name in ("i_0", "j_0", "k_0", "i_1", "j_1", "k_1")]
    hand.click(hand.loop("C", "i_0"), "Reorder several", ordered_loops=", ".join(order))
    hand.click(hand.block("C"), "Write C through local")
    hand.click(hand.block("C_local"), "Follow its producer at j_0")
    hand.click(hand.loop("C", "i_0"), "Bind to blockIdx.y")
    hand.click(hand.loop("C", "j_0"), "Bind to blockIdx.x")
    hand.click(hand.loop("C", "i_1"), "Bind to threadIdx.y")
    hand.click(hand.loop("C", "j_1"), "Bind to threadIdx.x")
    hand.click(hand.loop("C_local", "ax0"), "Bind to threadIdx.y")
    hand.click(hand.loop("C_local", "ax1"), "Bind to threadIdx.x")
    for buffer in ("A", "B"):
        copy = f"{buffer}_shared"
        hand.click(hand.block("C"), f"Cache {buffer} in shared")
        hand.click(hand.block(copy), "Compute at k_0")
        hand.click(hand.loop(copy, "ax0"), "Fuse with ax1")
        hand.click(hand.loop(copy, "ax0_ax1_fused"), "Split", factors="16, 16")
        hand.click(hand.loop(copy, "ax0_ax1_fused_0"), "Bind to threadIdx.y")
        hand.click(hand.loop(copy, "ax0_ax1_fused_1"), "Bind to threadIdx.x")
    hand.click(hand.loop("C", "k_1"), "Unroll")
    hand.click(hand.block("C"), "Set the initial value before k_0")

    target = tvm.target.Target("nvidia/geforce-rtx-4090")
    source = tvm.compile(hand.live.mod, target=target).mod.imports[0].inspect_source()
    assert source.count("__global__") == 2  # declaration and definition
    assert "float A_shared_ptr[256]" in source
    assert "float B_shared_ptr[256]" in source
    assert "__launch_bounds__(256)" in source
    assert "__syncthreads()" in source
    assert "float C_local_ptr[1]" in source


def test_a_row_sum_in_two_stages_by_clicking() -> None:
    hand = Hand(kernels.CHAIN)
    hand.click(hand.block("B"), "Inline into its readers")
    hand.click(hand.loop("E", "k"), "Split", factors="-1 32")
    hand.click(hand.loop("E", "k_1"), "Reduce in two stages over k_1")
    names = {node.name for node in hand.function.nodes if isinstance(node, Block)}
    assert names == {"C", "D", "E_rf", "E"}
    hand.click(hand.block("E_rf"), "Set the initial value before k_0")
    assert "E_rf_init" in {n.name for n in hand.function.nodes if isinstance(n, Block)}


@pytest.mark.parametrize(
    ("node", "label", "words"),
    [
        (("C", "k"), "Bind to blockIdx.x", "only threads of one block can add up"),
        (("C", "i"), "Bind to threadIdx.z", "CUDA allows 64"),
    ],
)
def test_what_can_never_be_right_is_refused_at_its_control(
    node: tuple[str, str], label: str, words: str
) -> None:
    hand = Hand(kernels.MATMUL)
    offered = {offer.label: offer for offer in offers(hand.function, hand.loop(*node))}
    assert words in offered[label].refusal
    assert offered[label].step is None


def test_an_axis_already_on_the_path_names_both_loops() -> None:
    hand = Hand(kernels.MATMUL)
    hand.click(hand.loop("C", "i"), "Bind to threadIdx.x")
    offered = {offer.label: offer for offer in offers(hand.function, hand.loop("C", "j"))}
    assert "i and j inside it" in offered["Bind to threadIdx.x"].refusal
    assert offered["Bind to blockIdx.x"].refusal == ""


def test_a_bound_loop_can_be_bound_to_another_axis() -> None:
    hand = Hand(kernels.MATMUL)
    hand.click(hand.loop("C", "i"), "Bind to threadIdx.x")
    hand.click(hand.loop("C", "i"), "Bind to blockIdx.x")
    assert hand.loop("C", "i").binding == "blockIdx.x"
    split = next(o for o in offers(hand.function, hand.loop("C", "i")) if o.op == "split")
    assert split.refusal == "i is bound to blockIdx.x: undo that first, then shape it."


def test_nothing_is_offered_where_nothing_can_be_scheduled() -> None:
    hand = Hand(kernels.MIXED, "lowered")
    assert [offers(hand.function, node) for node in hand.function.nodes] == [
        [] for _ in hand.function.nodes
    ]


def test_menus_come_in_their_order_and_keys_are_not_given_twice() -> None:
    hand = Hand(kernels.CHAIN)
    for node in hand.function.nodes:
        groups = [offer.group for offer in offers(hand.function, node)]
        assert groups == sorted(groups, key=groups.index)
        keys = [offer.key for offer in offers(hand.function, node) if offer.key]
        assert len(keys) == len(set(keys))
