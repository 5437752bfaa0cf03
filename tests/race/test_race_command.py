"""`time` and `compare --time`: the shape of --json, and words for what can't be timed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from explorer.cli import main
from explorer.targets import local

TIME = {"status", "reason", "median_us", "low_us", "high_us", "runs", "runner", "device"}


@pytest.fixture
def files(tmp_path: Path, matmul: Any) -> tuple[str, str]:
    module, schedule = tmp_path / "module.py", tmp_path / "fast.py"
    module.write_text(matmul.text)
    schedule.write_text(
        "i, j, k = sch.get_loops(sch.get_sblock('C'))\nsch.reorder(i, k, j)\n"
        "j0, j1 = sch.split(j, [None, 8])\nsch.vectorize(j1)\nsch.parallel(i)\n"
    )
    return str(module), str(schedule)


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_cpu_schedules_are_timed_for_real(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    module, schedule = files
    answer = asked(
        capsys, "time", module, "--target", "llvm", "--schedule", f"fast={schedule}",
        "--budget", "1",
    )  # fmt: skip
    assert [each["name"] for each in answer["variants"]] == ["original", "fast"]
    for variant in answer["variants"]:
        time = variant["time"]
        assert time.keys() >= TIME
        assert time["status"] == "measured"
        assert time["low_us"] <= time["median_us"] <= time["high_us"]
        assert time["runs"] > 0
        assert time["runner"] == "llvm"
        assert time["device"]
        assert time["check"]["status"] == "match"
        assert variant["times"] == [time]
    (verdict,) = answer["verdicts"]
    assert (verdict["variant"], verdict["other"]) == ("original", "fast")
    assert verdict["outcome"] in ("faster", "slower", "no_difference", "undecided")
    assert verdict["words"]
    (heat,) = answer["heats"]
    assert heat["provenance"].keys() >= {"tvm", "target", "sizes", "method", "date", "device"}


def test_the_table_says_verdicts_and_method(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["time", files[0], "--target", "llvm", "--budget", "0.3"]) == 0
    said = capsys.readouterr().out
    assert "main on " in said
    assert "95 % interval" in said
    assert "Method: warm-up, then all variants in rounds" in said


def test_compare_times_too(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    module, schedule = files
    answer = asked(
        capsys, "compare", module, "--target", "llvm", "--schedule", f"fast={schedule}",
        "--time", "--budget", "1",
    )  # fmt: skip
    for variant in answer["variants"]:
        (function,) = variant["functions"]
        assert function["time"].keys() == TIME - {"reason"} | {"reason"}
        assert function["time"]["status"] == "measured"
    assert len(answer["verdicts"]) == 1
    without = asked(capsys, "compare", module, "--target", "llvm")
    assert "verdicts" not in without


def test_gpu_strategies_do_not_apply_to_a_processor(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    answer = asked(
        capsys, "time", files[0], "--target", "llvm", "--with", "original,default_gpu",
        "--budget", "0.3",
    )  # fmt: skip
    first, second = answer["variants"]
    assert first["time"]["status"] == "measured"
    assert second["time"]["status"] == "not_measured"
    assert "default_gpu binds loops to GPU threads" in second["time"]["reason"]


def test_without_a_gpu_the_reason_offers_a_remote_one_and_the_bound(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    if local.detect():  # on a GPU machine tests/gpu says more
        return
    answer = asked(capsys, "time", files[0], "--with", "original,default_gpu")
    original, bound = (each["time"] for each in answer["variants"])
    assert "Not built" in original["reason"]
    assert bound["status"] == "not_measured"
    assert "No CUDA device on this machine." in bound["reason"]
    assert "--rpc HOST:PORT" in bound["reason"]
    assert bound["bound_us"] > 0
    assert bound["median_us"] is None


@pytest.mark.parametrize("budget", ["0", "1e9", "soon"])
def test_a_budget_that_makes_no_sense(
    files: tuple[str, str], budget: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["time", files[0], "--budget", budget])
    assert ended.value.code == 2
    assert "seconds from 0.1 to 600" in capsys.readouterr().err


def test_libraries_are_rows_of_their_own_where_they_are_asked_for(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    answer = asked(capsys, "time", files[0], "--target", "llvm", "--budget", "0.5", "--baselines")
    names = [each["name"] for each in answer["variants"]]
    assert names[:2] == ["original", "NumPy matmul"]
    library = answer["variants"][1]["time"]
    assert library["status"] == "measured"
    assert library["library"].startswith("NumPy ")
    assert library["check"]["status"] == "match"
    assert answer["variants"][0]["time"]["library"] == ""
    roof = answer["heats"][0]["roof"]
    assert roof["measured"] is True
    assert "measured here on" in roof["source"]


def test_a_size_is_swept(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    module, schedule = files
    arguments = [
        "sweep", module, "--target", "llvm", "--over", "64=32,36", "--with", "original,default_gpu",
        "--schedule", f"fast={schedule}", "--budget", "0.3",
    ]  # fmt: skip
    answer = asked(capsys, *arguments)
    assert (answer["target"], answer["size"]) == ("llvm", "64")
    assert [point["value"] for point in answer["points"]] == [32, 36]
    for point in answer["points"]:
        times = {each["name"]: each["time"] for each in point["variants"]}
        assert list(times) == ["original", "default_gpu", "fast"]
        assert times["fast"]["status"] == "measured"
        assert "does not apply to llvm" in times["default_gpu"]["reason"]
    assert answer["points"][0]["does_not_divide"] == {}
    assert "no multiple of 8" in answer["points"][1]["does_not_divide"]["fast"][0]


@pytest.mark.parametrize(
    "over", ["64", "64=", "64=0", "64=a", "6 4=1", "n=99999999", "n=1,2,3,4,5,6,7,8,9,10,11,12,13"]
)
def test_a_range_that_makes_no_sense(
    files: tuple[str, str], over: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["sweep", files[0], "--over", over])
    assert ended.value.code == 2
    assert "sizes" in capsys.readouterr().err


def test_a_size_that_the_module_has_not_is_a_usage_error_in_words(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", files[0], "--target", "llvm", "--over", "n=8", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["what"] == "The module has no size n."


def test_history_and_ablation_are_commands(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    module, schedule = files
    common = [module, "--target", "llvm", "--schedule", schedule, "--budget", "0.3"]
    answer = asked(capsys, "history", *common)
    assert (answer["variant"], answer["function"]) == ("fast", "main")
    assert [step["step"] for step in answer["steps"]] == [0, 1, 2, 3, 4]
    assert all(step["time"]["status"] == "measured" for step in answer["steps"])
    assert answer["steps"][0]["change"] is None
    assert answer["steps"][1]["change"]["words"]
    assert answer["provenance"]["runner"] == "llvm"
    answer = asked(capsys, "ablation", *common)
    assert [step["step"] for step in answer["steps"]] == [1, 2, 3, 4]
    assert answer["steps"][0]["also"] == [2, 3]
    assert all(step["worth"] > 0 for step in answer["steps"])
    assert answer["static"] is None
    assert answer["shortest"] is not None
    assert main(["ablation", *common]) == 0
    said = capsys.readouterr().out
    assert "whole recipe against that" in said
    assert "of the speed" in said


def test_an_ablation_without_a_device_shows_figures_of_the_compiler(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    if local.detect():
        return
    answer = asked(capsys, "ablation", files[0], "--with", "default_gpu")
    assert answer["static"]["registers"] > 0
    assert answer["static"]["bound_us"] > 0
    assert all(step["worth"] is None and step["reason"] for step in answer["steps"])
    assert main(["ablation", files[0], "--with", "default_gpu"]) == 0
    assert "Not timed, figures of the compiler." in capsys.readouterr().out
