"""Experiments that survive a reload of the page and a restart of the server.

Each browser tab's experiment has a random id, which is in the page's address.  It is kept in
memory and written to one file in the user's state folder; the oldest are dropped.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import tempfile
from collections import OrderedDict
from pathlib import Path

from explorer.errors import ExperimentError
from explorer.experiment import Experiment, dump, parse

KEPT_IN_MEMORY = 64
KEPT_ON_DISK = 200
_ID = re.compile(r"[A-Za-z0-9_-]{16,40}")


def new_id() -> str:
    """A fresh, unguessable id."""
    return secrets.token_urlsafe(15)


def folder() -> Path:
    """Where experiments are kept: `$XDG_STATE_HOME/tvm-schedule-explorer`."""
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser() / "tvm-schedule-explorer"


class Shelf:
    """Experiments by id.  A disk that can't be written costs the restart, nothing else."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: OrderedDict[str, Experiment] = OrderedDict()

    def put(self, key: str, experiment: Experiment) -> None:
        """Keep an experiment under its id; writes only when it changed."""
        if not _ID.fullmatch(key) or self._known.get(key) == experiment:
            return
        self._known[key] = experiment
        self._known.move_to_end(key)
        while len(self._known) > KEPT_IN_MEMORY:
            self._known.popitem(last=False)
        with contextlib.suppress(OSError):
            self._write(key, dump(experiment))

    def get(self, key: str) -> Experiment | None:
        """The experiment of that id, or None when it is unknown or unreadable."""
        if not _ID.fullmatch(key):
            return None
        if key in self._known:
            return self._known[key]
        try:
            return parse((self._folder / f"{key}.json").read_bytes())
        except (OSError, ExperimentError):
            return None

    def _write(self, key: str, data: bytes) -> None:
        """Write whole or not at all; a file more drops the oldest."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=self._folder, suffix=".part")
        with os.fdopen(handle, "wb") as part:
            part.write(data)
        file = self._folder / f"{key}.json"
        known = file.exists()
        os.replace(name, file)
        if known:
            return
        files = sorted(self._folder.glob("*.json"), key=lambda p: p.stat().st_mtime, reverse=True)
        for old in files[KEPT_ON_DISK:]:
            old.unlink(missing_ok=True)
