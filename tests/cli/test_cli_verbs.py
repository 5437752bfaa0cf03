"""open, export, doctor, and what wrong usage and unreadable texts come to."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from explorer import cli, workbench
from explorer.cli import main
from explorer.errors import WorkerDied
from explorer.experiment import Experiment, Variant, dump
from explorer.model.loaded import Source

CASES = Path(__file__).parents[1] / "cases"


def case(number: str) -> str:
    (folder,) = CASES.glob(f"{number}_*")
    return str(folder / "module.py")


def test_open_draws_the_nest_and_tells_what_was_changed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["open", case("01")]) == 0
    out = capsys.readouterr().out
    assert "block " in out
    assert "[spatial]" in out
    assert "line 1" in out
    assert main(["open", case("09"), "--json"]) == 0
    loaded = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in loaded["nest"]["functions"]] == ["scale", "main"]
    assert "sblock" in loaded["text"]


def test_a_text_that_can_not_load_is_an_error_with_its_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("import os\n\nprint('no module here')\n")
    for verb in (["open"], ["compare"], ["export", "--with", "dlight"]):
        assert main([verb[0], str(bad), *verb[1:], "--json"]) == 1
        error = json.loads(capsys.readouterr().out)
        assert set(error) == {"error"}
        assert set(error["error"]) == {"what", "why", "do", "line"}
        assert error["error"]["what"]
    assert main(["open", str(bad)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    assert captured.err.strip()


def test_a_missing_file_can_not_load_either(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["open", "nowhere.py", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["what"] == "nowhere.py can't be read."


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "required"),
        (["compare"], "MODULE"),
        (["compare", "M", "--with", ","], "names no variant"),
        (["compare", "M", "--size", "n"], "NAME=NUMBER"),
        (["compare", "M", "--size", "n=-3"], "NAME=NUMBER"),
        (["compare", "M", "--with", "original", "--size", "q=7"], "no size q; it has fixed sizes"),
        (["compare", "M", "--schedule", "file"], "NAME=FILE"),
        (["compare", "M", "--with", "autotvm"], "no variant autotvm"),
        (["compare", "M", "--func", "nope", "--with", "original"], "no function nope"),
        (["export", "M"], "one of the arguments"),
        (["export", "M", "--with", "dlight", "--format", "zip"], "invalid choice"),
        (["open", "M", "--nonsense"], "unrecognized"),
    ],
)
def test_wrong_usage_is_exit_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [case("10") if text == "M" else text for text in arguments]
    with pytest.raises(SystemExit) as ended:
        main(given)
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert words in err
    assert "usage:" in err


def test_an_unknown_target_names_close_ones(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["compare", case("10"), "--target", "nvidia/geforce-rtx-409", "--json"])
    assert code == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert "nvidia/geforce-rtx-4090" in error["why"]


def test_export_writes_a_script_that_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "out.py"
    assert main(["export", case("24"), "--with", "default_gpu", "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert "structurally equal" in said
    assert f"Run it: python {out}" in said
    done = subprocess.run(
        [sys.executable, "-I", str(out)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0
    assert "built gpu_add" in done.stdout


def test_export_prints_any_format(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--with", "default_gpu", "--target", "sm_90", "-o", "-"]
    assert main(["export", case("10"), *options, "--format", "cuda"]) == 0
    assert "// Target: sm_90 (sm_90)." in capsys.readouterr().out
    assert main(["export", case("10"), *options, "--format", "tvmscript"]) == 0
    assert "T.thread_binding" in capsys.readouterr().out


def test_what_can_not_be_exported_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", case("10"), "--with", "original", "--format", "cuda", "-o", "-"]) == 1
    assert "There is no CUDA source to save." in capsys.readouterr().err


def test_a_strategy_that_schedules_nothing_is_not_exported(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "out.py"
    assert main(["export", case("63"), "--with", "dlight", "-o", str(out)]) == 1
    said = capsys.readouterr().err
    assert "dlight schedules nothing here." in said
    assert "works in place" in said
    assert not out.exists()


def test_an_unscheduled_module_exports_a_script_that_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "out.py"
    assert main(["export", case("10"), "--with", "original", "-o", str(out)]) == 0
    done = subprocess.run(
        [sys.executable, "-I", str(out)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 1
    assert "no kernel: no function of this module has loops bound" in done.stdout


def test_a_schedule_that_is_refused_half_way_is_not_exported(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    schedule, out = tmp_path / "sched.py", tmp_path / "out.py"
    schedule.write_text(
        "def schedule(sch):\n"
        '    i, j, k = sch.get_loops(sch.get_sblock("C"))\n'
        '    sch.bind(i, "blockIdx.x")\n'
        "    sch.fuse(i, j)\n"
    )
    assert main(["export", case("10"), "--schedule", str(schedule), "-o", str(out)]) == 1
    assert "line 4: i is bound or annotated." in capsys.readouterr().err
    assert not out.exists()


def test_an_experiment_file_is_a_module_with_its_own_variants(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    source = Source(Path(case("10")).read_text())
    steps = workbench.steps_of(workbench.propose(source, (), "default_gpu", "sm_86"))
    kept = Experiment(source=source, target="sm_86", variants=(Variant("mine", steps),))
    file = tmp_path / "kept.experiment.json"
    file.write_bytes(dump(kept))
    assert main(["compare", str(file), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["target"] == "sm_86"
    assert [each["name"] for each in report["variants"]] == ["mine"]
    assert report["variants"][0]["status"] == "built"


def test_doctor_lists_tools_with_repairs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    tools = {tool["name"]: tool for tool in json.loads(capsys.readouterr().out)["tools"]}
    assert tools["apache-tvm"]["version"] == "0.27.0.post1"
    assert {"NVRTC", "C++ compiler", "NVIDIA GPU"} <= set(tools)
    assert all(tool["found"] or tool["repair"] for tool in tools.values())
    assert main(["doctor"]) == 0
    assert "apache-tvm-ffi" in capsys.readouterr().out


def test_doctor_says_what_is_unbound_and_the_next_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["doctor", case("16")]) == 0
    out = capsys.readouterr().out
    assert "r (64) is outside the bound loops" in out
    assert "Bind r to blockIdx.y" in out
    assert "python -m explorer compare" in out


def test_a_dead_worker_is_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def died(source: Source) -> None:
        raise WorkerDied("TVM stopped.", "It took too long.", "Your steps are all there.")

    monkeypatch.setattr(cli.workbench, "open_source", died)
    assert main(["open", case("10"), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["why"] == "It took too long."


def test_the_command_itself_runs_without_streamlit() -> None:
    code = (
        "import sys, explorer.cli as cli\n"
        f"code = cli.main(['open', {case('10')!r}, '--json'])\n"
        "assert 'streamlit' not in sys.modules and 'tvm' not in sys.modules\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["module"] == "Module"
