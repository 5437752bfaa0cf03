"""Runners: the contract of the folder, which pairs work, and words for those that don't."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from types import ModuleType

import pytest

from explorer.engine import race, race_line
from explorer.engine.isolate import isolated
from explorer.errors import Refusal
from explorer.model.race import Where
from explorer.model.target import Target
from explorer.runners import RUNNERS, chosen, local_cuda, rpc
from explorer.targets.host import LLVM
from explorer.worker import limits

GPU = Target(tag="nvidia/geforce-rtx-4090", kind="cuda", arch="sm_89")


def test_the_folder_keeps_its_contract() -> None:
    assert set(RUNNERS) == {"llvm", "local_cuda", "rpc"}
    for runner in RUNNERS.values():
        assert isinstance(runner, ModuleType)
        assert runner.LABEL
        assert callable(runner.can_run)
        assert callable(runner.places)
        assert callable(runner.connect)
    assert "no authentication" in RUNNERS["rpc"].WARNING
    assert "ssh -L" in RUNNERS["rpc"].WARNING


def test_asking_what_can_run_needs_no_tvm() -> None:
    code = (
        "import sys; from explorer.runners import chosen; from explorer.model.race import Where;"
        "from explorer.targets.host import LLVM; chosen(Where(), LLVM); print('tvm' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("where", "target", "name"),
    [
        (Where(), LLVM, "llvm"),
        (Where(server="127.0.0.1:9090"), LLVM, "rpc"),
        (Where(tracker="127.0.0.1:9190", key="k"), GPU, "rpc"),
        (Where(runner="rpc"), GPU, "rpc"),
    ],
)
def test_the_runner_follows_from_the_target_and_the_address(
    where: Where, target: Target, name: str
) -> None:
    assert chosen(where, target) is RUNNERS[name]


@pytest.mark.parametrize(
    ("runner", "target", "words"),
    [
        ("llvm", GPU, "This machine's processor can't run code for nvidia/geforce-rtx-4090."),
        ("local_cuda", LLVM, "A GPU can't run code for llvm."),
        ("local_cuda", GPU, "No CUDA device on this machine."),
    ],
)
def test_pairs_that_can_not_work(
    runner: str, target: Target, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_cuda, "detect", lambda: ())
    refusal = chosen(Where(runner=runner), target)
    assert isinstance(refusal, Refusal)
    assert refusal.what == words
    assert refusal.do


def test_a_gpu_of_another_architecture_and_missing_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_cuda, "detect", lambda: (("NVIDIA T4", "sm_75"),))
    refusal = local_cuda.can_run(GPU)
    assert refusal is not None
    assert "NVIDIA T4 (sm_75)" in refusal.why
    monkeypatch.setattr(local_cuda, "detect", lambda: (("NVIDIA GeForce RTX 4090", "sm_89"),))
    monkeypatch.setattr(local_cuda.shutil, "which", lambda name: None)
    monkeypatch.setattr(local_cuda.importlib.util, "find_spec", lambda name: None)
    refusal = local_cuda.can_run(GPU)
    assert refusal is not None
    assert "pip install" in refusal.do
    monkeypatch.setattr(local_cuda.importlib.util, "find_spec", lambda name: "found")
    assert local_cuda.can_run(GPU) is None


@pytest.mark.parametrize(
    ("built_for", "device", "runs"),
    [("sm_89", "sm_89", True), ("sm_86", "sm_89", True), ("sm_89", "sm_86", False),
     ("sm_89", "sm_90", False), ("sm_90a", "sm_90", True), ("sm_100a", "sm_103", False)],
)  # fmt: skip
def test_which_binaries_a_gpu_runs(built_for: str, device: str, runs: bool) -> None:
    assert local_cuda.runs(built_for, device) is runs


def test_the_gpu_tells_clock_throttling_and_load(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {"clocks.sm": ["1980", "71", "0x0000000000000004", "85"]}
    monkeypatch.setattr(
        local_cuda, "query", lambda index, fields: answers[fields.partition(",")[0]]
    )
    notes = local_cuda.state(0)
    assert notes[0] == "SM clock 1980 MHz, 71 °C"
    assert "throttled" in notes[1]
    assert "85 %" in notes[2]
    answers["clocks.sm"] = ["1980", "40", "0x0000000000000001", "0"]
    assert len(local_cuda.state(0)) == 1
    answers["clocks.sm"] = []
    assert local_cuda.state(0) == ()


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [("127.0.0.1:9090", ("127.0.0.1", 9090)), (":9090", ("127.0.0.1", 9090)),
     ("[::1]:9090", ("::1", 9090)), ("host:0", None), ("host", None), ("", None),
     ("host:70000", None)],
)  # fmt: skip
def test_addresses(text: str, endpoint: tuple[str, int] | None) -> None:
    assert rpc.parse(text) == endpoint


@pytest.mark.parametrize(
    ("where", "words"),
    [
        (Where(runner="rpc"), "RPC needs an address."),
        (Where(server="nowhere"), '"nowhere" is no address.'),
        (Where(tracker="127.0.0.1:1"), "The tracker needs a key."),
        (Where(tracker="127.0.0.1:1", key="k"), "The tracker 127.0.0.1:1 does not answer."),
    ],
)
def test_addresses_that_lead_nowhere(where: Where, words: str) -> None:
    refusal = rpc.places(where, LLVM)
    assert isinstance(refusal, Refusal)
    assert refusal.what == words
    assert refusal.do


def test_a_process_for_a_gpu_lifts_the_memory_limit_of_its_worker() -> None:
    def seen() -> list[int]:
        limits.apply(limits.Limits(memory_bytes=64 << 20), os.getppid(), background=False)
        bound = resource.getrlimit(resource.RLIMIT_DATA)[0]
        race_line.unlimited_data()
        return [bound, resource.getrlimit(resource.RLIMIT_DATA)[0]]

    before, (bound, lifted) = resource.getrlimit(resource.RLIMIT_DATA)[1], isolated(seen, list, 20)
    assert bound != before
    assert lifted == before


def test_servers_on_one_machine_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        rpc, "_servers", lambda endpoint, key: ["127.0.0.1:9001", "127.0.0.1:9002", "10.0.0.7:9001"]
    )
    places = rpc.places(Where(tracker="127.0.0.1:9190", key="k"), LLVM)
    assert isinstance(places, tuple)
    (note,) = race.sharing(places, LLVM)
    assert note.startswith("2 of these servers run on one machine")
    assert "cores" in note
    assert race.sharing(places[1:], LLVM) == ()
    assert race.sharing((places[0], places[0]), GPU)[0].endswith("disturb one another")
