"""The exported script stands alone: it is run, compared, and says clearly what it did."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.engine import export as exporting
from explorer.engine.export import export
from explorer.errors import BuildError, UserError
from explorer.experiment import Experiment
from explorer.exporters import python_script
from explorer.model.target import Target
from explorer.targets.host import LLVM

Make = Callable[..., Experiment]

SPLIT = (
    'def apply(sch):\n    i, j, k = sch.get_loops(sch.get_sblock("C"))\n'
    "    i0, i1 = sch.split(i, factors=[None, 16])\n    sch.reorder(i0, j, i1)\n"
)
DYNAMIC = """
@I.ir_module
class Rows:
    @T.prim_func(private=True, s_tir=True)
    def twice(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 2 * n), "float16")
        B = T.match_buffer(b, (n, 2 * n), "float16")
        for i, j in T.grid(n, 2 * n):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + A[vi, vj]
"""


def run(text: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a script as a user does: nothing of this program on its path."""
    script = folder / "schedule.py"
    script.write_text(text, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-I", str(script), *options],
        capture_output=True, text=True, timeout=300, check=False, cwd=folder,
    )  # fmt: skip


def test_readable_steps_and_a_heading(experiment: Make, target: Target) -> None:
    made = export(experiment("10", SPLIT), "mine", "python", target, "match on 3 inputs")
    assert "    i_0, i_1 = sch.split(i, factors=[None, 16])\n" in made.text
    heading = made.text.split('"""')[1]
    assert "Trial: schedule mine" in heading
    assert "apache-tvm 0.27" in heading
    assert "Target: nvidia/geforce-rtx-4090 (sm_89)." in heading
    assert "Checked: match on 3 inputs." in heading
    assert "explorer" not in re.sub(r"Schedule Explorer", "", made.text).lower()
    assert made.name == "module_mine.py"
    assert "structurally equal" in made.verified


@pytest.mark.parametrize(
    ("module", "schedule"),
    [
        ("10", "dlight"),
        ("33", "default_gpu"),
        ("24", "default_gpu"),
        ("09", "default_gpu"),
        ("68", "dlight"),
        ("51", "sched"),
        ("30", "dlight"),
        ("61", "sched"),
        ("70", "default_gpu"),
        (DYNAMIC, "default_gpu"),
    ],
)
def test_the_script_reproduces_every_kind_of_schedule(
    module: str, schedule: str, experiment: Make, target: Target
) -> None:
    made = export(experiment(module, schedule), "mine", "python", target)
    assert made.verified.startswith("The script was run in a new process")


def test_it_builds_without_a_gpu_and_says_that_it_did_not_run(
    experiment: Make, target: Target, tmp_path: Path
) -> None:
    text = export(experiment(DYNAMIC, "default_gpu"), "mine", "python", target).text
    assert "n = 128  # symbolic size: no value was given, set yours" in text
    assert '("A", (n, 2 * n), "float16")' in text
    done = run(text, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "built twice for sm_89" in done.stdout
    assert "no CUDA device: kernel source built" in done.stdout
    source = run(text, tmp_path, "--source")
    assert "__global__" in source.stdout
    assert "twice_kernel" in source.stdout


def test_given_sizes_are_constants_at_the_top(experiment: Make, target: Target) -> None:
    text = export(experiment(DYNAMIC, "default_gpu", {"n": 96}), "mine", "python", target).text
    assert "n = 96  # symbolic size\n" in text
    assert text.index("n = 96") < text.index("MODULE =")


def test_it_checks_and_times_where_it_can_run(experiment: Make, tmp_path: Path) -> None:
    text = export(experiment("10", SPLIT), "mine", "python", LLVM).text
    done = run(text, tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"main: C match \(largest relative error \d", done.stdout)
    table = r"median us +95 % interval +calls\nmain +[\d.]+ +[\d.]+ to [\d.]+ +\d+\n"
    assert re.search(table, done.stdout)


def test_it_works_as_a_gate(experiment: Make, tmp_path: Path, target: Target) -> None:
    text = export(experiment("10", SPLIT), "mine", "python", LLVM).text
    quick = ("--seconds", "0.2", "--tolerance", "5%")
    good = run(text, tmp_path, "--expect-us", "1e9", *quick)
    assert good.returncode == 0, good.stderr
    assert "main: as expected: " in good.stdout
    slow = run(text, tmp_path, "--expect-us", "main=0.001", *quick)
    assert slow.returncode == 1
    assert "main: TOO SLOW: " in slow.stdout
    unknown = run(text, tmp_path, "--expect-us", "other=1", *quick)
    assert "name one of main" in unknown.stderr
    no_device = export(experiment("10", "default_gpu"), "mine", "python", target).text
    done = run(no_device, tmp_path, "--expect-us", "10")
    assert done.returncode == 1
    assert "nothing was timed" in done.stdout


def test_a_mismatch_is_said_and_is_the_exit_code(experiment: Make, tmp_path: Path) -> None:
    text = export(experiment("10", SPLIT), "mine", "python", LLVM).text
    # The reference computes something else than what was scheduled.
    wrong = text.replace(
        "plain = prim_funcs(tvm.script.from_source(MODULE))",
        'plain = prim_funcs(tvm.script.from_source(MODULE.replace("A[vi, vk] *", "A[vi, vk] +")))',
    )
    assert wrong != text
    done = run(wrong, tmp_path)
    assert done.returncode == 1
    assert "main: C MISMATCH" in done.stdout


def test_one_that_does_not_reproduce_is_not_offered(
    experiment: Make, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = python_script._schedule
    monkeypatch.setattr(python_script, "_schedule", lambda lines: honest(lines[:-1]))
    with pytest.raises(BuildError, match="does not give the same module"):
        export(experiment("10", SPLIT), "mine", "python", target)
    monkeypatch.setattr(python_script, "_schedule", lambda lines: honest(("sch.nonsense()",)))
    with pytest.raises(BuildError, match="does not run") as refused:
        export(experiment("10", SPLIT), "mine", "python", target)
    assert "nonsense" in refused.value.problem.why


def test_a_size_named_like_something_of_the_script_is_renamed(
    experiment: Make, target: Target, tmp_path: Path
) -> None:
    module = DYNAMIC.replace("n = T", "run = T").replace("2 * n", "2 * run")
    module = module.replace("(n,", "(run,")
    text = export(experiment(module, "default_gpu"), "mine", "python", target).text
    assert "run_size = 128" in text
    assert '("A", (run_size, 2 * run_size), "float16")' in text
    assert run(text, tmp_path).returncode == 0


def test_long_texts_are_moved_out_of_the_schedule() -> None:
    long = "first\n" * 40
    line = f"sch = tvm.s_tir.Schedule(tvm.script.from_source({long!r}))"
    lines, constants = python_script._lift_texts((line, "sch.bind(i, 'blockIdx.x')"))
    assert lines[0] == "sch = tvm.s_tir.Schedule(tvm.script.from_source(RESULT_1))"
    assert lines[1] == "sch.bind(i, 'blockIdx.x')"
    assert constants[0].startswith("RESULT_1 = '''\nfirst\n")


@pytest.mark.parametrize(
    ("text", "written"),
    [("a\nb", "X = '''\na\nb\n'''"), ("a '''\nb", 'X = """\na \'\'\'\nb\n"""'),
     ("a \\n b", "X = r'''\na \\n b\n'''")],
)  # fmt: skip
def test_texts_are_quoted_so_that_they_stay_themselves(text: str, written: str) -> None:
    assert python_script._text("X", text) == written


def test_texts_that_no_quotes_hold_are_written_with_escapes() -> None:
    import ast

    text = "a ''' and \"\"\" b\\"
    value = ast.parse(python_script._text("X", text)).body[0].value  # type: ignore[attr-defined]
    assert ast.literal_eval(value) == text


def test_unknown_names_are_refused(experiment: Make, target: Target) -> None:
    with pytest.raises(UserError, match="no format xlsx"):
        export(experiment("10"), "mine", "xlsx", target)
    with pytest.raises(UserError, match="no variant yours"):
        export(experiment("10"), "yours", "python", target)


def test_every_format_is_verified_in_its_own_way() -> None:
    from explorer.exporters import FORMATS

    assert set(FORMATS) == {"python", "tvmscript", "cuda", "trace", "experiment"}
    assert set(FORMATS) == set(exporting._VERIFY)
