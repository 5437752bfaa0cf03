"""A tuning job followed to its end: a line on a terminal, or its events as JSON lines."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from explorer import cli_tune_text, tunes
from explorer.cli_inputs import print_json
from explorer.errors import UserError
from explorer.tuning.folder import Folder, Reader
from explorer.tuning.summary import Summary

LOOK_S = 0.1
INTERRUPTED = 130


def follow(path: Path, *, lines: bool) -> int:
    """Begin or go on with the job and tell what happens; the exit code.

    Raises UserError when it could not be worked on at all.
    """
    folder = Folder(path)
    summary, reader = Summary(folder.job()), Reader(folder)
    summary.add(reader.news())  # what an earlier process did
    show = _Lines(summary) if lines else _Bar(summary)
    interrupted = False
    tunes.begin(path)
    try:
        with _terminated_as_interrupted():
            while True:
                running = tunes.running(path)
                show.news(reader.news())
                if not running:
                    break
                time.sleep(LOOK_S)
    except KeyboardInterrupt:
        interrupted = True
        show.say("Stopping ...")
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it takes two seconds at most
        try:
            tunes.stop(path)
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        show.news(reader.news())
    show.end(path)
    end = summary.finished
    if end is not None and end.how == "failed" and not summary.candidates:
        raise UserError("The job could not be worked on.", end.reason)
    if interrupted:
        return INTERRUPTED
    found = any(summary.best(task.function) for task in summary.job.tasks)
    return 0 if found and (end is None or end.how != "failed") else 1


class _Lines:
    """Every event as a line of JSON, then one with the summary."""

    def __init__(self, summary: Summary) -> None:
        self._summary = summary

    def news(self, events: list[Any]) -> None:
        """Print them."""
        self._summary.add(events)
        for event in events:
            sys.stdout.write(msgspec.json.encode(event).decode() + "\n")
        sys.stdout.flush()

    def say(self, words: str) -> None:
        """For people only."""

    def end(self, path: Path) -> None:
        """Print the summary."""
        print_json({"summary": cli_tune_text.summary(self._summary, path)}, compact=True)


class _Bar:
    """One line on the terminal, kept up to date; then a table."""

    def __init__(self, summary: Summary) -> None:
        self._summary = summary
        self._shown = ""

    def news(self, events: list[Any]) -> None:
        """Bring the line up to date."""
        self._summary.add(events)
        self.say(cli_tune_text.progress(self._summary, time.time()))

    def say(self, words: str) -> None:
        """Put words in place of the line."""
        if words != self._shown:
            sys.stderr.write("\r" + words.ljust(len(self._shown)))
            sys.stderr.flush()
            self._shown = words

    def end(self, path: Path) -> None:
        """Leave the line and print what came of it."""
        sys.stderr.write("\n")
        print(cli_tune_text.report(self._summary, path))


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM stops and keeps, as Ctrl-C does."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
