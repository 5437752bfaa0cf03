"""What a request gives: the answer, the user's error, or our bug; and which child answers."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from concurrent.futures import CancelledError

import msgspec
import pytest

from explorer.errors import StepRefused, ToolMissing, WorkerDied
from explorer.model.loaded import Source
from explorer.worker.limits import BACKGROUND_NICE, Settings
from explorer.worker.pool import WorkerBug
from tests.worker.conftest import SETTINGS


def test_values_go_there_and_back_typed(pool):
    source = Source("@I.ir_module\n# “quotes” → \x00", "Two")
    assert pool.ask("echo", list[Source], source, 3) == [source] * 3
    assert pool.ask("echo", list[Source], source) == [source]


def test_user_errors_keep_their_class_and_words(pool):
    with pytest.raises(StepRefused) as caught:
        pool.ask("refuse", int)
    problem = caught.value.problem
    assert (problem.what, problem.why, problem.do) == (
        "It does not apply.", "Loops differ.", "Pick another.",
    )  # fmt: skip
    assert (problem.line, problem.details) == (7, "raw")


def test_a_bug_keeps_its_traceback(pool):
    with pytest.raises(WorkerBug, match=r"(?s)in fail.*KeyError: 'a bug of ours'"):
        pool.ask("fail", int)


@pytest.mark.parametrize(
    ("verb", "args", "said"),
    [
        ("eval", ("1",), "no verb 'eval'"),
        ("nothing_here", (), "nothing_here"),
        ("not_installed", (), "No module named 'tests.worker.no_such_module'"),
        ("pid", (1,), "pid takes 0 arguments, not 1"),
        ("echo", ("text",), "Expected `object`, got `str`"),
        ("echo", (Source("x"), "many"), "Expected `int`, got `str`"),
    ],
)
def test_a_wrong_question_is_a_bug_and_costs_only_itself(pool, verb, args, said):
    with pytest.raises(WorkerBug, match=said):
        pool.ask(verb, int, *args)
    assert pool.ask("pid", int) > 0


def test_a_missing_compiler_is_told_with_its_cure(pool):
    with pytest.raises(ToolMissing, match=r"TVM can't be imported.*requirements\.txt"):
        pool.ask("no_compiler", int)


def test_the_test_verbs_are_not_in_the_program():
    from explorer.worker.child import ANSWERS

    assert all(target.startswith("explorer.") for target in ANSWERS.values())
    assert not {"crash", "hang", "eval"} & set(ANSWERS)


def test_a_subject_goes_back_to_the_child_that_knows_it(pool):
    assert pool.wait_until_ready(30)
    one, two = Source("one"), Source("two")
    assert pool.ask("count", int, one) == 1
    assert pool.ask("count", int, two) == 1  # a fresh child
    assert pool.ask("count", int, one) == 2
    assert pool.ask("count", int, two) == 2


def test_no_more_children_are_kept_than_allowed(make_pool):
    pool = make_pool(keep=2)
    assert pool.wait_until_ready(30)
    answers = [pool.ask("count", int, Source(str(n))) for n in range(6)]
    assert max(answers) > 1  # children were used again
    assert len(pool._idle) <= 2


def test_a_child_that_grew_is_replaced(pool):
    assert pool.wait_until_ready(30)
    source = Source("what it is about")
    first = pool.ask("grow", int, source, 10)
    assert pool.ask("grow", int, source, 300) == first  # 310 of 512 MB: more than half
    assert pool.ask("grow", int, source, 10) != first


def test_status_goes_from_cold_to_ready(make_pool):
    pool = make_pool()
    assert pool.status().state == "cold"
    pool.start()
    assert pool.status().state in ("warming", "ready")
    assert pool.wait_until_ready(30)
    assert pool.status().state == "ready"
    pool.close()
    assert pool.status().state == "cold"


def test_a_verb_that_needs_the_warm_up_waits_for_it(make_pool):
    slow = Settings(
        answers="tests.worker.verbs:ANSWERS",
        warm_up="tests.worker.verbs:slow_warm_up",
        warm_verbs=("warmed",),
    )
    pool = make_pool(slow)
    pool.start()
    assert pool.ask("pid", int) > 0
    assert pool.ask("warmed", list[str]) == ["warm"]
    assert pool.status().state == "ready"


def test_without_warm_up_it_is_ready_once_imported(make_pool):
    pool = make_pool(Settings(answers="tests.worker.verbs:ANSWERS"))
    assert pool.ask("pid", int) > 0
    assert pool.status().state == "ready"


def test_a_warm_up_that_fails_costs_nothing_else(make_pool):
    pool = make_pool(Settings(answers="tests.worker.verbs:ANSWERS", warm_up="tests.worker.verbs:x"))
    assert pool.ask("pid", int) > 0
    assert pool.wait_until_ready(30)


def test_work_aside_is_done_warm_and_niced_and_ends_with_the_server(
    make_pool, tmp_path, monkeypatch
):
    os.mkfifo(tmp_path / "note")
    monkeypatch.setenv("NOTE", str(tmp_path / "note"))
    note = os.open(tmp_path / "note", os.O_RDONLY | os.O_NONBLOCK)

    def read() -> bytes:
        assert select.select([note], [], [], 30)[0]
        return os.read(note, 100)

    pool = make_pool(msgspec.structs.replace(SETTINGS, aside="tests.worker.verbs:aside"))
    pool.start()
    assert read().decode() == f"{os.nice(0) + BACKGROUND_NICE} ['warm']\n"
    assert pool.ask("pid", int) > 0
    pool.close()
    assert read() == b""
    os.close(note)


def test_work_aside_that_fails_costs_nothing_else(make_pool):
    pool = make_pool(msgspec.structs.replace(SETTINGS, aside="tests.worker.verbs:x"))
    assert pool.wait_until_ready(30)
    assert pool.ask("pid", int) > 0


def test_a_server_that_can_not_start_is_told_with_its_reason(make_pool):
    pool = make_pool(Settings(answers="tests.worker.no_such_module:ANSWERS"))
    with pytest.raises(WorkerDied) as caught:
        pool.ask("pid", int)
    assert "no_such_module" in caught.value.problem.details


def test_the_client_does_not_load_tvm():
    code = (
        "import sys, explorer.worker.client; "
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'tvm', 'tvm_ffi', 'numpy'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_lasting_work_is_niced_and_is_in_nobodys_way(make_pool):
    pool = make_pool(most=1)
    assert pool.keep_at("nice", int).result(60) == os.nice(0) + BACKGROUND_NICE
    lasting = pool.keep_at("hang", int)
    assert pool.ask("pid", int) > 0
    assert pool.status().busy == 0
    assert lasting.cancel()
    with pytest.raises(CancelledError):
        lasting.result(60)
