"""What every test may use, and what keeps tests from seeing each other's files."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from explorer.engine.warm import quick_inspect
from explorer.runners import local_cuda
from explorer.targets import local

ROOT = Path(__file__).parents[1]

os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")])
)
"""For programs that tests start."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Test files that import MetaSchedule bring TVM's intrinsics, which take 18 s without this."""
    with quick_inspect():
        return (yield)


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Results on disk of earlier runs are not seen; workers started by tests inherit this."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(autouse=True, scope="session")
def _workers_end() -> object:
    """The program's own workers, if a test started them, end with the session."""
    yield
    client = sys.modules.get("explorer.worker.client")
    if client is not None:
        client.close()


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process sees no local GPU.  PATH stays: the workers it may start need their compiler."""
    monkeypatch.setattr(local, "detect", lambda: ())
    monkeypatch.setattr(local_cuda, "detect", lambda: ())
