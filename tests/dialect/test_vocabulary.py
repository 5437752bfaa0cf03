"""The allow-list names what TVM 0.27 has, and nothing that leads to Python."""

from __future__ import annotations

import re
import types

import pytest
from tvm.script.parser import ir, relax, tirx

from explorer.dialect import vocabulary

NAMED = vocabulary.TIR | vocabulary.CALLS_BY_NAME | vocabulary.SHORT_DTYPES
NAMES = (
    [(tirx, name) for name in sorted(NAMED)]
    + [(ir, name) for name in sorted(vocabulary.IR)]
    + [(relax, name) for name in sorted(vocabulary.RELAX)]
    + [(tirx, f"ptx.{name}") for name in sorted(vocabulary.PTX)]
)  # fmt: skip


@pytest.mark.parametrize(("root", "name"), NAMES, ids=lambda one: getattr(one, "__name__", one))
def test_name_exists_and_is_no_module(root: types.ModuleType, name: str) -> None:
    found: object = root
    for part in name.split("."):
        found = getattr(found, part)
    assert not isinstance(found, types.ModuleType)
    assert not any(part.startswith("_") for part in name.split("."))


def test_what_runs_python_is_not_in_it() -> None:
    for name in ("inline", "macro", "jit", "meta_var", "utils", "parser", "entry", "index_map"):
        assert name not in vocabulary.TIR
        assert hasattr(tirx, name)
    for name in ("emit_te", "macro", "call_py_func", "rewriter", "print"):
        assert name not in vocabulary.RELAX


def test_dtypes_of_tvm_are_known() -> None:
    for name in dir(tirx):
        if re.match(r"^(?:u?int|b?float)\d", name):
            assert vocabulary.DTYPE.match(name), name


@pytest.mark.parametrize(
    "name", ["sqrtf", "expf", "__expf", "atomicAdd", "__nv_tanhf", "tanh", "hexp"]
)
def test_mathematics_can_be_called(name: str) -> None:
    assert vocabulary.EXTERN.match(name)


@pytest.mark.parametrize(
    "name", ["system", "printf", "execl", "dlopen", "__libc_system", "memcpy", "abort"]
)
def test_the_machine_cannot_be_called(name: str) -> None:
    assert not vocabulary.EXTERN.match(name)
    assert not vocabulary.LLVM.match(name)
