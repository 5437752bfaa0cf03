"""`compare`, as scripts and CI see it: the shape of --json, statuses, words, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from explorer.cli import main

CASES = Path(__file__).parents[1] / "cases"

SHAPE: dict[str, Any] = {
    "target": str,
    "migrations": [{"rule": str, "line": int, "before": str, "after": str}],
    "variants": [
        {
            "name": str,
            "status": {"built", "refused", "failed", "not_applicable"},
            "reason": str,
            "functions": [
                {
                    "name": str,
                    "status": {"built", "no_kernel", "skipped"},
                    "reason": str,
                    "rule": str,
                    "kernels": [
                        {
                            "name": str,
                            "grid": [(int, str)],
                            "block": [(int, str)],
                            "shared_bytes": int,
                            "source": str,
                        }
                    ],
                    "check": {"status": str, "detail": str},
                    "time": {"status": str, "reason": str},
                }
            ],
            "findings": [
                {
                    "code": str,
                    "severity": {"error", "warning", "info"},
                    "function": str,
                    "where": str,
                    "message": str,
                    "cure": str,
                }
            ],
            "steps": [str],
        }
    ],
}


def conforms(value: Any, shape: Any, at: str = "report") -> None:
    """Every key is there, none is more, every value is of its kind."""
    if isinstance(shape, dict):
        assert isinstance(value, dict), at
        assert set(value) == set(shape), at
        for key, inner in shape.items():
            conforms(value[key], inner, f"{at}.{key}")
    elif isinstance(shape, list):
        assert isinstance(value, list), at
        for n, item in enumerate(value):
            conforms(item, shape[0], f"{at}[{n}]")
    elif isinstance(shape, set):
        assert value in shape, at
    else:
        assert isinstance(value, shape), at


def case(number: str, file: str = "module.py") -> str:
    (folder,) = CASES.glob(f"{number}_*")
    return str(folder / file)


def compare(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["compare", *arguments, "--json"]) == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    conforms(report, SHAPE)
    return report


def variant(report: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in report["variants"] if each["name"] == name)
    return found


def function(found: dict[str, Any], name: str) -> dict[str, Any]:
    each: dict[str, Any] = next(each for each in found["functions"] if each["name"] == name)
    return each


def test_the_three_ways_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    report = compare(capsys, case("10"))
    assert report["target"] == "nvidia/geforce-rtx-4090"
    assert [each["name"] for each in report["variants"]] == ["original", "default_gpu", "dlight"]
    original = variant(report, "original")
    assert original["status"] == "failed"
    assert "i, j, k are unbound" in original["reason"]
    assert function(original, "main")["status"] == "no_kernel"
    assert function(original, "main")["check"]["status"] == "not_checked"
    assert "no_kernel" in [found["code"] for found in original["findings"]]
    assert original["steps"] == []
    default = variant(report, "default_gpu")
    assert default["status"] == "built"
    (kernel,) = function(default, "main")["kernels"]
    assert kernel["grid"] == [16, 1, 1]
    assert kernel["block"] == [1024, 1, 1]
    assert "__global__" in kernel["source"]
    assert function(default, "main")["rule"] == "DefaultGPUSchedule"
    assert any(line.endswith('"blockIdx.x")') for line in default["steps"])
    time = function(default, "main")["time"]
    assert time["status"] == "not_measured"
    assert time["reason"]
    dlight = variant(report, "dlight")
    assert function(dlight, "main")["rule"] == "Matmul"
    assert function(dlight, "main")["kernels"][0]["shared_bytes"] == 6912


def test_a_wrong_kernel_is_not_shown_as_fine(capsys: pytest.CaptureFixture[str]) -> None:
    dlight = variant(compare(capsys, case("89"), "--with", "dlight"), "dlight")
    assert function(dlight, "head")["check"]["status"] == "out_of_bounds"
    assert "head is wrong (out_of_bounds)" in dlight["reason"]


def test_a_host_loop_is_failed_for_every_way_that_leaves_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = compare(capsys, case("16"), "--with", "original,dlight")
    original = variant(report, "original")
    assert original["status"] == "failed"
    assert "r (64)" in original["reason"]
    assert variant(report, "dlight")["status"] == "not_applicable"
    assert "scheduled already" in variant(report, "dlight")["reason"]


def test_a_schedule_file_is_one_more_variant(capsys: pytest.CaptureFixture[str]) -> None:
    report = compare(
        capsys, case("60"), "--with", "original", "--schedule", f"mine={case('60', 'sched.py')}"
    )
    mine = variant(report, "mine")
    assert mine["status"] == "failed"
    assert "too much shared data" in mine["reason"]
    assert "nvrtc_error" in [found["code"] for found in mine["findings"]]
    assert any("cache_read" in line for line in mine["steps"])


def test_a_schedule_that_does_not_apply_is_refused_with_its_reason(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "bad.py"
    file.write_text('def apply(sch):\n    sch.compute_inline(sch.get_sblock("nope"))\n')
    report = compare(capsys, case("10"), "--with", "original", "--schedule", f"bad={file}")
    bad = variant(report, "bad")
    assert bad["status"] == "refused"
    assert "nope" in bad["reason"]
    assert variant(report, "original")["status"] == "failed"


def test_one_function_is_reported_alone(capsys: pytest.CaptureFixture[str]) -> None:
    report = compare(capsys, case("24"), "--with", "default_gpu", "--func", "gpu_add")
    found = variant(report, "default_gpu")
    assert [each["name"] for each in found["functions"]] == ["gpu_add"]
    assert found["status"] == "built"


def test_skipped_functions_say_why(capsys: pytest.CaptureFixture[str]) -> None:
    report = compare(capsys, case("24"), "--with", "default_gpu")
    host = function(variant(report, "default_gpu"), "shape_calc")
    assert (host["status"], host["reason"]) == ("skipped", "Host function: its own target is llvm.")
    assert variant(report, "default_gpu")["status"] == "built"


def test_sizes_make_the_launch_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [case("23"), "--with", "default_gpu", "--size", "p=5", "--size", "q=7"]
    found = variant(compare(capsys, *arguments), "default_gpu")
    (kernel,) = function(found, "bcast")["kernels"]
    assert all(isinstance(extent, int) for extent in kernel["grid"] + kernel["block"])


def test_no_blocks_is_said_for_every_way(capsys: pytest.CaptureFixture[str]) -> None:
    report = compare(capsys, case("12"))
    assert "no T.sblock was found" in variant(report, "original")["reason"]
    for name in ("default_gpu", "dlight"):
        found = variant(report, name)
        assert found["status"] in ("failed", "not_applicable")
        assert found["reason"]


def test_migrations_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    report = compare(capsys, case("01"), "--with", "original")
    assert report["migrations"]
    assert all(each["before"] != each["after"] for each in report["migrations"])


def test_the_table_reads_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", case("24"), "--with", "original,default_gpu"]) == 0
    out = capsys.readouterr().out
    header = next(line for line in out.splitlines() if line.startswith("variant"))
    assert header.split() == [
        "variant", "status", "function", "kernel", "grid", "block", "shared", "check", "time",
    ]  # fmt: skip
    assert "gpu_add_kernel" in out
    assert "no time: No CUDA device" in out or "not timed" in out.lower()


def test_modules_that_were_left_alone_are_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    one = (
        "@I.ir_module\nclass {name}:\n    @T.prim_func(s_tir=True)\n"
        '    def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):\n'
        "        for i in range(8):\n            with T.sblock('B'):\n"
        "                vi = T.axis.spatial(8, i)\n                B[vi] = A[vi]\n"
    )
    both = tmp_path / "both.py"
    both.write_text(one.format(name="First") + "\n" + one.format(name="Second"))
    assert main(["compare", str(both), "--with", "original", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["other_modules"] == ["Second"]
    assert main(["compare", str(both), "--with", "original"]) == 0
    assert "Other modules of the text are left alone: Second." in capsys.readouterr().out
