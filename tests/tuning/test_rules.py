"""The names of schedule rules that the page offers are those that TVM uses."""

from __future__ import annotations

import pytest

from explorer.engine.load import module
from explorer.engine.targets import cuda_tags
from explorer.engine.tuning.rules import Rules
from explorer.engine.tuning.space import search_target
from explorer.model.loaded import Source
from explorer.targets import resolve
from explorer.tuning import rules
from tests.tuning.spaces import matmul


@pytest.mark.parametrize(
    "tag",
    ["llvm", "nvidia/geforce-rtx-4090", "nvidia/nvidia-a100", "nvidia/nvidia-v100",
     "nvidia/tesla-p100", "nvidia/jetson-agx-xavier", "nvidia/nvidia-h100"],
)  # fmt: skip
def test_usual_and_extra_rules_are_what_tvm_takes(tag: str) -> None:
    target = resolve(tag, cuda_tags())
    workload = module(Source(matmul()))
    usual, extra = rules.usual(target), rules.extra(target)
    assert set(Rules(workload, search_target(target), (), ()).names) == set(usual)
    for rule in extra:
        assert rule in Rules(workload, search_target(target), (), (rule,)).names
    (last, *others) = reversed(usual)
    left = Rules(workload, search_target(target), (last,), ()).names
    assert set(left) == set(others)
