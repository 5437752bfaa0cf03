"""Save a variant as a file that was shown to reproduce it; one that does not is not offered."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import tvm_ffi
from tvm import ir, s_tir
from tvm.script import from_source

from explorer import __version__
from explorer.engine import disk_cache
from explorer.engine.build import build_module
from explorer.engine.load import load, module
from explorer.engine.lower import LOWERING_ERRORS
from explorer.engine.replay import scheduled
from explorer.errors import BuildError, UserError
from explorer.experiment import Experiment
from explorer.exporters import FORMATS, Material
from explorer.model.target import Target
from explorer.model.view import Exported

RUN_TIMEOUT_S = 120


def export(
    experiment: Experiment, variant: str, fmt: str, target: Target, check: str = ""
) -> Exported:
    """The variant as a file of format `fmt`; `check` is what is known of its results, in words.

    Raises UserError for unknown names, BuildError when the file would not reproduce the variant.
    """
    if fmt not in FORMATS:
        raise UserError(f"There is no format {fmt}.", f"There are: {', '.join(FORMATS)}.")
    chosen = experiment.variant(variant)
    if chosen is None:
        names = ", ".join(each.name for each in experiment.variants)
        raise UserError(f"There is no variant {variant}.", f"There are: {names}.")
    live, nest = scheduled(experiment.source, chosen.steps)
    material = Material(
        experiment=experiment,
        variant=chosen,
        target=target,
        loaded=load(experiment.source),
        lines=tuple(live.lines),
        nest=nest,
        script=live.mod.script(),
        trace_json=_trace(live.sch),
        build=build_module(live.mod, nest, target, experiment.sizes),
        check=check,
        versions=(("TVM Schedule Explorer", __version__), *_versions()),
    )
    text = FORMATS[fmt].render(material)
    name = re.sub(r"\W+", "_", f"{material.loaded.module or 'module'}_{variant}").strip("_").lower()
    verified = _VERIFY[fmt](text, live.mod, module(experiment.source))
    return Exported(name=name + FORMATS[fmt].SUFFIX, text=text, verified=verified)


def _trace(sch: s_tir.Schedule) -> str:
    trace = sch.trace
    return "[]" if trace is None else ir.save_json(trace.as_json())


def _versions() -> tuple[tuple[str, str], ...]:
    found = []
    for package in ("apache-tvm", "numpy"):
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:
            continue
    return tuple(found)


def _same(one: ir.IRModule, other: ir.IRModule) -> bool:
    return bool(tvm_ffi.structural_equal(one, other))


def _script_reproduces(text: str, wanted: ir.IRModule, start: ir.IRModule) -> str:
    """Run the script in a new process and compare its module with `wanted`."""
    key = disk_cache.key("script", sys.version, text)
    made = disk_cache.load(key, str)
    if made is None:
        made = run_script(text)
        disk_cache.store(key, made)
    if not _same(ir.load_json(made), wanted):
        raise BuildError(
            "The script does not give the same module, so it is not offered.",
            "A step of this variant can't be said in Python that runs alone.",
            "Save the experiment or the TVMScript of the result instead.",
        )
    return "The script was run in a new process: its module is structurally equal to this variant."


def run_script(text: str) -> str:
    """The scheduled module that an exported script makes when it is run, as TVM's JSON.

    Raises BuildError when it fails or takes too long.
    """
    with tempfile.TemporaryDirectory() as folder:
        script, made = Path(folder, "schedule.py"), Path(folder, "module.json")
        script.write_text(text, encoding="utf-8")
        runner = [sys.executable, "-m", "explorer.engine.run_alone"]
        try:
            subprocess.run(
                [*runner, str(script), "--verify", str(made)],
                capture_output=True, text=True, timeout=RUN_TIMEOUT_S, check=True,
            )  # fmt: skip
            return made.read_text(encoding="utf-8")
        except subprocess.CalledProcessError as failed:
            lines = failed.stderr.strip().splitlines()
            raise BuildError(
                "The script does not run, so it is not offered.", lines[-1] if lines else "",
                "Save the experiment or the TVMScript of the result instead.",
                details=failed.stderr,
            ) from failed  # fmt: skip
        except subprocess.TimeoutExpired as late:
            raise BuildError(
                f"The script did not end within {RUN_TIMEOUT_S} s, so it is not offered."
            ) from late


def _tvmscript_reproduces(text: str, wanted: ir.IRModule, start: ir.IRModule) -> str:
    body = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    try:
        same = _same(from_source(body), wanted)
    except LOWERING_ERRORS as failure:
        raise BuildError(
            "TVM can't read back the TVMScript it printed for this variant.",
            do="Save the Python script instead.", details=str(failure),
        ) from failure  # fmt: skip
    if not same:
        raise BuildError(
            "The TVMScript that TVM prints for this variant reads back as another module.",
            do="Save the Python script instead.",
        )
    return "Parsed again: structurally equal to this variant."


def _trace_reproduces(text: str, wanted: ir.IRModule, start: ir.IRModule) -> str:
    sch = s_tir.Schedule(start)
    try:
        s_tir.schedule.Trace.apply_json_to_schedule(ir.load_json(text), sch)
        same = _same(sch.mod, wanted)
    except LOWERING_ERRORS as failure:
        raise BuildError(
            "TVM's trace of this variant does not run again.",
            do="Save the Python script instead.", details=str(failure),
        ) from failure  # fmt: skip
    if not same:
        raise BuildError(
            "TVM's trace does not say all steps of this variant.",
            "A step that is a whole pass leaves nothing in the trace.",
            "Save the Python script instead.",
        )
    return "Replayed on the original module: structurally equal to this variant."


def _as_generated(text: str, wanted: ir.IRModule, start: ir.IRModule) -> str:
    return "As TVM generated it for this variant."


def _derived(text: str, wanted: ir.IRModule, start: ir.IRModule) -> str:
    return "Holds source, target, sizes and steps: everything else is derived from them."


_VERIFY = {
    "python": _script_reproduces,
    "tvmscript": _tvmscript_reproduces,
    "trace": _trace_reproduces,
    "cuda": _as_generated,
    "experiment": _derived,
}
