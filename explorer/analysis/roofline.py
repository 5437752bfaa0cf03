"""The least time that a kernel's work can take on a GPU: a bound, never a time."""

from __future__ import annotations

from explorer.analysis.peaks import Gpu
from explorer.model.analysis import Roofline, Work


def roofline(work: Work, gpu: Gpu) -> Roofline:
    """The bound of `work` on `gpu`: every byte moves once, every operation runs at the peak rate.

    The tensor cores' rate counts where an operand is a 16-bit float, whether or not the kernel uses
    them: a bound must hold for the best kernel.
    """
    peak = gpu.fp32_tflops
    if work.half_inputs:
        peak = max(peak, gpu.fp16_tensor_tflops)
    compute = work.flops / (peak * 1e6)
    memory = (work.read_bytes + work.written_bytes) / (gpu.memory_gbs * 1e3)
    return Roofline(
        gpu=gpu.name,
        source=gpu.source,
        work=work,
        compute_us=compute,
        memory_us=memory,
        bound_us=max(compute, memory),
        limited_by="compute" if compute > memory else "memory",
        peak_tflops=peak,
        peak_gbs=gpu.memory_gbs,
    )
