"""TVM's JSON trace: a list of instructions and a list of decisions, checked before use.

Each instruction is `[kind, inputs, attributes, outputs]`; variables are named "b0", "l1", "v2";
strings among the inputs are quoted.  A decision is `[instruction number, value]`.  A line of
MetaSchedule's tuning records, `[workload, [trace, seconds, target, arguments]]`, holds one too.
"""

from __future__ import annotations

from typing import Any

import msgspec

from explorer.errors import ScheduleTextError, StepRefused
from explorer.schedule_text.host import LIMITS, IndexMapJson, ScheduleHost

Instruction = tuple[str, list[Any], list[Any], list[str]]
_Trace = tuple[list[Instruction], list[tuple[int, Any]]]

INPUTS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    # kind: schedule method, names of the inputs, names of the attributes
    "GetSBlock": ("get_sblock", (), ("name", "func_name")),
    "GetBlock": ("get_sblock", (), ("name", "func_name")),
    "GetLoops": ("get_loops", ("block",), ()),
    "GetChildBlocks": ("get_child_blocks", ("block_or_loop",), ()),
    "GetProducers": ("get_producers", ("block",), ()),
    "GetConsumers": ("get_consumers", ("block",), ()),
    "GetOutputBlocks": ("get_output_blocks", ("scope_block",), ()),
    "SampleCategorical": ("sample_categorical", (), ("candidates", "probs")),
    "SamplePerfectTile": ("sample_perfect_tile", ("loop",), ("n", "max_innermost_factor")),
    "SamplePartitionedTile": (
        "sample_partitioned_tile", ("loop",), ("n", "partition_pos", "innerpart_factor")
    ),
    "SampleComputeLocation": ("sample_compute_location", ("block",), ()),
    "Merge": ("merge", ("*",), ()),
    "Fuse": ("fuse", ("*",), ("preserve_unit_iters",)),
    "Split": ("split", ("loop", "*factors"), ("preserve_unit_iters", "disable_predication")),
    "LoopPartition": ("loop_partition", ("loop", "*factors"), ("preserve_unit_iters",)),
    "Reorder": ("reorder", ("*",), ()),
    "ReorderBlockIterVar": ("reorder_block_iter_var", ("block", "new_order"), ()),
    "AddUnitLoop": ("add_unit_loop", ("block_or_loop",), ()),
    "Parallel": ("parallel", ("loop",), ()),
    "Vectorize": ("vectorize", ("loop",), ()),
    "Unroll": ("unroll", ("loop",), ()),
    "Bind": ("bind", ("loop",), ("thread_axis",)),
    "CacheRead": (
        "cache_read", ("block", "consumer_blocks"), ("read_buffer_index", "storage_scope")
    ),
    "CacheWrite": (
        "cache_write", ("block", "consumer_blocks"), ("write_buffer_index", "storage_scope")
    ),
    "ReindexCacheRead": (
        "reindex_cache_read", ("block", "index_map"), ("read_buffer_index", "storage_scope")
    ),
    "ReindexCacheWrite": (
        "reindex_cache_write", ("block", "index_map"), ("write_buffer_index", "storage_scope")
    ),
    "CacheInplace": ("cache_inplace", ("block",), ("read_buffer_index", "storage_scope")),
    "CacheIndex": ("cache_index", ("block",), ("storage_scope", "cse_thresh")),
    "ReIndex": ("reindex", ("block",), ("buffer:index", "buffer:type")),
    "ReadAt": ("read_at", ("loop", "block"), ("read_buffer_index", "storage_scope")),
    "WriteAt": ("write_at", ("loop", "block"), ("write_buffer_index", "storage_scope")),
    "ComputeAt": ("compute_at", ("block", "loop"), ("preserve_unit_loops", "index")),
    "ReverseComputeAt": (
        "reverse_compute_at", ("block", "loop"), ("preserve_unit_loops", "index")
    ),
    "ComputeInline": ("compute_inline", ("block",), ()),
    "ReverseComputeInline": ("reverse_compute_inline", ("block",), ()),
    "FuseReductionEpilogue": (
        "fuse_reduction_epilogue", ("reduction_block", "epilogue_block"), ()
    ),
    "DecomposeReduction": ("decompose_reduction", ("block", "loop"), ()),
    "RFactor": ("rfactor", ("loop",), ("factor_axis",)),
    "StorageAlign": ("storage_align", ("block",), ("buffer_index", "axis", "factor", "offset")),
    "SetScope": ("set_scope", ("block",), ("buffer_index", "storage_scope")),
    "UnsafeSetDType": ("unsafe_set_dtype", ("block",), ("buffer_index", "dtype")),
    "Blockize": ("blockize", ("target",), ("preserve_unit_iters",)),
    "Tensorize": ("tensorize", ("block_or_loop",), ("tensor_intrin", "preserve_unit_iters")),
    "Annotate": ("annotate", ("block_or_loop", "ann_val"), ("ann_key",)),
    "Unannotate": ("unannotate", ("block_or_loop",), ("ann_key",)),
    "TransformLayout": (
        "transform_layout",
        ("block", "index_map"),
        ("buffer:index", "buffer:type", "pad_value", "assume_injective_transform"),
    ),
    "TransformBlockLayout": ("transform_block_layout", ("block",), ("index_map",)),
    "SetAxisSeparator": (
        "set_axis_separator", ("block",), ("buffer:index", "buffer:type", "axis_separators")
    ),
    "DecomposePadding": ("decompose_padding", ("block", "loop"), ()),
    "PadEinsum": ("pad_einsum", ("block",), ("padding",)),
    "RollingBuffer": ("rolling_buffer", ("block",), ("write_buffer_index",)),
    "UnsafeHideBufferAccess": (
        "unsafe_hide_buffer_access", ("block",), ("buf_type", "buf_index_array")
    ),
    "EnterPostproc": ("enter_postproc", (), ()),
}  # fmt: skip

_FLAGS = {
    "preserve_unit_iters",
    "preserve_unit_loops",
    "disable_predication",
    "assume_injective_transform",
}
"""Written as 0 and 1 in a trace."""


def read_trace(data: Any, host: ScheduleHost) -> None:
    """Perform a JSON trace (decoded, or its text) on `host`.

    Raises ScheduleTextError when it is no trace and StepRefused where TVM refuses; both name the
    instruction, and the host keeps what was performed before.
    """
    try:
        if isinstance(data, (str, bytes)):
            if len(data) > LIMITS.text_bytes:
                raise ScheduleTextError(f"The trace is larger than {LIMITS.text_bytes} bytes.")
            data = (
                _fastest(msgspec.json.Decoder().decode_lines(data))
                if _lines(data)
                else _record(msgspec.json.decode(data))
            )
        instructions, decisions = msgspec.convert(data, _Trace)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ScheduleTextError(
            "This JSON is not a TVM trace.",
            f"{error}.",
            "Save one from here (export, TVM trace), or take a line of a tuning record file.",
        ) from error
    if len(instructions) > LIMITS.calls:
        raise ScheduleTextError(f"The trace has more than {LIMITS.calls} instructions.")
    chosen = dict(decisions)
    known: dict[str, Any] = {}
    for at, instruction in enumerate(instructions):
        try:
            _perform(instruction, chosen.get(at), known, host)
        except (ScheduleTextError, StepRefused) as error:
            problem = error.problem
            raise type(error)(
                f"Instruction {at} ({instruction[0]}): {problem.what}",
                problem.why,
                problem.do,
                details=problem.details,
            ) from error


def _lines(text: str | bytes) -> bool:
    """Several JSON values, one a line."""
    lines = [line for line in text.splitlines() if line.strip()]
    ends = ("]", b"]")
    return len(lines) > 1 and all(line.strip()[-1:] in ends for line in lines)


def _record(data: Any) -> Any:
    """The trace of a tuning record; anything else as it is."""
    match data:
        case [int(), [[list(), list()] as trace, *_]]:
            return trace
    return data


def _fastest(records: list[Any]) -> Any:
    """The trace of the tuning record with the shortest time."""

    def seconds(record: Any) -> float:
        match record:
            case [int(), [_, [*runs], *_]] if runs and all(
                isinstance(t, (int, float)) for t in runs
            ):
                return sum(runs) / len(runs)
        return float("inf")

    return _record(min(records, key=seconds))


def _perform(
    instruction: Instruction, decision: Any, known: dict[str, Any], host: ScheduleHost
) -> None:
    kind, inputs, attrs, outputs = instruction
    if kind not in INPUTS:
        raise ScheduleTextError("This instruction is not known.", "It may be newer than TVM 0.27.")
    method, input_names, attr_names = INPUTS[kind]
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    values = [_value(item, known) for item in inputs]
    for n, name in enumerate(input_names):
        if name == "*":
            args += values[n:]
        elif name.startswith("*"):
            kwargs[name[1:]] = values[n:]
        elif n < len(values):
            kwargs[name] = values[n]
    for name, item in zip(attr_names, attrs, strict=False):
        value = _attribute(name, item, known)
        kwargs[name] = bool(value) if name in _FLAGS else value
    if "buffer:index" in kwargs:
        side = "write" if kwargs.pop("buffer:type", 0) else "read"
        kwargs["buffer"] = (side, kwargs.pop("buffer:index"))
    if kind.startswith("Sample"):
        kwargs["decision"] = decision
    made = host.call(method, args, kwargs)
    results = list(made) if isinstance(made, (list, tuple)) else [made]
    if outputs and len(outputs) != len(results):
        raise StepRefused(
            f"It should make {len(outputs)} variables, but makes {len(results)} here."
        )
    known.update(zip(outputs, results, strict=False))


def _value(item: Any, known: dict[str, Any]) -> Any:
    """An input: a variable, a quoted string, a number, an index map, None, or a list of these."""
    if isinstance(item, list):
        return tuple(_value(part, known) for part in item)
    if not isinstance(item, str):
        return item
    if item in known:
        return known[item]
    if item in ("None", "null"):
        return None
    if item.lstrip().startswith("{"):
        return IndexMapJson(item, _numbers(known))
    if len(item) >= 2 and item[0] == item[-1] == '"':
        return item[1:-1]
    raise ScheduleTextError(f"The variable {item} was not made by any instruction before it.")


def _attribute(name: str, item: Any, known: dict[str, Any]) -> Any:
    if isinstance(item, list):
        return tuple(item)
    if name in ("index_map", "pad_value") and isinstance(item, str):
        return IndexMapJson(item, _numbers(known))
    return item


def _numbers(known: dict[str, Any]) -> dict[str, int]:
    return {name: value for name, value in known.items() if type(value) is int}
