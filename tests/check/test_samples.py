"""Every sample under DefaultGPUSchedule and dlight is a match: no right kernel is accused."""

from __future__ import annotations

import msgspec
import pytest

from explorer import samples
from explorer.engine.check import check
from explorer.engine.propose import propose
from explorer.model.loaded import Source
from explorer.model.target import Target
from explorer.primitives import AnyStep


@pytest.mark.parametrize("way", ["default_gpu", "dlight"])
@pytest.mark.parametrize("name", [sample.name for sample in samples.samples()])
def test_a_sample_matches(name: str, way: str, target: Target) -> None:
    source = Source(samples.sample(name).text)
    steps = msgspec.convert(propose(source, (), way, target).steps, tuple[AnyStep, ...])
    for function, verdict in check(source, steps, target, {}):
        assert verdict.status == "match", f"{function}: {verdict.detail}"
