"""The nest as DOT and SVG, marks in CUDA, diffs: structure, words, and hostile names."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from explorer.errors import Refusal
from explorer.model.nest import Access, Nest
from explorer.model.refs import BlockRef, LoopRef
from explorer.model.result import Compiled
from explorer.model.view import StepView
from explorer.primitives.bind import Bind
from explorer.ui import marks
from explorer.ui.components.codeview.diff import diff_rows, word_marks
from explorer.ui.components.loopgraph import nest_dot
from explorer.ui.components.loopgraph.layout import render_svg
from explorer.ui.panels import inspector
from tests.ui.nests import block, buffer, function, loop

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = ['"><script>alert(1)</script>', "<b>x</b>", 'a"]; evil', "back\\slash", "<TABLE>", "i\nj"]


def drawn(nest: Nest, **options: object) -> dict[str, tuple[str, list[str]]]:
    """Every node of the picture: id to (class, lines of its label)."""
    root = ET.fromstring(render_svg(nest_dot(nest, **options)))  # type: ignore[arg-type]
    return {
        group.get("id", ""): (
            group.get("class", ""),
            [t.text or "" for t in group.iter(f"{SVG}text")],
        )
        for group in root.iter(f"{SVG}g")
        if "nd" in group.get("class", "").split()
    }


def test_every_node_has_its_name_extent_kind_and_binding() -> None:
    nodes = drawn(Nest((function(),)))
    assert list(nodes) == ["main", "main/0", "main/0/0", "main/0/0/0"]
    assert nodes["main"][1] == ["main(A, C)"]
    assert nodes["main/0"] == (
        "node nd loop m-blockIdx i-spatial",
        ["i in 128", "blockIdx.x · spatial"],
    )
    assert nodes["main/0/0"] == ("node nd loop m-serial i-reduction", ["k in 128", "reduction"])
    assert nodes["main/0/0/0"][1] == ["C", "vi:S", "writes C"]


def test_buffers_show_shape_dtype_scope_and_their_edges() -> None:
    shared = buffer("A_shared", shape=("8", "32"), scope="shared", param=False)
    reader = block("main/0", reads=(Access("A_shared", "A_shared[0]"),))
    nest = Nest((function(nodes=(reader,), buffers=(buffer("C"), shared)),))
    nodes = drawn(nest, buffers=True)
    assert nodes["main#A_shared"] == (
        "node nd buffer alloc s-shared",
        ["A_shared", "8×32 float32 shared"],
    )
    dot = nest_dot(nest, buffers=True)
    assert "class=read" in dot
    assert "class=write" in dot
    assert "main#A_shared" not in nest_dot(nest)


def test_one_function_alone_and_relax_calls() -> None:
    relax = function("net", nodes=(block("net/0"),), kind="relax", calls=("main", "gone"))
    nest = Nest((relax, function()))
    assert "class=call" in nest_dot(nest)
    assert set(drawn(nest, only="main")) == {"main", "main/0", "main/0/0", "main/0/0/0"}
    assert drawn(nest)["net"][1][1] == "Relax: calls the kernels"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(name: str) -> None:
    nest = Nest((function(nodes=(loop("main/0", name, 0, "main/0/0"), block("main/0/0", name))),))
    nodes = drawn(nest)
    shown = " ".join(name.split())
    assert nodes["main/0"][1][0].replace("\xa0", " ") == f"{shown} in 128"
    assert "<script" not in render_svg(nest_dot(nest))


def test_long_labels_are_cut() -> None:
    nest = Nest((function(nodes=(loop("main/0", "x" * 90, 0, "main/0/0"), block("main/0/0"))),))
    assert drawn(nest)["main/0"][1][0].endswith("…")


CUDA = """\
#include <stuff>
a
b
c
d
e
f
extern "C" __global__ void main_kernel(float* A, float* C_ptr) {
  for (int k_0 = 0; k_0 < 8; ++k_0) {
    if (k_0 == 0) {
      C_ptr[threadIdx.x] = 0.0f;
    }
    C[((int)threadIdx.x)] = (A[k_0] + B[k_0]);
  }
}
"""


def test_definitions_before_the_first_kernel_are_folded() -> None:
    assert marks.boilerplate(CUDA) == [(1, 7, "7 lines of definitions")]
    assert marks.boilerplate("__global__ void f() {}") == []


def test_nodes_are_marked_in_cuda_by_their_names() -> None:
    bound = loop("main/0", "i", 0, "c", mode="bound", binding="threadIdx.x")
    assert marks.node_lines(bound, CUDA) == [[11, 11], [13, 13]]
    assert marks.node_lines(loop("main/0", "k_0", 0, "c"), CUDA) == [[9, 14]]
    assert marks.node_lines(loop("main/0", "gone", 0, "c"), CUDA) == []
    assert marks.node_lines(block("main/0"), CUDA) == [[11, 11], [13, 13]]
    assert marks.buffer_lines("B", CUDA) == [[13, 13]]
    assert marks.node_lines(None, CUDA) == []


def test_diff_aligns_lines_and_marks_words() -> None:
    rows = diff_rows("a\nfor i in range(8)\nz\n", "a\nnew\nfor j in range(8)\nz\n")
    assert [row["op"] for row in rows] == ["same", "change", "add", "same"]
    assert rows[0] == {"op": "same", "a": 1, "b": 1, "ta": "a", "tb": "a", "ma": [], "mb": []}
    assert word_marks("for i in range(8)", "for j in range(8)") == ([[4, 5]], [[4, 5]])


def test_diff_of_equal_and_of_empty_texts() -> None:
    assert all(row["op"] == "same" for row in diff_rows("a\nb", "a\nb"))
    assert [(row["op"], row["a"], row["b"]) for row in diff_rows("", "x\ny")] == [
        ("add", 0, 1),
        ("add", 0, 2),
    ]


def test_many_shallow_nests_are_drawn_sideways_and_few_deep_ones_upright() -> None:
    one = Nest((function(),))
    many = Nest(tuple(function(f"f{n}") for n in range(40)))
    assert "rankdir=TB" in nest_dot(one)
    assert "rankdir=LR" in nest_dot(many)
    assert "rankdir=TB" in nest_dot(many, only="f1")


REFUSED = """struct half2;
extern "C" __global__ void main_kernel(float* A);
extern "C" __global__ void main_kernel(float* A) {
  A[0] = longlong4(1);
}"""


@pytest.mark.parametrize(
    ("line", "text", "detail", "marked"),
    [
        (4, "A[0] = longlong4(1);", "no such type", 4),
        (2, "A[0] = longlong4(1);", "no such type", 4),
        (None, "", "Entry function 'main_kernel' uses too much shared data", 3),
    ],
)
def test_what_nvrtc_refuses_is_marked_at_its_line(
    line: int | None, text: str, detail: str, marked: int
) -> None:
    word = Compiled(
        function="main", status="refused", detail=detail, arch="sm_89", line=line, text=text
    )
    assert marks.refused_lines(REFUSED, (word,)) == {marked: detail}


def test_a_refusal_without_a_place_marks_nothing() -> None:
    word = Compiled(function="main", status="refused", detail="out of memory", arch="sm_89")
    assert marks.refused_lines(REFUSED, (word,)) == {}


def test_a_step_that_could_not_be_replayed_still_says_what_it_was() -> None:
    step = Bind(loop=LoopRef(BlockRef("B"), 0, "i_0"), thread_axis="blockIdx.x")
    gone = Refusal(what="The loop is gone.", why="A step was removed.")
    row = inspector._row(StepView(lines=(), refusal=gone), step)
    assert (row["state"], row["line"]) == ("refused", "bind(main/B[0]:i_0, blockIdx.x)")
