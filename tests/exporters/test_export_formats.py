"""TVMScript, CUDA, trace and experiment: each is read back where it can be."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from explorer.engine.export import export
from explorer.errors import BuildError
from explorer.experiment import Experiment, parse
from explorer.model.loaded import Source
from explorer.model.target import Target

Make = Callable[..., Experiment]


def test_tvmscript_opens_here_again(experiment: Make, target: Target) -> None:
    from explorer.engine.load import load

    made = export(experiment("10", "default_gpu"), "mine", "tvmscript", target)
    assert made.text.startswith("# Trial: schedule mine")
    assert 'T.thread_binding(1024, thread="threadIdx.x")' in made.text
    again = load(Source(made.text))
    assert [function.name for function in again.nest.functions] == ["main"]
    assert made.verified.startswith("Parsed again")


def test_cuda_tells_how_it_is_launched(experiment: Make, target: Target) -> None:
    made = export(experiment("24", "default_gpu"), "mine", "cuda", target)
    assert "// Launch gpu_add_kernel<<<(1, 1, 1), (256, 1, 1)>>>" in made.text
    assert made.name.endswith(".cu")


def test_there_is_no_cuda_file_without_a_kernel(experiment: Make, target: Target) -> None:
    with pytest.raises(BuildError, match="There is no CUDA source") as refused:
        export(experiment("10"), "mine", "cuda", target)
    assert "i, j, k are unbound" in refused.value.problem.why


def test_the_trace_replays(experiment: Make, target: Target) -> None:
    made = export(experiment("60", "sched"), "mine", "trace", target)
    assert made.verified.startswith("Replayed on the original module")
    assert json.loads(made.text)


def test_the_experiment_comes_back_as_it_was(experiment: Make, target: Target) -> None:
    kept = experiment("51", "sched", {"n": 3})
    made = export(kept, "mine", "experiment", target)
    assert parse(made.text.encode()) == kept
