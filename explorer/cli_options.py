"""The options of the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import NoReturn, get_args

from explorer import __version__
from explorer.model.race import Method
from explorer.targets import DEFAULT
from explorer.tuning.job import CostModel, Runner, Strategy

DEFAULT_WITH = ("original", "default_gpu", "dlight")
FORMS = ("python", "tvmscript", "cuda", "trace", "experiment")
MODULE = 'a text with a TensorIR module, an experiment file, or "-" for standard input'
MOST_VALUES, LARGEST = 12, 1 << 20
"""Of one sweep."""
TUNED = "the best of a work dir or database (or candidate or record N of it)"
RECORDS = "What is in a work dir or database of TVM's: list, export, import."

Run = Callable[[argparse.Namespace], int]


def make_parser(run: dict[str, Run]) -> argparse.ArgumentParser:
    """The parser; `run` says what each verb calls."""
    parser = _Parser(prog="python -m explorer", description="Schedule TensorIR modules for CUDA.")
    parser.add_argument("--version", action="version", version=__version__)
    verbs = parser.add_subparsers(required=True, metavar="|".join(run))

    def verb(name: str, about: str, nargs: str | None = None) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=about, description=about)
        added.add_argument("module", metavar="MODULE", nargs=nargs, help=MODULE)
        added.add_argument("--json", action="store_true", help="print JSON")
        added.set_defaults(run=run[name])
        return added

    verb("open", "Load a module: what was changed, and its loop nest.")
    made = verb("compare", "Build variants side by side.")
    _variants(made)
    made.add_argument("--time", action="store_true", help="time them too (options as of time)")
    _race(made)
    timed = verb("time", "Time variants against each other, here or on a remote device.")
    _variants(timed)
    _race(timed)
    over = verb("sweep", "Time variants over a range of a size: who wins where.")
    over.add_argument(
        "--over", required=True, type=_range, metavar="NAME=V1,V2,...",
        help="a symbolic size, or a number that is replaced wherever it stands in the text",
    )  # fmt: skip
    _variants(over)
    _race(over)
    for name, about in (
        ("history", "Time a variant after each of its steps: what each one changed."),
        ("ablation", "Time a variant without each of its steps: what each one is worth."),
    ):
        steps = verb(name, about)
        _variant(steps)
        _race(steps)
    out = verb("export", "Save a variant as a file that reproduces it.")
    _variant(out)
    out.add_argument("-o", "--output", metavar="OUT", help='the file to write, "-" to print it')
    out.add_argument("--format", choices=FORMS, default=FORMS[0], help="default %(default)s")
    sick = verb(
        "doctor",
        "What is installed; or what keeps MODULE (a module, or an error text with or without one)"
        " from being a kernel, with cures that were tried.",
        "?",
    )
    _common(sick, function=False)
    _tune(verb("tune", "Search for fast schedules; the work dir keeps everything.", "?"))
    kept = verbs.add_parser("records", help=RECORDS, description=RECORDS)
    kept.set_defaults(run=run["records"])
    _records(kept)
    return parser


def _variants(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--with", dest="with_", type=_names, metavar="NAMES",
        help=f"variants, by comma (default {','.join(DEFAULT_WITH)})",
    )  # fmt: skip
    verb.add_argument(
        "--schedule", action="append", default=[], metavar="NAME=FILE",
        help="a schedule (Python or JSON trace) as one more variant",
    )  # fmt: skip
    verb.add_argument("--tuned", action="append", default=[], metavar="D[#N]", help=TUNED)
    _common(verb)


def _variant(verb: argparse.ArgumentParser) -> None:
    which = verb.add_mutually_exclusive_group(required=True)
    which.add_argument("--with", dest="with_", metavar="NAME", help="a strategy or a variant")
    which.add_argument("--schedule", metavar="FILE", help="a schedule (Python or JSON trace)")
    which.add_argument("--tuned", metavar="D[#N]", help=TUNED)
    _common(verb)


def _tune(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--work-dir", metavar="D", required=True, help="the folder of the job")
    verb.add_argument("--resume", action="store_true", help="go on with the job in D")
    _target(verb)
    verb.add_argument("--runner", choices=get_args(Runner), help="where to time (by target)")
    verb.add_argument("--trials", type=_count, metavar="N", help="candidates to build (default 64)")
    verb.add_argument("--minutes", type=_minutes, metavar="M", help="the most it may take")
    verb.add_argument(
        "--func", action="append", default=[], metavar="NAME[=WEIGHT]",
        help="a function to tune, and its share of the trials (default: all, alike)",
    )  # fmt: skip
    verb.add_argument(
        "--size", metavar="N=128", action="append", default=[], help="a symbolic size"
    )
    verb.add_argument(
        "--with", dest="with_", type=_names, metavar="NAMES",
        help="variants to measure beside the candidates, by comma",
    )  # fmt: skip
    search = verb.add_argument_group("search")
    search.add_argument("--strategy", choices=get_args(Strategy))
    search.add_argument("--cost-model", choices=get_args(CostModel))
    search.add_argument("--seed", type=int, metavar="S")
    search.add_argument("--top", type=_count, metavar="K", help="how many to check at the end")
    search.add_argument(
        "--start", action="append", default=[], metavar="VARIANT",
        help="start from the decisions of a strategy or a variant",
    )  # fmt: skip
    search.add_argument(
        "--schedule", action="append", default=[], metavar="FILE",
        help="start from the decisions of a schedule (Python or JSON trace)",
    )  # fmt: skip
    for name in ("without", "with"):
        search.add_argument(
            f"--{name}-rule", action="append", default=[], metavar="RULE",
            help=f"TVM's schedule rules, {name} this one",
        )  # fmt: skip
    _devices(verb.add_argument_group("device"))


def _records(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("path", metavar="D", help="a folder, or one of its two files")
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.add_argument("--module", metavar="MODULE", help=f"the function is in {MODULE}")
    what = verb.add_mutually_exclusive_group()
    what.add_argument("--export", metavar="N", help='a record by its line, or "best"')
    what.add_argument("--import", dest="into", metavar="DIR", help="make a tuning job of it")
    _target(verb)
    verb.add_argument("--func", metavar="NAME", default="", help="the function it is for")
    verb.add_argument(
        "--as", dest="format", choices=(*FORMS, "json"), default=FORMS[0],
        help="default %(default)s; json is TVM's trace",
    )  # fmt: skip
    verb.add_argument("-o", "--output", metavar="FILE", help='the file to write, "-" to print it')


def _race(verb: argparse.ArgumentParser) -> None:
    usual = Method()
    group = verb.add_argument_group("timing")
    group.add_argument("--runner", default="", help="llvm, local_cuda or rpc (default: by target)")
    _devices(group)
    group.add_argument(
        "--cache", choices=("warm", "flushed"), default=usual.cache,
        help="last-level cache before each call (default %(default)s)",
    )  # fmt: skip
    group.add_argument(
        "--budget", type=_seconds, default=usual.budget_s, metavar="S",
        help="seconds to time for (default %(default)g)",
    )  # fmt: skip
    group.add_argument(
        "--baselines", action="store_true",
        help="race what installed libraries (NumPy, PyTorch, CuPy) have for the same work, too",
    )  # fmt: skip


def _devices(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--device", type=int, default=0, metavar="N", help="which GPU (default 0)")
    group.add_argument("--rpc", default="", metavar="HOST:PORT", help="a TVM RPC server")
    group.add_argument("--tracker", default="", metavar="HOST:PORT", help="a TVM RPC tracker")
    group.add_argument("--key", default="", help="the tracker's key: all its devices are used")
    group.add_argument(
        "--host-triple", default="", metavar="TRIPLE",
        help="the server's LLVM triple, where it can't tell it itself",
    )  # fmt: skip
    group.add_argument(
        "--again", action="store_true", help="use a device that was lost a short while ago"
    )


def _range(text: str) -> tuple[str, tuple[int, ...]]:
    name, _, given = text.partition("=")
    values = tuple(dict.fromkeys(part.strip() for part in given.split(",")))
    if not (name.isidentifier() or name.isdigit()) or not all(
        each.isdecimal() and 0 < int(each) <= LARGEST for each in values
    ):
        raise argparse.ArgumentTypeError(f"NAME=V1,V2,... with sizes from 1 to {LARGEST}")
    if len(values) > MOST_VALUES:
        raise argparse.ArgumentTypeError(f"these are {len(values)} sizes, at most {MOST_VALUES}")
    return name, tuple(map(int, values))


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.1 <= value <= 600:
        raise argparse.ArgumentTypeError("seconds from 0.1 to 600")
    return value


def _count(text: str) -> int:
    if not (text.isdigit() and 1 <= int(text) <= 1_000_000):
        raise argparse.ArgumentTypeError("a number from 1 to 1000000")
    return int(text)


def _minutes(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 60 * 24 * 30:
        raise argparse.ArgumentTypeError("minutes, more than 0 and at most 30 days")
    return value


def _common(verb: argparse.ArgumentParser, *, function: bool = True) -> None:
    _target(verb)
    if function:
        verb.add_argument("--func", metavar="NAME", default="", help="only this function")
    verb.add_argument(
        "--size", metavar="N=128", action="append", default=[], help="a symbolic size"
    )


def _target(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--target", metavar="TAG", default="", help=f"what to build for (default {DEFAULT})"
    )


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise argparse.ArgumentTypeError("it names no variant")
    return names


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line under the usage."""

    def error(self, message: str) -> NoReturn:
        """End with exit code 2."""
        self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: {message}\n")
