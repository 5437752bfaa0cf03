"""Warming up leaves Python as it was."""

from __future__ import annotations

import gc
import inspect
import sys

from explorer.engine.warm import quick_inspect, warm


def test_inspect_is_itself_again_and_intrinsics_are_there() -> None:
    before = inspect.getmodule
    warm()
    assert inspect.getmodule is before
    assert gc.isenabled()
    assert "tvm.s_tir.tensor_intrin.cuda" in sys.modules


def test_modules_are_still_found_meanwhile() -> None:
    with quick_inspect():
        assert inspect.getmodule(warm) is sys.modules["explorer.engine.warm"]
        assert inspect.getmodule(sys._getframe()) is sys.modules[__name__]
