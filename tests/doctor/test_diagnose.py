"""The bind doctor on modules of many kinds: cures are tried, and only what is right is offered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer import bind_doctor, workbench
from explorer.cli import main
from explorer.errors import StepRefused
from explorer.model.diagnosis import Diagnosis, TriedCure
from explorer.model.loaded import Source
from explorer.model.view import Proposal
from explorer.primitives import STEPS
from explorer.targets import DEFAULT

CASES = Path(__file__).parents[1] / "cases"

TWO_FUNCTIONS = """\
@I.ir_module
class Two:
    @T.prim_func(s_tir=True)
    def right(A: T.Buffer((40, 7), "float32"), B: T.Buffer((40, 7), "float32")):
        for p, q in T.grid(40, 7):
            with T.sblock("R"):
                vp, vq = T.axis.remap("SS", [p, q])
                B[vp, vq] = A[vp, vq] * T.float32(3)

    @T.prim_func(s_tir=True)
    def scan(A: T.Buffer((50,), "float32")):
        for s in range(1, 50):
            with T.sblock("S"):
                vs = T.axis.spatial(50, s)
                A[vs] = A[vs - 1] + A[vs]
"""
OUTER_REDUCTION = """\
@T.prim_func(s_tir=True)
def kij(A: T.Buffer((24, 20), "float32"), B: T.Buffer((20, 36), "float32"),
        C: T.Buffer((24, 36), "float32")):
    for k, i, j in T.grid(20, 24, 36):
        with T.sblock("C"):
            vi = T.axis.spatial(24, i)
            vj = T.axis.spatial(36, j)
            vk = T.axis.reduce(20, k)
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
SHARED_LOOP = """\
@T.prim_func(s_tir=True)
def rows(A: T.Buffer((70, 30), "float32"), B: T.Buffer((70, 30), "float32")):
    S = T.sblock_alloc_buffer((70,), "float32")
    for r in range(70):
        for c in range(30):
            with T.sblock("sum"):
                vr = T.axis.spatial(70, r)
                vc = T.axis.reduce(30, c)
                with T.init():
                    S[vr] = T.float32(0)
                S[vr] = S[vr] + A[vr, vc]
        for d in range(30):
            with T.sblock("sub"):
                vr, vd = T.axis.remap("SS", [r, d])
                B[vr, vd] = A[vr, vd] - S[vr]
"""
SCALAR = """\
@T.prim_func(s_tir=True)
def total(A: T.Buffer((300,), "float32"), B: T.Buffer((), "float32")):
    for n in range(300):
        with T.sblock("B"):
            vn = T.axis.reduce(300, n)
            with T.init():
                B[()] = T.float32(0)
            B[()] = B[()] + A[vn]
"""


def case(number: str) -> str:
    (path,) = CASES.glob(f"{number}_*/module.py")
    return path.read_text()


def diagnosed(text: str) -> tuple[Diagnosis, dict[str, TriedCure]]:
    found = bind_doctor.diagnose(Source(text), (), DEFAULT, {})
    return found, {cure.id: cure for cure in found.cures}


def extents(cure: TriedCure) -> list[tuple[tuple[str, str, str], tuple[str, str, str]]]:
    return [(launch.grid, launch.block) for launch in cure.launches]


def test_what_is_unbound_where_and_why() -> None:
    found, cures = diagnosed(case("10"))
    assert found.status == "ill"
    assert "i, j, k are unbound" in found.what
    assert "pointers into GPU memory" in found.why
    assert [(place.function, place.node) for place in found.places] == [("main", "main/0")]
    assert set(cures) == {"bind:", "strategy:default_gpu", "strategy:dlight"}
    for cure in cures.values():
        assert (cure.outcome, cure.check.status) == ("works", "match")
    assert extents(cures["bind:"]) == [(("128", "1", "1"), ("128", "1", "1"))]


@pytest.mark.parametrize(
    ("text", "grid", "block"),
    [
        (OUTER_REDUCTION, ("7", "1", "1"), ("128", "1", "1")),  # the spatial loops move out
        (SHARED_LOOP, ("1", "1", "1"), ("70", "1", "1")),  # S becomes each thread's own
        (SCALAR, ("1", "1", "1"), ("128", "1", "1")),  # threads add up together
        (case("16"), ("16", "64", "1"), ("256", "1", "1")),  # the host loop becomes blockIdx.y
    ],
    ids=["reduction outside", "shared loop", "scalar", "host loop"],
)
def test_binding_gives_one_right_kernel_of_a_sensible_launch(
    text: str, grid: tuple[str, str, str], block: tuple[str, str, str]
) -> None:
    cure = bind_doctor.try_cure(Source(text), (), "bind:", DEFAULT, {})
    assert (cure.outcome, cure.check.status) == ("works", "match"), cure.reason
    assert extents(cure) == [(grid, block)]


def test_a_cure_that_gives_wrong_kernels_is_not_offered() -> None:
    cure = bind_doctor.try_cure(Source(case("89")), (), "strategy:dlight", DEFAULT, {})
    assert not cure.offered
    assert cure.check.status == "out_of_bounds"
    assert cure.reason


def test_a_function_that_can_not_be_cured_does_not_hide_one_that_can() -> None:
    cure = bind_doctor.try_cure(Source(TWO_FUNCTIONS), (), "strategy:default_gpu", DEFAULT, {})
    assert cure.outcome == "helps"
    assert cure.offered
    assert "scan" in cure.reason
    assert [launch.function for launch in cure.launches] == ["right"]
    bound = bind_doctor.try_cure(Source(TWO_FUNCTIONS), (), "bind:", DEFAULT, {})
    assert bound.outcome == "helps"
    assert "scan" in bound.reason


def test_a_block_that_can_not_be_bound_says_why() -> None:
    found, cures = diagnosed(case("63"))
    assert found.status == "ill"
    assert not any(cure.offered for cure in cures.values())
    assert "in place" in cures["bind:"].reason
    assert all(cure.reason for cure in cures.values())
    with pytest.raises(StepRefused):
        workbench.cure(Source(case("63")), (), "bind:", DEFAULT, {})


def test_a_bound_module_is_healthy() -> None:
    found, _ = diagnosed(case("26"))
    assert (found.status, found.cures) == ("healthy", ())


def test_the_steps_of_a_tried_cure_are_steps() -> None:
    cure = bind_doctor.try_cure(Source(case("10")), (), "bind:", DEFAULT, {})
    steps = workbench.steps_of(Proposal(steps=cure.steps))
    assert all(type(step) in STEPS.values() for step in steps)
    assert workbench.refused(Source(case("10")), (), steps) is None


def test_the_command_takes_a_module_and_an_error_text(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = tmp_path / "log.txt"
    log.write_text("RuntimeError: Memory verification failed\n  Did you forget to bind?\n" + SCALAR)
    assert main(["doctor", str(log), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["error"]["kind"] == "not_bound"
    assert "n is unbound" in said["what"]
    assert {cure["id"]: cure["check"]["status"] for cure in said["cures"]}["bind:"] == "match"
    log.write_text("CUDAError: CUDA_ERROR_ILLEGAL_ADDRESS")
    assert main(["doctor", str(log)]) == 0
    assert "outside its buffers" in capsys.readouterr().out
