"""What a function as a whole is, read off its blocks; what is not certain is not named."""

from __future__ import annotations

import pytest

from explorer.engine.load import module
from explorer.engine.operation import NoEquivalent, operation_of
from explorer.engine.race_material import Material
from explorer.model.loaded import Source
from explorer.model.operation import Operation


def read(text: str) -> Operation:
    mod = module(Source(text))
    (name,) = (var.name_hint for var, _ in mod.functions_items())
    material = Material(mod, name, {"n": 24})
    return operation_of(mod[name], material.subject.params, material.arrays.shapes.number)


def product(a: str, b: str, c: str, shapes: str, *, kind: str = "float32", out: str = "") -> str:
    """A sum of products; `shapes` are those of A, B and C, `a`, `b` and `c` their indices."""
    out = out or kind
    lift = "{}" if out == kind else f'T.Cast("{out}", {{}})'
    sizes = [text.strip() for text in shapes.split("|")]
    body = f"{lift.format(f'A[{a}]')} * {lift.format(f'B[{b}]')}"
    zero = f"T.{out}(0)"
    return f"""
@T.prim_func(s_tir=True)
def product(A: T.Buffer(({sizes[0]}), "{kind}"), B: T.Buffer(({sizes[1]}), "{kind}"),
            C: T.Buffer(({sizes[2]}), "{out}")):
    for g, i, j, k in T.grid(3, 8, 12, 16):
        with T.sblock("C"):
            vg, vi, vj, vk = T.axis.remap("SSSR", [g, i, j, k])
            with T.init():
                C[{c}] = {zero}
            C[{c}] = C[{c}] + {body}
"""


@pytest.mark.parametrize(
    ("a", "b", "c", "shapes"),
    [
        ("vg, vi, vk", "vg, vk, vj", "vg, vi, vj", "3, 8, 16 | 3, 16, 12 | 3, 8, 12"),  # NN
        ("vg, vi, vk", "vg, vj, vk", "vg, vi, vj", "3, 8, 16 | 3, 12, 16 | 3, 8, 12"),  # NT
        ("vg, vk, vi", "vg, vk, vj", "vg, vi, vj", "3, 16, 8 | 3, 16, 12 | 3, 8, 12"),  # TN
        ("vg, vi, vk", "vk, vj", "vg, vi, vj", "3, 8, 16 | 16, 12 | 3, 8, 12"),
        ("vi, vk, vg", "vj, vk", "vj, vg, vi", "8, 16, 3 | 12, 16 | 12, 3, 8"),
    ],
)
def test_products_of_matrices_in_any_layout(a: str, b: str, c: str, shapes: str) -> None:
    found = read(product(a, b, c, shapes))
    assert (found.kind, found.name) == ("matmul", "matmul")
    left, right = found.operands
    assert (left.param, right.param, found.output.param) == (0, 1, 2)
    assert found.output.axes == (0, 1, 2)
    assert found.over == (3,)
    names = c.split(", ")
    axes = {name: names.index(name) if name in names else 3 for name in ("vg", "vi", "vj", "vk")}
    assert left.axes == tuple(axes[name] for name in a.split(", "))
    assert right.axes == tuple(axes[name] for name in b.split(", "))


@pytest.mark.parametrize(
    ("kind", "out"), [("float16", "float16"), ("float16", "float32"), ("int8", "int32")]
)
def test_types_and_those_of_the_sums_are_kept(kind: str, out: str) -> None:
    found = read(product(
        "vg, vi, vk", "vj, vk", "vg, vi, vj", "3, 8, 16 | 12, 16 | 3, 8, 12", kind=kind, out=out
    ))  # fmt: skip
    assert [each.dtype for each in (*found.operands, found.output)] == [kind, kind, out]


SOFTMAX = """
@T.prim_func(s_tir=True)
def soft(X: T.Buffer((n_, 40), "float32"), Y: T.Buffer((n_, 40), "float32")):
    M = T.sblock_alloc_buffer((n_,), "float32")
    E = T.sblock_alloc_buffer((n_, 40), "float32")
    S = T.sblock_alloc_buffer((n_,), "float32")
    for i, k in T.grid(24, 40):
        with T.sblock("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.min_value("float32")
            M[vi] = T.max(M[vi], X[vi, vk])
    for i, k in T.grid(24, 40):
        with T.sblock("E"):
            vi, vk = T.axis.remap("SS", [i, k])
            E[vi, vk] = T.exp(X[vi, vk] - M[vi])
    for i, k in T.grid(24, 40):
        with T.sblock("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + SUMMED
    for i, k in T.grid(24, 40):
        with T.sblock("Y"):
            vi, vk = T.axis.remap("SS", [i, k])
            Y[vi, vk] = DIVIDED
""".replace("n_,", "24,")


@pytest.mark.parametrize("summed", ["E[vi, vk]", "T.exp(X[vi, vk] - M[vi])"])
def test_softmax_whatever_is_kept_in_between(summed: str) -> None:
    text = SOFTMAX.replace("SUMMED", summed).replace("DIVIDED", "E[vi, vk] / S[vi]")
    found = read(text)
    assert (found.kind, found.over) == ("softmax", (1,))
    with pytest.raises(NoEquivalent, match="more than one"):
        read(text.replace("E[vi, vk] / S[vi]", "E[vi, vk] - S[vi]"))


def plain(body: str, shape: str = "24, 8", init: str = "", axes: str = "SS") -> str:
    start = f"with T.init():\n                {init}" if init else ""
    return f"""
@T.prim_func(s_tir=True)
def plain(A: T.Buffer((24, 8), "float32"), V: T.Buffer((8,), "float32"),
          B: T.Buffer(({shape}), "float32")):
    for i, j in T.grid(24, 8):
        with T.sblock("B"):
            vi, vj = T.axis.remap("{axes}", [i, j])
            {start}
            {body}
"""


@pytest.mark.parametrize(
    ("text", "kind", "name", "inputs"),
    [
        (plain("B[vi, vj] = A[vi, vj] * T.float32(2)"), "elementwise", "multiply", 2),
        (plain("B[vi, vj] = A[vi, vj] + V[vj]"), "elementwise", "add", 2),
        (plain("B[vi, vj] = T.max(A[vi, vj], T.float32(0))"), "elementwise", "maximum", 2),
        (plain("B[vi, vj] = T.exp(A[vi, vj])"), "elementwise", "exp", 1),
        (plain("B[vj, vi] = A[vi, vj]", "8, 24"), "elementwise", "copy", 1),
        (plain("B[vi] = B[vi] + A[vi, vj]", "24,", "B[vi] = T.float32(0)", "SR"), "reduce", "sum",
         1),
        (plain("B[vj, 0] = T.max(B[vj, 0], A[vi, vj])", "8, 1",
               'B[vj, 0] = T.min_value("float32")', "RS"), "reduce", "max", 1),
    ],
)  # fmt: skip
def test_single_operations(text: str, kind: str, name: str, inputs: int) -> None:
    found = read(text)
    assert (found.kind, found.name, len(found.inputs)) == (kind, name, inputs)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (plain("B[vi, vj] = A[vi, vj] * T.float32(2) + V[vj]"), "more than one"),
        (plain("B[vi, vj] = A[23 - vi, vj]"), "A is indexed by 23 - vi"),
        (plain("B[vi, vj] = T.erf(A[vi, vj])"), "it computes with erf"),
        (plain("B[vi, vj] = B[vi, vj] + A[vi, vj]"), "in place"),
        (plain("B[vi] = B[vi] + A[vi, vj]", "24,", "B[vi] = T.float32(1)", "SR"), "starts from"),
        (plain("B[vi] = T.max(B[vi], A[vi, vj])", "24,", "B[vi] = T.float32(0)", "SR"),
         "starts from"),
        (product("vg, vi, vk", "vj, vk", "vg, vi, vj", "3, 8, 16 | 12, 16 | 3, 8, 12").replace(
            "A[vg, vi, vk] * B[vj, vk]", "A[vg, vi, vk] + B[vj, vk]"), "block C is no sum"),
        (product("vg, vi, vk", "vj, vk", "vg, vi, vj", "3, 8, 20 | 12, 16 | 3, 8, 12"),
         "only a part of A"),
    ],
)  # fmt: skip
def test_what_is_not_certain_has_a_reason(text: str, why: str) -> None:
    with pytest.raises(NoEquivalent, match=why):
        read(text)


def test_products_that_are_rounded_are_no_library_product() -> None:
    text = product(
        "vg, vi, vk", "vj, vk", "vg, vi, vj", "3, 8, 16 | 12, 16 | 3, 8, 12", kind="float16",
        out="float32",
    )  # fmt: skip
    text = text.replace(
        'T.Cast("float32", A[vg, vi, vk]) * T.Cast("float32", B[vj, vk])',
        'T.Cast("float32", A[vg, vi, vk] * B[vj, vk])',
    )
    with pytest.raises(NoEquivalent, match="rounded before they are added"):
        read(text)
