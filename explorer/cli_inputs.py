"""What arguments of the command line name: modules, schedules, variants, sizes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import msgspec

from explorer import workbench
from explorer.cli_options import DEFAULT_WITH, FORMS
from explorer.comparison import ORIGINAL
from explorer.errors import ExperimentError, LoadError, UserError
from explorer.experiment import Experiment, parse
from explorer.model.loaded import Loaded, Source
from explorer.model.view import Exported
from explorer.targets import DEFAULT


class Usage(Exception):
    """The command line is wrong; shown with the usage, exit code 2."""


def experiment_of(path: str) -> Experiment:
    """What a MODULE argument names: an experiment file, or a text ("-" is standard input).

    Raises LoadError when it can't be read.
    """
    text = read_text(path)
    if text.lstrip().startswith("{"):
        try:
            return parse(text.encode())
        except ExperimentError:
            if path.endswith(".json"):
                raise
    return Experiment(source=Source(text), target=DEFAULT)


def read_text(path: str) -> str:
    """A file's text, "-" for standard input.  Raises LoadError."""
    try:
        if path == "-":
            return sys.stdin.read()
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise LoadError(f"{path} is not text.", str(error), "Save it as UTF-8.") from error
    except OSError as error:
        raise LoadError(f"{path} can't be read.", f"{error.strerror}.") from error


def named_schedule(given: str) -> tuple[str, str]:
    """A --schedule argument: the variant's name and the file's text."""
    name, equals, path = given.partition("=")
    if not (name and equals and path):
        raise Usage(f"--schedule takes NAME=FILE, not {given}")
    return name, read_text(path)


def sizes_of(given: list[str], loaded: Loaded) -> dict[str, int]:
    """Symbolic sizes of a module from --size arguments.  Raises Usage."""
    sizes = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name.isidentifier() and equals and value.strip().isdigit()):
            raise Usage(f"--size takes NAME=NUMBER, e.g. n=128, not {text}")
        if name not in loaded.symbols:
            known = ", ".join(loaded.symbols) or "fixed sizes only"
            raise Usage(f"the module has no size {name}; it has {known}")
        sizes[name] = int(value)
    return sizes


def default_names(experiment: Experiment, target: str) -> tuple[str, ...]:
    """The variants that are meant where none are named."""
    if experiment.variants:
        return tuple(variant.name for variant in experiment.variants)
    if workbench.resolve(target).kind == "llvm":
        return (ORIGINAL,)  # the automatic ways are for GPUs
    return DEFAULT_WITH


def check_names(names: Any, known: Any) -> None:
    """Raises Usage for a name that is no strategy and none of `known`."""
    strategies = workbench.strategies()
    allowed = [ORIGINAL, *strategies, *known]
    for name in names:
        if name not in allowed:
            raise Usage(f"there is no variant {name}; there are {', '.join(allowed)}")


def needs_intrinsics(names: Any, texts: list[str]) -> bool:
    """Whether importing TVM's intrinsics up front pays: it takes seconds, later even longer."""
    return any(name not in (ORIGINAL, "default_gpu") for name in names) or any(
        "tensorize" in text for text in texts
    )


def print_json(value: Any, *, compact: bool = False) -> None:
    """One JSON value on standard output, `compact` on one line."""
    text = msgspec.json.encode(value)
    shown = text if compact else msgspec.json.format(text, indent=2)
    sys.stdout.write(shown.decode() + "\n")


def write_export(made: Exported, options: argparse.Namespace, form: str, note: str = "") -> None:
    """Write an exported variant to `--output`, and say how it was shown to be right."""
    out = options.output or made.name
    if out == "-":
        print(made.text, end="")
    else:
        try:
            Path(out).write_text(made.text, encoding="utf-8")
        except OSError as failure:
            raise UserError(f"{out} can't be written.", f"{failure.strerror}.") from failure
    said = " ".join(filter(None, (made.verified, note)))
    if options.json:
        print_json({"file": out, "verified": said})
    elif out != "-":
        print(f"{out}: {said}")
        if form == FORMS[0]:
            print(f"Run it: python {out}")
