"""default_gpu_schedule: TVM's whole-function pass as one step, where primitives can't say it."""

from __future__ import annotations

from typing import Any

from explorer.primitives.base import Resolver, Step


class DefaultGpuSchedule(Step, frozen=True, tag="default_gpu_schedule"):
    """Run DefaultGPUSchedule on one function for a target.

    Before: any loop nests; after: every block's spatial loops are fused and bound to blockIdx.x
    and threadIdx.x.  Used when the same module can't be had from primitives.
    """

    function: str
    target: str

    def apply(self, live: Resolver) -> tuple[Any, ...]:
        """Replace the function by the pass's result.  Raises StepRefused."""
        live.whole("default_gpu", self.function, self.target, "")
        return ()
