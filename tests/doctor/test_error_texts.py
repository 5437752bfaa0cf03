"""Error messages: each is told in a sentence with a remedy, and ordinary modules are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer import error_texts
from explorer.dialect import prepare
from explorer.error_texts.messages import MESSAGES
from explorer.errors import LoadError

CASES = Path(__file__).parents[1] / "cases"

MEMORY = """\
terminate called after throwing an instance of 'tvm::runtime::InternalError'
  what():  [16:05:12] verify_memory.cc:214: RuntimeError: Memory verification failed with:
    Variable `Q` is directly accessed by host memory (it is not contained in a thread environment.
    Variable `P` is directly accessed by host memory (it is not contained in a thread environment.
    Variable `Q` is directly accessed by host memory (it is not contained in a thread environment.
  Did you forget to bind?
"""
MODULE = """\
# from tvm.script import tir as T

@T.prim_func
def scale(P: T.Buffer((300,), "float32"), Q: T.Buffer((300,), "float32")):
    T.func_attr({"tir.noalias": True})
    for p in range(300):
        # tir.Block#0
        with T.block("Q"):
        ^^^^^^^^^^^^^^^^^^
            vp = T.axis.spatial(300, p)
            ^^^^^^^^^^^^^^^^^^^^^^^^^^^
            T.reads(P[vp])
            T.writes(Q[vp])
            Q[vp] = P[vp] + T.float32(1)
"""
SCHEDULE = f"""\
tvm.tir.schedule.schedule.ScheduleError: An error occurred in the schedule primitive 'bind'.

The IR with diagnostic is:
{MODULE}Error message: The "bind" cannot be fulfilled with regard to block tir.Block#0. This is \
because some of its block iter whose block binding contains kk does not meet any of the conditions:
1) the block iter is data parallel;
"""


@pytest.mark.parametrize(
    ("text", "kind", "what", "do"),
    [
        (MEMORY, "not_bound", "(Q, P)", "Bind a spatial loop"),
        (
            "InternalError: Check failed: scope != \"global\" (global vs. global) : Cannot allocate"
            " global memory when targeting CUDA. You must pass all global arrays as input instead",
            "global_scratch", "global memory", "set_scope",
        ),
        (
            "Check failed: (block_names_.count(block->name_hint) == 0) is false: Duplicated block"
            " name root in function softmax not supported!",
            "duplicated_root", "more than one loop nest", "dlight",
        ),
        (SCHEDULE, "schedule", "kk drives a reduction of block Q", "threadIdx"),
        (
            "AttributeError: module 'tvm.script.parser.tir' has no attribute 'block'",
            "old_name", "T.sblock", "Paste the module",
        ),
        (
            "DiagnosticError: error: module 'tvm' has no attribute 'tir'",
            "old_module_path", "tvm.tir", "Paste the module",
        ),
        (
            "CUDAError: cuModuleUnload failed with error: CUDA_ERROR_ILLEGAL_ADDRESS",
            "illegal_address", "outside its buffers", "names buffer, index and thread",
        ),
        (
            "InternalError: CUDALaunch Error: CUDA_ERROR_INVALID_VALUE\n"
            " grid=(1,100800,1),  block=(1024,1,1)\n// func_name=k",
            "invalid_value", "gridDim.y is 100800", "blockIdx.x",
        ),
        (
            "CUDALaunch Error: CUDA_ERROR_INVALID_VALUE\n grid=(7,1,1),  block=(64,64,1)",
            "invalid_value", "4096 threads a block", "Split",
        ),
        (
            "ptxas error   : Entry function 'k' uses too much shared data (0x10000 bytes, 0xc000"
            " max)",
            "shared_memory", "65536 bytes of shared memory; 49152", "shared.dyn",
        ),
        (
            "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: too many resources requested for launch",
            "too_many_resources", "registers", "fewer threads",
        ),
        (
            "InternalError: Check failed: the type does not have a corresponding C Type",
            "c_type", "called from outside", "global_symbol",
        ),
        (
            "RuntimeError: No valid candidates were found by MetaSchedule",
            "no_candidates", "MetaSchedule", "time limit",
        ),
        (
            "ValueError: Check failed: (max_threads_per_block.has_value()) is false",
            "target_limits", "max_threads_per_block", "nvidia/geforce",
        ),
        (
            "InternalError: Check failed: *index_dtype == arg_dtype (int64 vs. int32)",
            "integer_types", "64-bit", "T.int64",
        ),
        (
            "AttributeError: 'FloorDiv' object has no attribute 'value'",
            "dlight_fault", "FloorDiv", "Use dlight from here",
        ),
        (
            'kernel.cu(31): error: identifier "foo" is undefined',
            "cuda_text", 'identifier "foo" is undefined', "step",
        ),
    ],
)  # fmt: skip
def test_a_known_message_is_explained(text: str, kind: str, what: str, do: str) -> None:
    found = error_texts.told_in(text)
    assert found is not None
    assert found.kind == kind
    assert what in found.sentence()
    assert do in found.do
    assert "{" not in found.sentence()
    with pytest.raises(LoadError) as refused:
        prepare(text if text is not SCHEDULE else text.replace(MODULE, ""))
    assert "error text" in refused.value.problem.what


def test_the_line_of_the_message_is_given() -> None:
    found = error_texts.told_in(MEMORY)
    assert found is not None
    assert found.line == 2
    assert "Memory verification failed" in found.excerpt


def test_every_row_fills_its_placeholders() -> None:
    allowed = {"variables", "block", "function", "used", "most", "name", "module", "new_name",
               "launch"}  # fmt: skip
    for _, _, *parts in MESSAGES:
        for part in parts:
            part.format_map(dict.fromkeys(allowed, ""))


@pytest.mark.parametrize("text", [MEMORY + MODULE, SCHEDULE])
def test_a_module_in_an_error_text_is_taken_from_it(text: str) -> None:
    prepared = prepare(text)
    assert prepared.module == "scale"
    assert "^" not in prepared.script.text
    assert any("error message" in note.message for note in prepared.notes)


@pytest.mark.parametrize("path", sorted(CASES.glob("*/module.py")), ids=lambda p: p.parent.name)
def test_modules_are_no_error_texts(path: Path) -> None:
    assert error_texts.told_in(path.read_text()) is None


def test_an_unknown_error_asks_for_the_module() -> None:
    text = "Traceback (most recent call last):\n  File x\nTVMError: something new"
    assert error_texts.told_in(text) is None
    with pytest.raises(LoadError) as refused:
        prepare(text)
    assert "Paste the module" in refused.value.problem.do
