"""Loading: a text becomes a TVM module.  The allow-list has run before TVM sees anything."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TypeVar

import msgspec
from tvm import ir, script, tirx
from tvm.error import DiagnosticError, InternalError
from tvm.script.parser import ir as ir_parser
from tvm.script.parser import relax as relax_parser
from tvm.script.parser import tirx as tirx_parser

from explorer.dialect import Prepared, prepare, relax_note, without_relax
from explorer.errors import LoadError
from explorer.model.loaded import Loaded, Source

PARSE_FAILURES = (
    DiagnosticError,
    InternalError,
    TypeError,
    ValueError,
    AttributeError,
    RecursionError,
)
"""What TVM's parser raises for a text that it can't read."""


def load(source: Source) -> Loaded:
    """The module of a text with everything the user should know about it.

    Raises LoadError, with the user's line, when the text is not a module TVM can read.
    """
    # Imported here: extracting needs the schedule primitives, which loading itself does not.
    from explorer.engine.extract import nest_of

    prepared, mod = _parsed(source)
    nest = nest_of(mod, mod.script())
    symbols = dict.fromkeys(name for func in nest.functions for name in func.symbols)
    return Loaded(
        module=prepared.module,
        modules=prepared.modules,
        text=prepared.script.text + "\n",
        original=source.text,
        migrations=prepared.migrations,
        notes=prepared.notes,
        constants=prepared.constants,
        schedule=prepared.schedule,
        nest=nest,
        symbols=tuple(symbols),
    )


def module(source: Source) -> ir.IRModule:
    """The module alone, parsed once per source; a copy that may be changed.  Raises LoadError."""
    return _parsed(source)[1].clone()


@lru_cache(maxsize=64)
def _parsed(source: Source) -> tuple[Prepared, ir.IRModule]:
    prepared = prepare(source.text, source.module)
    try:
        return prepared, _parse(prepared)
    except LoadError as error:
        script_alone = without_relax(prepared.script)
        if script_alone is None:
            raise
        reduced = msgspec.structs.replace(
            prepared, script=script_alone, notes=(*prepared.notes, relax_note(error))
        )
        try:
            return reduced, _parse(reduced)
        except LoadError:
            raise error from None


def _parse(prepared: Prepared) -> ir.IRModule:
    """TVM's parser on checked text, with I, T and R in scope and nothing else."""
    # TypeVar is only reached by the size declarations that the allow-list let pass.
    names = {"I": ir_parser, "T": tirx_parser, "R": relax_parser, "TypeVar": TypeVar}
    try:
        with _deep():
            mod = script.from_source(prepared.script.text, extra_vars=names)
    except PARSE_FAILURES as error:
        raise explain(str(error), prepared, type(error).__name__) from error
    _check_names(mod)
    return mod


def _check_names(mod: ir.IRModule) -> None:
    """A module must hold something to look at."""
    if not list(mod.get_global_vars()):
        raise LoadError(
            "The module has no functions.",
            do="Add a function under @T.prim_func(s_tir=True), or pick a sample to see one.",
        )
    if not any(isinstance(func, tirx.PrimFunc) for func in mod.functions.values()):
        raise LoadError(
            "The module has Relax functions only.",
            "What is scheduled are PrimFuncs, and there are none before LegalizeOps.",
            "Run relax.transform.LegalizeOps() where the module comes from, and paste the result.",
        )


@contextmanager
def _deep() -> Iterator[None]:
    """Room for TVM's recursive parser: about ten Python frames per level of an expression."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 10_000))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


# What TVM says, as one sentence and what to write instead.  Groups of the pattern fill in {0}, {1}.
_SAID: tuple[tuple[str, str, str], ...] = (
    (
        r"Undefined variable: (\w+)",
        "{0} is not defined where it is used.",
        "Define it before this line, or check its spelling.",
    ),
    (r"unknown dtype `?([\w.]+)`?", "{0} is not a data type.", 'Write one such as "float32".'),
    (
        r"has no attribute '(\w+)'",
        "{0} does not exist in TVM 0.27.",
        "Write it with what TVM 0.27 has.",
    ),
    (
        r"[Dd]imension mismatch|ndim|[Ii]ndices.{0,40}(?:size|number|dimension)|"
        r"expects? \d+ (?:indices|dimensional)",
        "The number of indices does not fit the buffer.",
        "Write one index per dimension of the buffer.",
    ),
    (
        r"Expect the for loop to be one of",
        "This is not a loop of TVMScript.",
        "Loop over range, T.grid, T.serial, T.parallel, T.vectorized"
        ", T.unroll or T.thread_binding.",
    ),
    (
        r"not enough values to unpack|too many values to unpack|does not support subscript|"
        r"kinds\.size\(\) == bindings",
        "The number of names does not fit the number of loops or axes.",
        "Write as many names as there are extents.",
    ),
    (
        r"buffer (\w+) is used at .* without a prior",
        "{0} is used without being declared as a buffer.",
        "Declare it with T.sblock_alloc_buffer, T.match_buffer or T.decl_buffer before.",
    ),
    (
        r"[Vv]ariable (\S+?) (?:has been|was|is) (?:already|multiple)|"
        r"multiple definitions of (\w+)",
        "{0} is defined twice.",
        "Give the two different names.",
    ),
    (
        r"(?:TIR is ill-formed|not well-formed)[^\n]*?undefined variable (\w+)|"
        r"[Ii]nvalid use of undefined variable (\w+)",
        "{0} is used outside the loop or block that defines it.",
        "Use it inside, or define it there.",
    ),
    (
        r"already (?:exists|defined)[^\n]*",
        "A name is defined twice.",
        "Give the two different names.",
    ),
    (
        r"dtype mismatch|type mismatch|must have the same (?:d)?type|mismatched types",
        "Two values have different data types.",
        "Convert one with T.Cast(dtype, value).",
    ),
    (
        r"got an unexpected keyword argument '(\w+)'",
        "TVM 0.27 does not know the argument {0} here.",
        "Remove it.",
    ),
    (
        r"missing (?:a|\d+) required (?:positional )?arguments?: ([^\n]*)",
        "An argument is missing: {0}.",
        "Add it.",
    ),
    (
        r"takes (?:from )?[\d to]+ positional arguments? but (\d+)",
        "There are too many arguments.",
        "Remove what is too much.",
    ),
    (
        r"maximum recursion depth",
        "The module is nested too deeply for TVM's parser.",
        "Split long expressions into several statements.",
    ),
)


def explain(said: str, prepared: Prepared, kind: str = "") -> LoadError:
    """TVM's diagnostic as a LoadError at the user's line; its text is kept as details."""
    at = re.search(r"--> [^\n:]*:(\d+):\d+", said)
    line = prepared.script.line(int(at[1])) if at else None
    message = re.split(r"\n --> ", said, maxsplit=1)[0].removeprefix("error: ").strip()
    ill_formed = "not well-formed" in message
    if ill_formed:
        message = message.partition("Traceback: ")[2].strip() or message
        line = None
    for pattern, what, do in _SAID:
        found = re.search(pattern, message)
        if found:
            groups = [group for group in found.groups() if group] or [""]
            if ill_formed:
                line = _line_of(groups[0], prepared)
            return LoadError(what.format(*groups), "", do, line=line, details=said)
    first = next((ln.strip() for ln in message.splitlines() if ln.strip()), kind)
    reason = re.sub(r"Check failed: \(.*?\) is false:?\s*", "", first)
    reason = re.sub(r"<root>[\w.\[\]()\"]*", "the function", reason)
    where = "The module is not well-formed." if ill_formed else "TVM can't read this line."
    return LoadError(
        where,
        f"TVM says: {reason[:300]}",
        "Compare it with a sample, or with what mod.script() prints in TVM 0.27.",
        line=line,
        details=said,
    )


def _line_of(name: str, prepared: Prepared) -> int | None:
    """The user's line that first mentions a name, for complaints that come without one."""
    if not name:
        return None
    for n, (text, _) in enumerate(prepared.script.lines(), start=1):
        if re.search(rf"\b{re.escape(name)}\b", text):
            return prepared.script.line(n)
    return None
