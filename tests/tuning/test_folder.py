"""The folder of a job: written whole, read on, held by one process, survived by crashes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from explorer.errors import ExperimentError
from explorer.model.loaded import Source
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives import STEPS
from explorer.tuning.events import Candidate, Finished, Started
from explorer.tuning.folder import Control, Folder, Reader
from explorer.tuning.job import Ban, Pin, Steering, Task, TuneJob

LOOP = LoopRef(BlockRef("B"), 0, "i")
JOB = TuneJob(
    title="Matmul", source=Source("text"), target="llvm", tasks=(Task("main", 2.0),),
    runner="llvm", steps=(STEPS["reorder"](ordered_loops=(LOOP, LOOP)),),
)  # fmt: skip
HOLD = """
import sys
from pathlib import Path
from explorer.tuning.folder import Folder
with Folder(Path(sys.argv[1])).working():
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path / "deep" / "job")
    made.create(JOB)
    return made


def test_a_job_comes_back_as_it_was_written(folder: Folder) -> None:
    assert folder.job() == JOB
    assert sorted(path.name for path in folder.path.iterdir()) == ["job.json"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no tuning job"),
        ("[]", "no tuning job"),
        ('{"version": 99}', "version 99"),
        ('{"version": 1, "source": 3}', "no tuning job"),
    ],
)
def test_a_broken_job_says_what_is_wrong(folder: Folder, text: str, words: str) -> None:
    (folder.path / "job.json").write_text(text)
    with pytest.raises(ExperimentError, match=words):
        folder.job()


def test_no_job_and_a_folder_that_cannot_be_written_are_told(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="holds no tuning job"):
        Folder(tmp_path).job()
    (tmp_path / "file").write_text("")
    with pytest.raises(ExperimentError, match="can't be written"):
        Folder(tmp_path / "file" / "job").create(JOB)


def test_events_are_read_on_from_where_the_last_reading_ended(folder: Folder) -> None:
    reader = Reader(folder)
    assert reader.news() == []
    folder.tell(Started(at=1.0, pid=7))
    one = Candidate(at=2.0, id=1, function="main", fate="measured", us=3.0)
    folder.tell(one)
    assert reader.news() == [Started(at=1.0, pid=7), one]
    assert reader.news() == []
    folder.tell(Finished(3.0, "done"))
    assert reader.news() == [Finished(3.0, "done")]


def test_a_line_that_a_crash_cut_is_left_out_and_the_next_one_is_whole(folder: Folder) -> None:
    folder.tell(Started(at=1.0, pid=7))
    with (folder.path / "events.jsonl").open("ab") as file:
        file.write(b'{"type":"candidate","at":2.0,"id"')
    reader = Reader(folder)
    assert reader.news() == [Started(at=1.0, pid=7)]
    folder.tell(Finished(3.0, "done"))
    assert reader.news() == [Finished(3.0, "done")]
    assert reader.unreadable == 1


def test_wishes_are_told_and_rubbish_means_run(folder: Folder) -> None:
    assert folder.control() == Control()
    steering = Steering(
        pins=(Pin("main", 0, 3, (4, 8)),), bans=(Ban("main", 1), Ban("main", 0, 3, 1, 2, 64)),
        without_rules=("AutoInline",),
    )  # fmt: skip
    folder.wish(Control(wish="pause", steering=steering))
    assert folder.control() == Control(wish="pause", steering=steering)
    (folder.path / "control.json").write_text("{")
    assert folder.control() == Control()


def test_one_process_holds_a_job_until_it_ends(folder: Folder) -> None:
    assert not folder.running()
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder.path)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True, env=dict(os.environ),
    )  # fmt: skip
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    assert folder.running()
    with pytest.raises(ExperimentError, match="already running"), folder.working():
        pass
    other.kill()
    other.communicate()
    assert not folder.running()
    with folder.working():
        assert folder.running()
    assert not folder.running()
