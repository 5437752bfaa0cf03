"""TVM and its intrinsics, imported once for all checks."""

from __future__ import annotations

import pytest

from explorer.engine.targets import cuda_tags
from explorer.engine.warm import quick_inspect
from explorer.model.target import Target


@pytest.fixture(scope="session", autouse=True)
def _intrinsics() -> None:
    with quick_inspect():
        import tvm.s_tir.tensor_intrin.cuda  # noqa: F401


@pytest.fixture(scope="session")
def target() -> Target:
    return next(each for each in cuda_tags() if each.tag == "nvidia/geforce-rtx-4090")
