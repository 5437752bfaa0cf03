"""A forked child: answers the requests of one connection, one after another, with the engine.

The only caller of `explorer.engine`.  Functions are named, not imported, so that a module that
fails to import costs its own verbs only.
"""

from __future__ import annotations

import errno
import faulthandler
import importlib
import inspect
import os
import signal
import socket
import traceback
import typing
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import msgspec

from explorer.engine import progress
from explorer.errors import Problem, UserError
from explorer.primitives import AnyStep, Step
from explorer.worker import frames

Table = dict[str, str]
"""Verb -> "package.module:function".  The function's annotations say what its arguments are."""

ANSWERS: Table = {
    "load": "explorer.engine.load:load",
    "view": "explorer.engine.replay:view",
    "fix_sizes": "explorer.engine.fix_sizes:fix_sizes",
    "propose": "explorer.engine.propose:propose",
    "read_schedule": "explorer.engine.read_schedule:read_schedule",
    "build": "explorer.engine.build:build",
    "static_checks": "explorer.engine.build:static_checks",
    "compile_check": "explorer.engine.compile_check:compile_check",
    "analyse": "explorer.engine.analyse:analyse_variant",
    "check": "explorer.engine.check:check",
    "race": "explorer.engine.race:race",
    "export": "explorer.engine.export:export",
    "tune": "explorer.engine.tuning.job:tune",
    "candidate": "explorer.engine.tuning.candidate:candidate",
    "records": "explorer.engine.tuning.records:records",
    "read_record": "explorer.engine.tuning.records:read_record",
    "import_records": "explorer.engine.tuning.importing:import_records",
    "cuda_tags": "explorer.engine.targets:cuda_tags",
    "strategies": "explorer.engine.propose:strategies",
    "tools": "explorer.engine.doctor:tools",
}

_COMPILER = {"tvm", "tvm_ffi"}


def load_table(spec: str) -> Table:
    """The table named "package.module:NAME"."""
    module, _, name = spec.partition(":")
    table: Table = getattr(importlib.import_module(module), name)
    return table


def import_modules(table: Table) -> None:
    """Import every module of the table, before anything is forked.

    One that fails is left to the first request for it, which reports the traceback.
    """
    for module in sorted({target.partition(":")[0] for target in table.values()}):
        _try(partial(importlib.import_module, module))


def warm_up(spec: str) -> None:
    """Call the function named "package.module:name", which makes later requests faster."""
    module, _, name = spec.partition(":")
    _try(lambda: getattr(importlib.import_module(module), name)())


def _try(action: Callable[[], object]) -> None:
    """What fails while warming up fails again in the request that needs it, and is told there."""
    try:
        action()
    except Exception:  # noqa: BLE001
        traceback.print_exc()


def serve(connection: socket.socket, answers: str, answer_bytes: int, *, warm: bool) -> None:
    """Greet, then answer until the client closes or sends something that is no frame."""
    faulthandler.enable()  # where we were, should TVM crash
    faulthandler.register(signal.SIGUSR1, all_threads=False)  # or hang: the client asks
    table = load_table(answers)
    frames.send(connection, frames.Hello(os.getpid(), warm))
    while (data := frames.receive_bytes(connection)) is not None:
        os.ftruncate(2, 0)  # the log holds the last request only
        with progress.told_to(partial(_so_far, connection)):
            reply = _reply(table, data, answer_bytes)
        frames.send(connection, reply)
        if reply.retire:
            return


def _so_far(connection: socket.socket, value: Any) -> None:
    """Send what a request has found so far."""
    so_far = msgspec.Raw(msgspec.json.encode(value, enc_hook=_plain))
    frames.send(connection, frames.Reply(so_far=so_far))


def _reply(table: Table, data: bytes, answer_bytes: int) -> frames.Reply:
    request = frames.decode(data, frames.Request)
    try:
        answer = msgspec.json.encode(_call(table, request), enc_hook=_plain)
    except UserError as error:
        return frames.Reply(problem=error.problem)
    except Exception as error:  # noqa: BLE001  a bug: it crosses the boundary as its traceback
        if isinstance(error, MemoryError) or "std::bad_alloc" in str(error):
            return _over("It needed more memory than one request may have.", retire=True)
        if isinstance(error, OSError) and error.errno == errno.EFBIG:
            return _over("It wrote more than one request may write.", retire=True)
        if isinstance(error, ImportError) and (error.name or "").partition(".")[0] in _COMPILER:
            return frames.Reply(problem=_no_compiler(error))
        return frames.Reply(bug=traceback.format_exc())
    if len(answer) > answer_bytes:
        size = f"{len(answer) >> 20} MB, {answer_bytes >> 20} MB are allowed"
        return _over(f"The answer is too large ({size}).", retire=False)
    return frames.Reply(ok=msgspec.Raw(answer))


def _plain(value: Any) -> str:
    """TVM's names are a subclass of str, which is no JSON yet."""
    if isinstance(value, str):
        return str.__str__(value)
    raise TypeError(f"{type(value).__name__} can't leave the worker")


def _over(why: str, *, retire: bool) -> frames.Reply:
    problem = Problem(
        kind="WorkerDied", what="TVM went over a limit.", why=why, do="Your steps are all there."
    )
    return frames.Reply(problem=problem, retire=retire)


def _no_compiler(error: ImportError) -> Problem:
    return Problem(
        kind="ToolMissing",
        what="TVM can't be imported.",
        why=f"{error}.",
        do="Install the packages of requirements.txt into this Python.",
    )


def _call(table: Table, request: frames.Request) -> Any:
    if request.verb not in table:
        raise LookupError(f"no verb {request.verb!r}")
    function, types = _function(table[request.verb])
    if len(request.args) > len(types):
        raise TypeError(f"{request.verb} takes {len(types)} arguments, not {len(request.args)}")
    pairs = zip(request.args, types, strict=False)
    return function(*(msgspec.convert(arg, kind) for arg, kind in pairs))


@lru_cache
def _function(target: str) -> tuple[Any, list[Any]]:
    """The function and the types of its positional parameters, in order."""
    module, _, name = target.partition(":")
    function = getattr(importlib.import_module(module), name)
    hints = typing.get_type_hints(function)
    names = inspect.signature(function).parameters
    return function, [_wire_type(hints.get(parameter, Any)) for parameter in names]


def _wire_type(hint: Any) -> Any:
    """The engine says `Step` for any primitive; on the wire that is the union of all of them."""
    return tuple[AnyStep, ...] if hint == tuple[Step, ...] else hint
