"""The nest says what the module says: names, kinds, bindings, buffers, lines."""

from __future__ import annotations

import msgspec
import pytest

from explorer.engine.extract import nest_of
from explorer.model.nest import Block, Function, Loop, Nest, Statement
from explorer.model.refs import BlockRef, LoopRef
from tests.engine import kernels


def _nest(text: str) -> tuple[Nest, list[str]]:
    mod = kernels.module(text)
    script = mod.script()
    return nest_of(mod, script), script.splitlines()


def _function(text: str, name: str = "main") -> Function:
    found = _nest(text)[0].function(name)
    assert found is not None
    return found


def _loops(function: Function) -> list[Loop]:
    return [node for node in function.nodes if isinstance(node, Loop)]


def _blocks(function: Function) -> list[Block]:
    return [node for node in function.nodes if isinstance(node, Block)]


def test_loops_of_a_matmul_know_their_kind_and_place() -> None:
    function = _function(kernels.MATMUL)
    assert [(n.name, n.extent_value, n.kind) for n in _loops(function)] == [
        ("i", 96, "spatial"),
        ("j", 80, "spatial"),
        ("k", 64, "reduction"),
    ]
    assert [node.id for node in function.nodes] == [
        "main/0",
        "main/0/0",
        "main/0/0/0",
        "main/0/0/0/0",
    ]
    assert _loops(function)[2].ref == LoopRef(BlockRef("C"), 2, "k")
    (block,) = _blocks(function)
    assert block.has_init
    assert [(it.name, it.kind, it.value) for it in block.iters] == [
        ("vi", "spatial", "i"),
        ("vj", "spatial", "j"),
        ("vk", "reduction", "k"),
    ]
    assert [access.region for access in block.reads] == ["A[vi, vk]", "B[vk, vj]"]


def test_kind_follows_the_iterator_not_the_position() -> None:
    text = kernels.MATMUL.replace(
        "for i, j, k in T.grid(96, 80, 64)", "for i, k, j in T.grid(96, 64, 80)"
    )
    assert [(n.name, n.kind) for n in _loops(_function(text))] == [
        ("i", "spatial"),
        ("k", "reduction"),
        ("j", "spatial"),
    ]


def test_a_loop_that_drives_both_kinds_is_mixed() -> None:
    from tvm import s_tir

    sch = s_tir.Schedule(kernels.module(kernels.MATMUL))
    sch.fuse(*sch.get_loops(sch.get_sblock("C"))[1:])
    (function,) = nest_of(sch.mod, sch.mod.script()).functions
    assert [node.kind for node in _loops(function)] == ["spatial", "mixed"]


def test_modes_bindings_annotations_and_predicates() -> None:
    function = _function(kernels.MIXED)
    assert function.scheduled
    assert [(n.name, n.mode, n.binding) for n in _loops(function)] == [
        ("i", "bound", "blockIdx.x"),
        ("j", "bound", "threadIdx.x"),
        ("i", "serial", None),
        ("j", "unrolled", None),
        ("p", "vectorized", None),
        ("q", "serial", None),
    ]
    assert _loops(function)[2].annotations == (("pragma_x", "1"),)
    assert _blocks(function)[1].predicate == "i < 5"
    assert _blocks(function)[1].annotations == (("stage", "[0, 1]"),)


def test_loops_of_a_block_body_are_inside_it_and_have_no_reference() -> None:
    inside = [node for node in _loops(_function(kernels.MIXED)) if node.inside_block]
    assert [(node.name, node.ref) for node in inside] == [("p", None), ("q", None)]


def test_buffers_with_bytes_strides_and_scope() -> None:
    function = _function(kernels.MIXED)
    assert {b.name: (b.shape, b.dtype, b.scope, b.param, b.nbytes) for b in function.buffers} == {
        "A": (("128", "64"), "float32", "global", True, 32768),
        "B": (("64", "128"), "float16", "global", True, 16384),
        "C": (("n", "128"), "bool", "global", True, None),
        "X": (("8",), "float32", "shared", False, 32),
    }
    assert function.buffers[2].strides == ("s0", "1")
    assert function.symbols == ("n", "s0")
    assert _blocks(function)[2].allocates == ("X",)


@pytest.mark.parametrize(
    "text", [kernels.MATMUL, kernels.CHAIN, kernels.MIXED, kernels.TWO_FUNCTIONS]
)
def test_spans_point_at_the_lines_that_say_it(text: str) -> None:
    nest, lines = _nest(text)
    for function in nest.functions:
        assert f"def {function.name}(" in "".join(
            lines[function.span.first - 1 : function.span.last]
        )
        for node in function.nodes:
            first = lines[node.span.first - 1]
            if isinstance(node, Loop):
                assert first.strip().startswith("for ")
                assert node.name in first.split(" in ")[0]
            elif isinstance(node, Block):
                assert f'T.sblock("{node.name}")' in first
            else:
                assert first.strip() == node.text


def test_children_lie_inside_their_parents_lines() -> None:
    nest, _ = _nest(kernels.MIXED)
    for function in nest.functions:
        by_id = {node.id: node for node in function.nodes}
        for node in function.nodes:
            for child in node.children:
                inner = by_id[child].span
                assert node.span.first <= inner.first
                assert inner.last <= node.span.last


@pytest.mark.parametrize("text", [kernels.STUBBORN, kernels.CHAIN, kernels.MIXED, kernels.RELAX])
@pytest.mark.parametrize("script", [None, ""])
def test_a_nest_crosses_the_process_boundary(text: str, script: str | None) -> None:
    from tvm import s_tir

    mod = kernels.module(text)
    if text == kernels.CHAIN:
        sch = s_tir.Schedule(mod)
        sch.annotate(sch.split(sch.get_loops(sch.get_sblock("C"))[0], [None, 7])[0], "a", [1, "b"])
        mod = sch.mod
    nest = nest_of(mod, mod.script() if script is None else script)
    assert msgspec.json.decode(msgspec.json.encode(nest), type=Nest) == nest


def test_unreadable_text_loses_the_lines_and_nothing_else() -> None:
    mod = kernels.module(kernels.MATMUL)
    (function,) = nest_of(mod, "not python (").functions
    assert [node.id for node in function.nodes] == [
        "main/0",
        "main/0/0",
        "main/0/0/0",
        "main/0/0/0/0",
    ]
    assert {node.span for node in function.nodes} == {None}


def test_text_of_another_state_gives_no_lines() -> None:
    mod = kernels.module(kernels.MATMUL)
    other = kernels.module(kernels.CHAIN).script()
    (function,) = nest_of(mod, other).functions
    assert {node.span for node in function.nodes} == {None}


def test_a_lowered_function_is_statements() -> None:
    function = _function(kernels.MIXED, "lowered")
    assert not function.schedulable
    assert "lowered" in function.note
    texts = [node.text for node in function.nodes if isinstance(node, Statement)]
    assert texts[:2] == [
        'bx = T.launch_thread("blockIdx.x", 4)',
        'tx = T.launch_thread("threadIdx.x", 32)',
    ]
    (loop,) = _loops(function)
    assert loop.name == "k"
    assert loop.ref is None


def test_bare_loops_say_that_a_block_is_missing() -> None:
    function = _function(kernels.MIXED, "bare")
    assert function.host
    assert not function.schedulable
    assert "T.sblock" in function.note
    assert [node.ref for node in _loops(function)] == [None, None]
    (store,) = [node for node in function.nodes if isinstance(node, Statement)]
    assert store.text == "B[jo, ji] = A[jo * 8 + ji]"


def test_relax_functions_name_what_they_call() -> None:
    nest, _ = _nest(kernels.RELAX)
    main = nest.function("main")
    assert main.kind == "relax"
    assert main.calls == ("scale",)
    assert not main.schedulable
    assert nest.function("scale").private


def test_blocks_of_one_name_are_numbered_per_function() -> None:
    nest, _ = _nest(kernels.TWO_FUNCTIONS)
    assert [b.ref for b in _blocks(nest.function("fwd"))] == [BlockRef("out", 0, "fwd")]
    assert [b.ref for b in _blocks(nest.function("bwd"))] == [
        BlockRef("out", 0, "bwd"),
        BlockRef("out", 1, "bwd"),
    ]


def test_a_root_block_with_annotations_is_shown() -> None:
    from tvm import s_tir

    sch = s_tir.Schedule(kernels.module(kernels.MATMUL))
    sch.annotate(sch.get_sblock("root"), "hint", 1)
    (function,) = nest_of(sch.mod, sch.mod.script()).functions
    assert function.nodes[0].is_root
    assert function.nodes[0].annotations == (("hint", "1"),)
    assert function.nodes[1].ref == LoopRef(BlockRef("C"), 0, "i")
    assert function.schedulable


def test_a_block_inside_a_block_counts_its_loops_from_there() -> None:
    from tvm import s_tir

    sch = s_tir.Schedule(kernels.module(kernels.MATMUL))
    sch.blockize(sch.get_loops(sch.get_sblock("C"))[1])
    (function,) = nest_of(sch.mod, sch.mod.script()).functions
    assert [(node.name, node.ref) for node in _loops(function)] == [
        ("i", LoopRef(BlockRef("C_o"), 0, "i")),
        ("j", None),  # of T.init(), which TVM does not schedule
        ("j", LoopRef(BlockRef("C"), 0, "j")),
        ("k", LoopRef(BlockRef("C"), 1, "k")),
    ]
    assert [node.inside_block for node in _loops(function)] == [False, True, False, False]
    assert [block.name for block in _blocks(function)] == ["C_o", "C"]
