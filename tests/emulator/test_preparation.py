"""What all checks share is compiled once, whoever comes first; what fails is said."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from explorer.emulator import compiler as cc
from explorer.emulator import kept

COMPILER = """#!/bin/sh
echo "$@" >> "$CALLS"
for last; do :; done
echo made > "$last"
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and a file in which the compiler of `fake` notes each call."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    (tmp_path / "calls").touch()
    return tmp_path / "calls"


def fake(folder: Path, text: str = COMPILER) -> cc.Compiler:
    path = folder / "compiler"
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return cc.Compiler((str(path),), "gcc", "one")


def test_processes_and_threads_prepare_once(calls: Path, tmp_path: Path) -> None:
    compiler = fake(tmp_path)
    code = (
        "import sys; from explorer.emulator import compiler as cc; "
        "cc.prepare(cc.Compiler((sys.argv[1],), 'gcc', 'one'))"
    )
    others = [subprocess.Popen([sys.executable, "-c", code, compiler.command[0]]) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        for job in [pool.submit(cc.prepare, compiler) for _ in range(2)]:
            job.result()
    assert [other.wait(60) for other in others] == [0, 0]
    done = calls.read_text().splitlines()
    assert sum("c++-header" in line for line in done) == 2
    assert sum("runtime.cc" in line for line in done) == 1
    assert sum("-shared" in line for line in done) == 1
    assert len(done) == 4


def test_a_process_forked_meanwhile_holds_nothing(calls: Path, tmp_path: Path) -> None:
    out = tmp_path / "made"
    with kept.alone(out):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(write)
            os.read(read, 1)  # until the other end closes
            os._exit(0)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_take, out).result(30)
    os.close(write)
    os.close(read)
    assert os.waitpid(pid, 0)[1] == 0


def _take(out: Path) -> None:
    with kept.alone(out):
        pass


def test_another_version_prepares_again(calls: Path, tmp_path: Path) -> None:
    first = fake(tmp_path)
    cc.prepare(first)
    cc.prepare(first)
    assert len(calls.read_text().splitlines()) == 4
    cc.prepare(cc.Compiler(first.command, "gcc", "two"))
    assert len(calls.read_text().splitlines()) == 8


def test_a_failed_preparation_is_tried_again(calls: Path, tmp_path: Path) -> None:
    broken = fake(tmp_path, "#!/bin/sh\necho 'error: no room' >&2\nexit 1\n")
    with pytest.raises(cc.CompileFailed, match="no room"):
        cc.prepare(broken)
    cc.prepare(fake(tmp_path))
    assert len(calls.read_text().splitlines()) == 4


def test_why_no_compiler_will_do(
    calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = fake(tmp_path, "#!/bin/sh\necho 'error: no room' >&2\nexit 1\n")
    monkeypatch.setattr("shutil.which", lambda name: broken.command[0] if name == "g++" else None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    cc._tried.cache_clear()
    try:
        assert cc.find_compiler() is None
        assert cc.no_compiler() == f"{cc.NO_COMPILER}; compiler was tried: error: no room"
    finally:
        cc._tried.cache_clear()
