"""`records`: a database listed, one record of it exported, or all of it made a tuning job."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from explorer import cli_tune_text, tunes, workbench
from explorer.cli_inputs import Usage, experiment_of, print_json, write_export
from explorer.errors import ExperimentError, UserError
from explorer.experiment import Experiment, Variant
from explorer.model.loaded import Source
from explorer.tuning.records import Records, TuningRecord


def records(options: argparse.Namespace) -> int:
    """Run the command."""
    workbench.start(warm=False)
    if options.into:
        return _import(options)
    found = workbench.records(options.path)
    if options.export:
        return _export(options, found)
    if options.json:
        print_json(msgspec.to_builtins(found))
    else:
        print(cli_tune_text.records(found, options.path))
    return 0


def _export(options: argparse.Namespace, found: Records) -> int:
    record = _chosen(options.export, found)
    workload = found.workload(record.workload)
    if options.module:
        experiment = experiment_of(options.module)
    elif workload is not None and workload.script:
        experiment = Experiment(source=Source(workload.script), title=workload.function)
    else:
        raise ExperimentError(
            f"The function of record {record.number} can't be read.",
            "" if workload is None else workload.reason,
            "Name the module that has it with --module.",
        )
    proposal = workbench.read_record(
        experiment.source, (), options.path, record.number, options.func
    )
    if proposal.refusal is not None:
        raise UserError.of(proposal.refusal)
    name = f"record-{record.number}"
    target = options.target or record.target or experiment.target
    experiment = msgspec.structs.replace(experiment, target=target)
    experiment = experiment.put(Variant(name, workbench.steps_of(proposal)))
    form = "trace" if options.format == "json" else options.format
    made = workbench.export_experiment(experiment, name, form, check=proposal.note)
    write_export(made, options, form, note=proposal.note)
    return 0


def _chosen(text: str, found: Records) -> TuningRecord:
    """The record of that line, or the fastest of all."""
    if text == "best":
        timed = [each for each in found.records if each.us is not None]
        if not timed:
            raise ExperimentError("No record has a time.", do="Name one by its line.")
        if len({each.workload for each in timed}) > 1:
            raise Usage("--export best: there are several workloads; name a record by its line")
        return min(timed, key=lambda each: (each.us or 0.0, each.number))
    record = found.record(int(text)) if text.isdigit() else None
    if record is None:
        raise ExperimentError(
            f"There is no record {text}.", f"There are {len(found.records)}.",
            "Name one by its line, as the list shows it.",
        )  # fmt: skip
    return record


def _import(options: argparse.Namespace) -> int:
    source = experiment_of(options.module).source if options.module else None
    path, taken = tunes.import_folder(
        Path(options.path), source, options.target, Path(options.into).absolute()
    )
    if options.json:
        print_json({"work_dir": str(path), **msgspec.to_builtins(taken)})
        return 0
    print(f"{path}: {taken.candidates} candidates of {', '.join(taken.functions)}.")
    print("\n".join(taken.left_out) + "\n" * bool(taken.left_out), end="")
    print(f"Go on with it: {cli_tune_text.resume_command(path)}")
    return 0
