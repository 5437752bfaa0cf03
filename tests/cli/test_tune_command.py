"""tune and records: what they ask for, tell, leave behind and refuse."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tvm.s_tir import meta_schedule as ms
from tvm_ffi import structural_equal

from explorer import cli_tune_text, tunes, workbench
from explorer.cli import main
from explorer.engine.replay import replay
from explorer.model.loaded import Source
from explorer.tuning.events import Candidate, Entered, Finished, Rival, Started, Steered
from explorer.tuning.folder import RECORDS, WORKLOADS, Folder, Reader
from explorer.tuning.job import TuneJob
from explorer.tuning.summary import Summary
from tests.conftest import ROOT
from tests.tuning import databases
from tests.tuning.databases import ADD, CUDA, LLVM, matmul

SCHEDULE = (
    'b = sch.get_sblock("C", func_name="gemm")\ni, j, k = sch.get_loops(b)\nsch.parallel(i)\n'
)


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def module(tmp_path: Path) -> str:
    path = tmp_path / "gemm.py"
    path.write_text(matmul("gemm") + ADD.split("class Module:\n")[1].replace("main", "plus"))
    return str(path)


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a pretended search tells when it is begun; it is done at once."""
    told: list[Any] = [Started(at=1.0, pid=1)]

    def begin(path: Path) -> None:
        for event in told:
            Folder(path).tell(event)

    monkeypatch.setattr(tunes, "begin", begin)
    return told


def measured(id: int, us: float, function: str = "gemm") -> Candidate:
    return Candidate(at=2.0, id=id, function=function, fate="measured", us=us, trial=id)


def job_of(work_dir: Path) -> TuneJob:
    return Folder(work_dir).job()


# What it asks for


def test_the_options_are_the_job(module: str, events: list[Any], tmp_path: Path) -> None:
    (tmp_path / "fast.py").write_text(SCHEDULE)
    work = tmp_path / "work"
    arguments = (
        f"tune {module} --work-dir {work} --runner llvm --trials 7 --minutes 1.5 --seed 5 --top 2"
        f" --strategy random --cost-model none --func gemm=3 --func plus"
        f" --without-rule AutoInline --with-rule MultiLevelTilingWideVector --with original"
        f" --schedule {tmp_path / 'fast.py'}"
    )
    assert main(arguments.split()) == 1  # nothing was found
    job = job_of(work)
    assert (job.title, job.target, job.runner) == ("gemm", "llvm", "llvm")
    assert [(task.function, task.weight) for task in job.tasks] == [("gemm", 3.0), ("plus", 1.0)]
    assert (job.trials, job.budget_min, job.seed, job.top) == (7, 1.5, 5, 2)
    assert (job.strategy, job.cost_model, job.sizes) == ("random", "none", {})
    assert job.rivals == (("original", ()),)
    assert job.steering.without_rules == ("AutoInline",)
    assert job.steering.with_rules == ("MultiLevelTilingWideVector",)
    ((name, function, steps),) = job.steering.seeds
    assert (name, function) == ("fast", "gemm")
    assert [step.op() for step in steps] == ["parallel"]
    assert [each.path for each in tunes.jobs()] == [str(work)]


def test_without_options_the_target_decides(module: str, events: list[Any], tmp_path: Path) -> None:
    assert main(["tune", module, "--work-dir", str(tmp_path / "a"), "--target", "llvm"]) == 1
    job = job_of(tmp_path / "a")
    assert (job.runner, job.trials, job.budget_min) == ("llvm", 64, None)
    assert [task.function for task in job.tasks] == ["gemm", "plus"]
    assert job.rivals == (("original", ()),)
    assert main(["tune", module, "--work-dir", str(tmp_path / "b"), "--rpc", "127.0.0.1:1"]) == 1
    job = job_of(tmp_path / "b")
    assert (job.runner, job.where.server, job.target) == (
        "rpc", "127.0.0.1:1", "nvidia/geforce-rtx-4090"
    )  # fmt: skip
    assert [name for name, steps in job.rivals if steps] == ["default_gpu", "dlight"]


def test_symbolic_sizes_are_written_into_the_job(
    events: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module, work = str(ROOT / "sample_modules" / "15_dynamic_shape.py"), str(tmp_path / "work")
    common = ["tune", module, "--work-dir", work, "--runner", "llvm"]
    assert main(common) == 1
    (said,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert said["error"]["what"] == "n has no value."
    assert said["error"]["do"] == "Give n a value (--size n=1024)."
    assert not (tmp_path / "work").exists()
    assert main([*common, "--size", "n=96"]) == 1  # nothing was found
    assert "the job's module is that with n = 96" in capsys.readouterr().err
    job = job_of(tmp_path / "work")
    assert "T.Buffer((96,)" in job.source.text
    assert workbench.open_source(job.source).symbols == ()
    assert main(["tune", module, "--work-dir", work, "--resume"]) == 1
    with pytest.raises(SystemExit):  # another module
        main(["tune", str(ROOT / "sample_modules" / "01_vector_add.py"), *common[2:4], "--resume"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("", "needs a MODULE"),
        ("M --trials 0", "1 to 1000000"),
        ("M --size n=8", "no size n; it has fixed sizes only"),
        ("M --trials many", "1 to 1000000"),
        ("M --minutes -1", "more than 0"),
        ("M --runner gpu", "invalid choice"),
        ("M --func nope", "no function nope; it has gemm, plus"),
        ("M --func gemm=0", "positive number"),
        ("M --func gemm=x", "positive number"),
        ("M --runner rpc", "needs --rpc HOST:PORT"),
        ("M --size n", "NAME=NUMBER"),
        ("M --with autotvm", "no variant autotvm"),
        ("M --start autotvm", "no variant autotvm"),
    ],
)
def test_wrong_usage_is_exit_code_2(
    arguments: str, words: str, module: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["tune", "--work-dir", str(tmp_path / "w"), "--target", "llvm"]
    given += [module if part == "M" else part for part in arguments.split()]
    with pytest.raises(SystemExit) as ended:
        main(given)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("--runner llvm --target sm_90", 1, "can't run code for sm_90"),
        ("--target nvidia/none", 2, "not a target that is known"),
        ("--schedule S", 1, "schedules none of the functions to tune"),
    ],
)
def test_what_can_not_be_begun_is_an_error_object(
    arguments: str, code: int, words: str, module: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "S").write_text(SCHEDULE)
    given = ["tune", module, "--work-dir", str(tmp_path / "w"), "--func", "plus"]
    given += [str(tmp_path / "S") if part == "S" else part for part in arguments.split()]
    if "--target" not in given:
        given += ["--target", "llvm"]
    assert main(given) == code
    (line,) = capsys.readouterr().out.splitlines()
    error = json.loads(line)["error"]
    assert set(error) == {"what", "why", "do", "line"}
    assert words in f"{error['what']} {error['why']}"


def test_a_folder_in_use_is_left_alone(
    module: str, events: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["tune", module, "--target", "llvm", "--work-dir"]
    assert main([*given, str(tmp_path / "w")]) == 1
    assert main([*given, str(tmp_path / "w")]) == 1
    assert "holds a tuning job already" in capsys.readouterr().out
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / RECORDS).write_text("")
    assert main([*given, str(tmp_path / "theirs")]) == 1
    assert "database of another program" in capsys.readouterr().out


# Resuming


def test_a_job_goes_on_with_another_budget_and_other_rules(
    module: str, events: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = tmp_path / "w"
    assert main(["tune", module, "--target", "llvm", "--work-dir", str(work)]) == 1
    before = job_of(work)
    capsys.readouterr()
    events[:] = [Started(at=3.0, pid=1, again=True), measured(1, 2.0), measured(2, 3.0, "plus")]
    more = ["--trials", "9", "--without-rule", "AutoInline"]
    assert main(["tune", module, "--work-dir", str(work), "--resume", *more]) == 0
    job = job_of(work)
    assert (job.trials, job.seed, job.source) == (9, before.seed, before.source)
    steering = Folder(work).control().steering
    assert steering is not None
    assert steering.without_rules == ("AutoInline",)
    types = [json.loads(line).get("type") for line in capsys.readouterr().out.splitlines()]
    assert types == ["started", "candidate", "candidate", None]  # what is new, then the summary


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--seed", "3"], "--seed can't be changed by --resume"),
        (["--with", "original"], "--with can't be changed"),
        (["--cost-model", "none"], "--cost-model can't be changed"),
    ],
)
def test_the_rest_of_a_job_is_fixed(
    more: list[str], words: str, module: str, events: list[Any], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    work = str(tmp_path / "w")
    main(["tune", module, "--target", "llvm", "--work-dir", work])
    with pytest.raises(SystemExit) as ended:
        main(["tune", "--work-dir", work, "--resume", *more])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err
    other = tmp_path / "other.py"
    other.write_text(ADD)
    with pytest.raises(SystemExit):
        main(["tune", str(other), "--work-dir", work, "--resume"])
    assert "MODULE can't be changed" in capsys.readouterr().err


def test_there_must_be_a_job_to_resume(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "--work-dir", str(tmp_path), "--resume"]) == 1
    assert "holds no tuning job" in json.loads(capsys.readouterr().out)["error"]["what"]


# What it tells


def test_the_summary_is_the_last_line(
    module: str, events: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events += [
        measured(1, 5.0), measured(2, 4.0),
        Candidate(at=2.0, id=3, function="gemm", fate="rejected", by="P", reason="Too large."),
        Rival(at=3.0, function="gemm", name="original", us=50.0),
        Finished(at=4.0, how="done"),
    ]  # fmt: skip
    work = tmp_path / "w"
    assert (
        main(["tune", module, "--target", "llvm", "--func", "gemm", "--work-dir", str(work)]) == 0
    )
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])["summary"]
    assert (summary["how"], summary["trials"]) == ("done", 2)
    assert {k: v for k, v in summary["funnel"].items() if v} == {"measured": 2, "rejected": 1}
    (gemm,) = summary["functions"]
    assert (gemm["best"]["id"], gemm["best"]["us"]) == (2, 4.0)
    assert gemm["best"]["check"]["status"] == "not_checked"
    assert gemm["rivals"][0]["name"] == "original"
    assert summary["resume"] == f"python -m explorer tune --work-dir {work} --resume"


def test_a_job_that_could_not_start_is_an_error(
    module: str, events: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events.append(Finished(at=4.0, how="failed", reason="There is nothing to search."))
    given = ["tune", module, "--target", "llvm", "--work-dir", str(tmp_path / "w")]
    assert main(given) == 1
    error = json.loads(capsys.readouterr().out.splitlines()[-1])["error"]
    assert error["why"] == "There is nothing to search."


def test_on_a_terminal_there_is_a_line_and_a_table(
    module: str, events: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    events += [
        Entered(1.5, "gemm", "searching"), measured(1, 5.0), measured(2, 4.0),
        Candidate(at=2.0, id=3, function="gemm", fate="wrong", reason="Other numbers.", trial=3),
        Rival(at=3.0, function="gemm", name="original", us=50.0),
        Finished(at=4.0, how="budget", reason="The minutes are over."),
    ]  # fmt: skip
    work = tmp_path / "w"
    given = ["tune", module, "--target", "llvm", "--func", "gemm", "--trials", "6"]
    assert main([*given, "--work-dir", str(work)]) == 0
    shown = capsys.readouterr()
    assert "[##########----------] 3/6 trials  searching gemm  best 4 µs" in shown.err
    for words in (
        "gemm: 4 µs, candidate 2", "check: not checked", "original: 50 µs",
        "3 trials; 1 wrong, 2 measured", "Ended: budget. The minutes are over.",
        f"Go on: python -m explorer tune --work-dir {work} --resume", f"--tuned {work}#2",
    ):  # fmt: skip
        assert words in shown.out


def test_a_pause_is_shown() -> None:
    job = TuneJob(source=Source(""), target="llvm", tasks=(), runner="llvm", trials=4)
    summary = Summary(job)
    summary.add([Started(at=0.0, pid=1), measured(1, 3.0), Steered(2.0, "paused")])
    words = cli_tune_text.progress(summary, 10.0)
    assert words == "[#####---------------] 1/4 trials  paused"


# End to end, by this machine's processor


def test_interrupted_kept_resumed_and_read_by_plain_tvm(tmp_path: Path) -> None:
    module, work = tmp_path / "gemm.py", tmp_path / "work"
    module.write_text(matmul("gemm"))
    command = [sys.executable, "-m", "explorer", "tune", "--work-dir", str(work)]
    # A shell that runs this in its background has it, and what it starts, ignore SIGINT.
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    first = subprocess.Popen(
        [*command, str(module), "--runner", "llvm", "--trials", "500", "--seed", "2"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    signal.signal(signal.SIGINT, inherited)
    assert first.stdout is not None
    for line in first.stdout:
        if json.loads(line).get("fate") == "measured":
            break
    first.send_signal(signal.SIGINT)
    *_, last = first.stdout
    assert first.wait(60) == 130
    summary = json.loads(last)["summary"]
    assert summary["how"] == "stopped"
    done = summary["funnel"]["measured"]
    assert done >= 1
    assert not Folder(work).running()

    again = subprocess.run(
        [*command, "--resume", "--trials", str(summary["trials"] + 3)],
        stdout=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    assert again.returncode == 0
    lines = again.stdout.splitlines()
    assert json.loads(lines[0])["again"] is True
    summary = json.loads(lines[-1])["summary"]
    assert summary["how"] == "done"
    assert summary["funnel"]["measured"] > done

    database = ms.database.JSONDatabase(work_dir=str(work), allow_missing=False)
    own = replay(Source(matmul("gemm")), ()).live.mod["gemm"]
    compiled = ms.tir_integration.compile_tir(database, own, LLVM)
    best = summary["functions"][0]["best"]["id"]
    proposal = workbench.candidate(str(work), best)
    assert proposal.manual
    mod = replay(Source(matmul("gemm")), workbench.steps_of(proposal)).live.mod
    assert structural_equal(mod["gemm"].body, compiled.mod["main"].body, map_free_vars=True)
    out = tmp_path / "best.py"
    given = ["export", str(module), "--tuned", str(work), "--target", "llvm", "-o", str(out)]
    assert main(given) == 0
    compile(out.read_text(), str(out), "exec")


# records


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("database")
    databases.write(folder, [matmul()], CUDA, 2)
    with open(folder / RECORDS, "a") as file:
        file.write("damaged\n")
    return folder


def test_records_lists_and_names_what_it_skips(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["records", str(database)]) == 0
    first, second, third, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith("workload 0: main(float32[64, 32], float32[32, 64]")
    assert second.split()[:3] == ["2", "2000", "µs"]
    assert third.split()[:3] == ["1", "4000", "µs"]
    assert f"skipped: {RECORDS} line 3: " in rest[0]
    assert main(["records", str(database), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["number"] for each in found["records"]] == [1, 2]
    assert found["skipped"][0]["line"] == 3


@pytest.mark.parametrize("form", ["python", "tvmscript", "json", "cuda"])
def test_a_record_is_exported(
    form: str, database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    given = ["records", str(database), "--export", "best", "--as", form, "-o", str(out), "--json"]
    assert main(given) == 0
    assert json.loads(capsys.readouterr().out)["file"] == str(out)
    marks = {
        "python": 'sch.bind(', "tvmscript": 'thread="threadIdx.x"', "json": '"Bind"',
        "cuda": "__global__",
    }  # fmt: skip
    assert marks[form] in out.read_text()


def test_a_record_is_exported_for_the_module_it_is_for(
    database: Path, module: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["records", str(database), "--export", "1", "--module"]
    assert main([*given, module, "-o", "-"]) == 0
    assert 'func_name="gemm"' in capsys.readouterr().out
    other = tmp_path / "other.py"
    other.write_text(ADD)
    assert main([*given, str(other), "-o", "-"]) == 1
    assert "another function" in capsys.readouterr().err
    assert main(["records", str(database), "--export", "9"]) == 1
    assert main(["records", str(tmp_path / "none"), "--json"]) == 1


def test_a_database_is_made_a_job(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {each.name: each.read_bytes() for each in database.iterdir()}
    into = tmp_path / "job"
    assert main(["records", str(database), "--import", str(into), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["candidates"] == 2
    assert {each.name: each.read_bytes() for each in database.iterdir()} == before
    assert {RECORDS, WORKLOADS, "job.json"} <= {each.name for each in into.iterdir()}
    job = job_of(into)
    assert [task.function for task in job.tasks] == ["main"]
    assert job.runner in ("static", "cuda")  # by whether there is a GPU
    assert [each.id for each in Reader(Folder(into)).news() if isinstance(each, Candidate)] == [
        1,
        2,
    ]


def test_a_record_is_a_variant_of_compare(
    database: Path, module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["compare", module, "--with", "original", "--tuned", f"{database}#1", "--func", "gemm"]
    assert main([*given, "--json"]) == 0
    variants = json.loads(capsys.readouterr().out)["variants"]
    assert [each["name"] for each in variants] == ["original", f"{database.name}#1"]
    (gemm,) = variants[1]["functions"]
    assert (gemm["status"], gemm["check"]["status"]) == ("built", "match")
