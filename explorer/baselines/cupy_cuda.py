"""CuPy: cuBLAS for matrices, its own kernels for the rest; on the GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from explorer.baselines import arrays
from explorer.baselines.base import FLUSH_BYTES, Buffer, Call, NotOffered, Processor
from explorer.model.operation import Operation

NAME = "cupy"
LABEL = "CuPy"
PACKAGE = "cupy"
PROCESSORS: tuple[Processor, ...] = ("cuda",)


def version(processor: Processor, device: int) -> str:
    """CuPy's version and that of cuBLAS."""
    import cupy
    from cupy.cuda import cublas

    number = cublas.getVersion(cupy.cuda.device.get_cublas_handle())
    return f"CuPy {cupy.__version__} (cuBLAS {number})"


def offer(
    operation: Operation, buffers: Sequence[Buffer], processor: Processor, device: int
) -> Call:
    """The call on the GPU.  Raises NotOffered."""
    import cupy

    if operation.kind == "matmul":
        kinds = {each.dtype for each in (*operation.operands, operation.output)}
        if len(kinds) > 1 or not kinds <= {"float16", "float32", "float64"}:
            raise NotOffered(
                "cupy.matmul calls cuBLAS for float16, float32 and float64 only, without another "
                "type for the sums."
            )
    cupy.cuda.Device(device).use()
    own = [cupy.zeros(b.shape, arrays.numpy_type("CuPy", b.dtype)) for b in buffers]
    return arrays.offer(cupy, NAME, operation, own, _seconds, cupy.asnumpy)


def _seconds(run: Callable[[], object]) -> Callable[[int, bool], float]:
    """Timed by events of the device."""
    import cupy

    trash: list[Any] = []

    def between(calls: int) -> float:
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        for _ in range(calls):
            run()
        end.record()
        end.synchronize()
        return float(cupy.cuda.get_elapsed_time(start, end)) / 1e3

    def seconds(calls: int, flush: bool) -> float:
        run()
        cupy.cuda.Device().synchronize()
        if not flush:
            return between(calls) / calls
        if not trash:
            trash.append(cupy.ones(FLUSH_BYTES, cupy.uint8))
        total = 0.0
        for _ in range(calls):
            trash[0] += 1
            cupy.cuda.Device().synchronize()
            total += between(1)
        return total / calls

    return seconds
