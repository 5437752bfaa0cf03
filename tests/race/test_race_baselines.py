"""Libraries in the race: found without importing them, checked like variants, never required."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from explorer import baselines
from explorer.baselines import BASELINES, Buffer, NotOffered, numpy_cpu
from explorer.engine import race_library
from explorer.experiment import Variant
from explorer.model.loaded import Source
from explorer.model.operation import UNIT, Operand, Operation
from explorer.model.race import Method, Race

Run = Callable[..., Race]
WITH = Method(budget_s=0.7, baselines=True)


def test_the_folder_keeps_its_contract() -> None:
    assert set(BASELINES) == {"numpy", "torch", "cupy"}
    for baseline in BASELINES.values():
        assert isinstance(baseline, ModuleType)
        assert baseline.LABEL
        assert set(baseline.PROCESSORS) <= {"cpu", "cuda"}
        assert callable(baseline.version)
        assert callable(baseline.offer)


def test_looking_for_libraries_imports_none() -> None:
    code = (
        "import sys; from explorer.baselines import installed; installed('cpu');"
        "installed('cuda'); print({'torch', 'cupy', 'tvm'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def operand(param: int, *axes: int, dtype: str = "float32") -> Operand:
    return Operand(param, axes, dtype)


@pytest.mark.parametrize(
    ("a", "b", "c", "terms"),
    [
        ((0, 2), (2, 1), (0, 1), "mk,kn->mn"),
        ((0, 2), (1, 2), (0, 1), "mk,nk->mn"),
        ((2, 0), (2, 1), (0, 1), "km,kn->mn"),
        ((1, 2), (2, 0), (0, 1), "nk,km->mn"),
        ((0, 1, 3), (0, 3, 2), (0, 1, 2), "bmk,bkn->bmn"),
        ((0, 1, 3), (2, 3), (0, 1, 2), "bmk,nk->bmn"),
        ((0, 1), (1,), (0,), "mk,k->m"),
        ((0,), (0, 1), (1,), "k,km->m"),
        ((0, 1), (0, 1), (0,), "bk,bk->b"),
        ((0, UNIT, 1), (1,), (0, UNIT), "mok,k->mo"),
    ],
)
def test_numpy_multiplies_every_layout_without_copying(
    a: tuple[int, ...], b: tuple[int, ...], c: tuple[int, ...], terms: str
) -> None:
    sizes = {"m": 5, "n": 7, "k": 9, "b": 3, "o": 1}
    own = max(len([axis for axis in c if axis != UNIT]), 1)
    if terms == "k,km->m":  # the sum runs over axis 0 there
        a, b, c, own = (1,), (1, 0), (0,), 1
    operation = Operation(
        kind="matmul", name="matmul", output=operand(2, *c),
        inputs=(operand(0, *a), operand(1, *b)), over=(own,),
    )  # fmt: skip
    inputs, out = terms.split("->")
    shapes = [tuple(sizes[name] for name in each) for each in (*inputs.split(","), out)]
    call = numpy_cpu.offer(operation, [Buffer(shape, "float32") for shape in shapes], "cpu", 0)
    rng = np.random.default_rng(0)
    contents = [rng.random(shape, np.float32) for shape in shapes]
    call.fill(contents)
    call.run()
    np.testing.assert_allclose(call.result(), np.einsum(terms, *contents[:2]), rtol=1e-5)
    assert call.seconds(2, False) > 0
    assert call.what == "numpy.matmul"


def test_numpy_says_what_it_has_not() -> None:
    half = Operation(
        kind="matmul", name="matmul", output=operand(2, 0, 1, dtype="float16"),
        inputs=(operand(0, 0, 2, dtype="float16"), operand(1, 2, 1, dtype="float16")), over=(2,),
    )  # fmt: skip
    with pytest.raises(NotOffered, match="float32 and float64 only"):
        numpy_cpu.offer(half, [Buffer((4, 4), "float16")] * 3, "cpu", 0)
    soft = Operation(
        kind="softmax", name="softmax", output=operand(1, 0, 1), inputs=(operand(0, 0, 1),),
        over=(1,),
    )  # fmt: skip
    with pytest.raises(NotOffered, match="numpy has no softmax"):
        numpy_cpu.offer(soft, [Buffer((4, 4), "float32")] * 2, "cpu", 0)
    brain = Operation(
        kind="elementwise", name="exp", output=operand(1, 0, dtype="bfloat16"),
        inputs=(operand(0, 0, dtype="bfloat16"),),
    )  # fmt: skip
    with pytest.raises(NotOffered, match="no bfloat16"):
        numpy_cpu.offer(brain, [Buffer((4,), "bfloat16")] * 2, "cpu", 0)


def only(monkeypatch: pytest.MonkeyPatch, *libraries: Any) -> None:
    monkeypatch.setattr(race_library, "installed", lambda processor: libraries)


def test_a_library_is_raced_with_the_same_inputs_and_checks(
    matmul: Source, fast: Variant, on_cpu: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(monkeypatch, numpy_cpu)
    (heat,) = on_cpu(matmul, Variant("plain"), fast, method=WITH).heats
    assert [row.variant for row in heat.rows] == ["plain", "fast", "NumPy matmul"]
    assert [bool(row.library) for row in heat.rows] == [False, False, True]
    row = heat.rows[2]
    assert row.library.startswith(f"NumPy {np.__version__} (")
    assert row.status == "measured"
    assert row.check.status == "match"
    assert row.gflops == pytest.approx(2 * 64**3 / row.median_us / 1e3)
    pairs = {(verdict.variant, verdict.other) for verdict in heat.verdicts}
    assert pairs == {("plain", "fast"), ("plain", "NumPy matmul"), ("fast", "NumPy matmul")}
    assert heat.winner in ("fast", "")  # a library wins nothing: it is no variant
    assert heat.no_baseline == ()


def test_without_being_asked_for_no_library_runs(matmul: Source, on_cpu: Run) -> None:
    (heat,) = on_cpu(matmul, Variant("plain")).heats
    assert [row.variant for row in heat.rows] == ["plain"]
    assert heat.no_baseline == ()


class Wrong:
    """A library that multiplies wrongly."""

    NAME, LABEL, PACKAGE, PROCESSORS = "wrong", "Wrong", "numpy", ("cpu",)

    def version(self, processor: str, device: int) -> str:
        return "Wrong 1.0"

    def offer(self, *asked: Any) -> baselines.Call:
        call = numpy_cpu.offer(*asked)
        right = call.result
        call.result = lambda: right() + 1
        return call


class Dies(Wrong):
    """A library that takes its process along."""

    def offer(self, *asked: Any) -> baselines.Call:
        call = numpy_cpu.offer(*asked)

        def seconds(calls: int, flush: bool) -> float:
            import os

            os.abort()

        call.seconds = seconds
        return call


class Missing(Wrong):
    """A library that is there and can't be imported."""

    def version(self, processor: str, device: int) -> str:
        raise ImportError("libsomething.so: cannot open shared object file")


@pytest.mark.parametrize(
    ("library", "words"),
    [
        (Wrong, "Its result is wrong"),
        (Dies, "SIGABRT"),
        (Missing, "libsomething.so: cannot open shared object file"),
    ],
)
def test_a_library_that_fails_loses_its_own_row_only(
    library: type[Wrong], words: str, matmul: Source, on_cpu: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(monkeypatch, library())
    (heat,) = on_cpu(matmul, Variant("plain"), method=WITH).heats
    assert [row.status for row in heat.rows] == ["measured", "not_measured"]
    assert words in heat.rows[1].reason
    assert heat.lost == ""


def test_why_there_is_no_library_to_compare_with(
    matmul: Source, on_cpu: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(monkeypatch, numpy_cpu)
    relu = matmul.text.replace("A[vi, vk] * B", "T.max(A[vi, vk], T.float32(0)) * B")
    (heat,) = on_cpu(Source(relu), Variant("plain"), method=WITH).heats
    assert heat.no_baseline == ("No library equivalent: it is more than one library operation.",)
    assert len(heat.rows) == 1
    only(monkeypatch)
    (heat,) = on_cpu(matmul, Variant("plain"), method=WITH).heats
    assert heat.no_baseline == (
        "No library for this processor is installed (NumPy or PyTorch).",
    )  # fmt: skip


def test_a_variant_may_have_the_librarys_name(
    matmul: Source, on_cpu: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(monkeypatch, numpy_cpu)
    (heat,) = on_cpu(matmul, Variant("NumPy matmul"), method=WITH).heats
    assert [row.variant for row in heat.rows] == ["NumPy matmul", "NumPy matmul (library)"]
