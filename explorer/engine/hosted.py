"""A PrimFunc's own host function, run on the emulated device.

TVM's pipeline is used as it is; in the host code, only the calls that need a CUDA driver are
replaced: choosing the device does nothing, and workspaces come from the emulated device.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import tvm
import tvm_ffi
from tvm import ir, tirx
from tvm.target import Target as TvmTarget
from tvm.tirx.build import codegen_build

from explorer.engine.host_code import read_host


class Hosted:
    """The host code of a lowered function, compiled for this processor."""

    def __init__(self, name: str, host: ir.IRModule, target: TvmTarget) -> None:
        """`host` is what `lower` left of it.  Raises one of LOWERING_ERRORS when LLVM can't."""
        with target:
            _, finalize_host, _ = tirx.get_default_tir_pipeline(target)
            final = finalize_host()(host)
        mended = {var: _without_driver(func) for var, func in final.functions_items()}
        self._name = name
        self._library = codegen_build(ir.IRModule(mended, final.attrs), TvmTarget("llvm"))

    def load(self, kernels: Path) -> Callable[..., Any]:
        """The host function, which launches the kernels of an emulated library."""
        self._library.import_module(tvm.runtime.load_module(str(kernels)))
        return self._library[self._name]


def host_work(split_host: ir.IRModule) -> dict[str, None]:
    """Buffers in GPU memory that the host code touches itself."""
    return read_host([func for _, func in split_host.functions_items()]).touched


def _without_driver(func: Any) -> Any:
    replaced = {
        "tirx.TVMBackendAllocWorkspace": "EmuAllocWorkspace",
        "tirx.TVMBackendFreeWorkspace": "EmuFreeWorkspace",
    }

    def call(node: Any) -> Any:
        name = getattr(node.op, "name", "")
        if name in replaced:
            return ir.Call(
                ir.Op.get("tirx.call_extern"), [replaced[name], *node.args], ret_ty=node.ty
            )
        return node

    def evaluate(node: Any) -> Any:
        value = node.value
        if getattr(getattr(value, "op", None), "name", "") == "tirx.tvm_call_packed_lowered":
            if str(getattr(value.args[0], "value", "")) == "__tvm_set_device":
                return tirx.Evaluate(tirx.IntImm("int32", 0))
        return node

    body = tvm_ffi.structural_map(func.body, [(tirx.Evaluate, evaluate), (ir.Call, call)])
    mended = func.with_body(body)
    for key, value in dict(func.attrs or {}).items():
        if isinstance(value, tirx.IntImm):  # `T.bool(True)` as an attribute: LLVM wants a plain one
            mended = mended.with_attr(key, int(value))
    return mended
