"""Every sample opens, is drawn, is scheduled by both automatic ways, and exports a script."""

from __future__ import annotations

import re

import pytest

from explorer import samples, workbench
from explorer.model.loaded import Source
from explorer.model.nest import Block, Loop
from explorer.targets import DEFAULT

ALL = samples.samples()
NAMES = [one.name for one in ALL]
SIZES = {"15_dynamic_shape": {"n": 1000}}
OLD = "16_course_2022"


def source_of(name: str) -> Source:
    return Source(samples.sample(name).text)


@pytest.mark.parametrize("name", NAMES)
def test_it_opens_and_is_drawn(name):
    source = source_of(name)
    loaded = workbench.open_source(source)
    (function,) = loaded.nest.functions
    assert function.schedulable
    loops = [node for node in function.nodes if isinstance(node, Loop)]
    blocks = [node for node in function.nodes if isinstance(node, Block)]
    written = samples.sample(name).text
    assert {block.name for block in blocks} == set(re.findall(r"T\.s?block\(\"(\w+)\"\)", written))
    assert loops
    assert all(loop.ref is not None and loop.span is not None for loop in loops)
    assert loaded.symbols == tuple(SIZES.get(name, {}))
    assert bool(loaded.migrations) == (name == OLD)
    assert workbench.view(source, ()).nest == loaded.nest


@pytest.mark.parametrize("name", NAMES)
def test_unscheduled_it_is_no_kernel_and_says_which_loops(name):
    build = workbench.build(source_of(name), (), DEFAULT, SIZES.get(name, {}))
    (function,) = build.functions
    assert function.status == "no_kernel"
    assert function.reason
    assert not function.kernels


@pytest.mark.parametrize("strategy", ["default_gpu", "dlight"])
@pytest.mark.parametrize("name", NAMES)
def test_both_automatic_ways_give_kernels(name, strategy):
    source, sizes = source_of(name), SIZES.get(name, {})
    proposal = workbench.propose(source, (), strategy, DEFAULT)
    assert "applied" in {outcome.status for outcome in proposal.outcomes}
    assert all(outcome.reason for outcome in proposal.outcomes if outcome.status != "applied")
    steps = workbench.steps_of(proposal)
    assert steps
    build = workbench.build(source, steps, DEFAULT, sizes)
    assert build.status == "built", build.reason
    (function,) = build.functions
    assert function.status == "built", function.reason
    assert function.kernels
    for kernel in function.kernels:
        assert f"{kernel.name}(" in kernel.source
        assert all(extent.isdigit() for extent in (*kernel.grid, *kernel.block))
    assert not [found for found in build.findings if found.severity == "error"]


def test_dlight_uses_tensor_cores_for_the_tensor_core_sample():
    source = source_of("04_matmul_tensor_core")
    steps = workbench.steps_of(workbench.propose(source, (), "dlight", DEFAULT))
    build = workbench.build(source, steps, DEFAULT, {})
    assert any("wmma" in kernel.source for kernel in build.functions[0].kernels)


@pytest.mark.parametrize("name", NAMES)
def test_it_exports_a_script_that_was_run(name):
    source = source_of(name)
    steps = workbench.steps_of(workbench.propose(source, (), "dlight", DEFAULT))
    exported = workbench.export(source, steps, DEFAULT, SIZES.get(name, {}), "python")
    assert exported.verified
    assert "import tvm" in exported.text
    assert "explorer" not in exported.text.split('"""')[-1]


def test_the_old_one_brings_its_schedule_along():
    source = source_of(OLD)
    loaded = workbench.open_source(source)
    rules = {change.rule for change in loaded.migrations}
    assert len(rules) >= 4
    proposal = workbench.read_schedule(source, loaded.schedule, ())
    steps = workbench.steps_of(proposal)
    assert [type(step).op() for step in steps] == [
        "split", "split", "reorder", "bind", "bind", "bind", "bind", "reverse_compute_at",
        "set_scope",
    ]  # fmt: skip
    build = workbench.build(source, steps, DEFAULT, {})
    (function,) = build.functions
    assert function.status == "built", function.reason
    (kernel,) = function.kernels
    assert (kernel.grid, kernel.block) == (("8", "8", "1"), ("16", "16", "1"))
