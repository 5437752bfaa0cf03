"""PyTorch: MKL or OpenBLAS and oneDNN on the processor, cuBLAS and its own kernels on the GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from explorer.baselines.base import (
    FLUSH_BYTES,
    Array,
    Buffer,
    Call,
    NotOffered,
    Processor,
    cpu_seconds,
    matmul_axes,
    over_axes,
)
from explorer.model.operation import UNIT, Operand, Operation

NAME = "torch"
LABEL = "PyTorch"
PACKAGE = "torch"
PROCESSORS: tuple[Processor, ...] = ("cpu", "cuda")
_TYPES = ("bool", "float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64",
          "uint8")  # fmt: skip
_ELEMENTWISE = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "maximum": "maximum",
    "minimum": "minimum", "exp": "exp", "sqrt": "sqrt", "tanh": "tanh", "log": "log",
    "absolute": "abs",
}  # fmt: skip


def version(processor: Processor, device: int) -> str:
    """PyTorch's version, and what it computes with."""
    import torch

    if processor == "cuda":
        return f"PyTorch {torch.__version__} (cuBLAS of CUDA {torch.version.cuda}, TF32 off)"
    blas = "MKL" if torch.backends.mkl.is_available() else "BLAS"
    return f"PyTorch {torch.__version__} ({blas}, {torch.get_num_threads()} threads)"


def offer(
    operation: Operation, buffers: Sequence[Buffer], processor: Processor, device: int
) -> Call:
    """The call on the processor or GPU.  Raises NotOffered."""
    import torch

    for buffer in buffers:
        if buffer.dtype not in _TYPES:
            raise NotOffered(f"PyTorch has no arithmetic on {buffer.dtype}.")
    place = torch.device("cpu")
    if processor == "cuda":
        if not torch.cuda.is_available():
            raise NotOffered(f"PyTorch {torch.__version__} sees no GPU: it may be built for CPUs.")
        # Float32 means float32: a tensor-core rate for it would be another computation.
        torch.backends.cuda.matmul.allow_tf32 = False
        place = torch.device("cuda", device)
    own = [torch.zeros(b.shape, dtype=getattr(torch, b.dtype), device=place) for b in buffers]
    torch.set_grad_enabled(False)
    run, what = _call(torch, operation, own)
    try:
        run()
    except RuntimeError as refused:
        first = str(refused).strip().partition(". ")[0].partition("\n")[0]
        raise NotOffered(f"{what} refuses: {first.rstrip('.')}.") from None

    def fill(contents: Sequence[Array]) -> None:
        for tensor, values in zip(own, contents, strict=True):
            tensor.copy_(_tensor(torch, values, tensor.dtype))

    def result() -> Array:
        return _array(torch, own[operation.output.param], buffers[operation.output.param].dtype)

    seconds = cpu_seconds(run) if processor == "cpu" else _cuda_seconds(torch, run, place)
    return Call(what=what, fill=fill, run=run, seconds=seconds, result=result)


def _call(torch: Any, operation: Operation, own: Sequence[Any]) -> tuple[Callable[[], object], str]:
    """The call without arguments, and the name of the function."""
    axes = [axis for axis in operation.output.axes if axis != UNIT]

    def view(operand: Operand, wanted: Sequence[int]) -> Any:
        return over_axes(own[operand.param], operand, wanted, torch.permute)

    out = view(operation.output, axes)
    if operation.kind == "matmul":
        return _matmul(torch, operation, view)
    if operation.kind == "softmax":
        x, along = view(operation.operands[0], axes), axes.index(operation.over[0])
        return lambda: torch.softmax(x, along, out=out), "torch.softmax"
    if operation.kind == "reduce":
        inside = [*axes, *operation.over]
        x, over = view(operation.operands[0], inside), tuple(range(len(axes), len(inside)))
        if operation.name == "sum":
            return lambda: torch.sum(x, over, dtype=x.dtype, out=out), "torch.sum"
        name = f"a{operation.name}"
        return lambda: getattr(torch, name)(x, over, out=out), f"torch.{name}"
    inputs = [
        view(each, axes) if isinstance(each, Operand)
        else torch.tensor(each, dtype=out.dtype, device=out.device)
        for each in operation.inputs
    ]  # fmt: skip
    if operation.name == "copy":
        return lambda: out.copy_(inputs[0]), "torch.Tensor.copy_"
    name = _ELEMENTWISE[operation.name]
    function = getattr(torch, name)
    return lambda: function(*inputs, out=out), f"torch.{name}"


def _matmul(
    torch: Any, operation: Operation, view: Callable[[Operand, Sequence[int]], Any]
) -> tuple[Callable[[], object], str]:
    left, right, result = matmul_axes(operation)
    x, y = (view(*each) for each in zip(operation.operands, (left, right), strict=True))
    out = view(operation.output, result)
    if x.dtype == out.dtype and x.dtype.is_floating_point:
        return lambda: torch.matmul(x, y, out=out), "torch.matmul"
    pair = f"{operation.operands[0].dtype} summed in {operation.output.dtype}"
    if pair == "int8 summed in int32" and out.ndim == 2 and hasattr(torch, "_int_mm"):
        return lambda: torch._int_mm(x, y, out=out), "torch._int_mm"
    if x.dtype.is_floating_point and out.dtype == torch.float32 and out.ndim in (2, 3):
        name = "mm" if out.ndim == 2 else "bmm"
        function = getattr(torch, name)
        return (
            lambda: function(x, y, out_dtype=torch.float32, out=out),
            f"torch.{name} with out_dtype",
        )
    raise NotOffered(f"torch.matmul has no {pair}.")


def _tensor(torch: Any, values: Array, dtype: Any) -> Any:
    """An array as a tensor; NumPy's bfloat16 is a type that PyTorch does not read."""
    if dtype == torch.bfloat16:
        return torch.from_numpy(np.ascontiguousarray(values).view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(np.ascontiguousarray(values))


def _array(torch: Any, tensor: Any, dtype: str) -> Array:
    if dtype == "bfloat16":
        import ml_dtypes

        bits: Array = tensor.cpu().view(torch.int16).numpy()
        return bits.view(ml_dtypes.bfloat16)
    found: Array = tensor.cpu().numpy()
    return found


def _cuda_seconds(
    torch: Any, run: Callable[[], object], place: Any
) -> Callable[[int, bool], float]:
    """Timed by events of the device."""
    trash: list[Any] = []

    def between(calls: int) -> float:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(calls):
            run()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / 1e3

    def seconds(calls: int, flush: bool) -> float:
        with torch.cuda.device(place):
            run()
            torch.cuda.synchronize()
            if not flush:
                return between(calls) / calls
            if not trash:
                trash.append(torch.ones(FLUSH_BYTES, dtype=torch.uint8, device=place))
            total = 0.0
            for _ in range(calls):
                trash[0].add_(1)
                torch.cuda.synchronize()
                total += between(1)
            return total / calls

    return seconds
