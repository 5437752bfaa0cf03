"""DefaultGPUSchedule: TVM's plain way to get any function onto the GPU."""

from __future__ import annotations

from typing import Any

from explorer.model.target import Target
from explorer.model.view import Proposal


class DefaultGpu:
    """Every block: spatial loops fused, split by the threads of a block, bound."""

    name = "default_gpu"
    title = "DefaultGPUSchedule"
    summary = (
        "One element a thread: the spatial loops of every block are fused and bound to blockIdx.x "
        "and threadIdx.x. Works on nearly everything and uses no shared memory, no reuse and one "
        "kernel a block."
    )
    rules: tuple[str, ...] = ()

    def propose(
        self, live: Any, target: Target, functions: tuple[str, ...], rule: str = ""
    ) -> Proposal:
        """The pass's result as manual steps where they give the same module, else one step."""
        from explorer.engine import default_gpu

        return default_gpu.propose(live, target, functions)

    def whole(self, mod: Any, target: Target, function: str, rule: str = "") -> Any:
        """The pass run on one function.  Raises StepRefused."""
        from explorer.engine import default_gpu

        return default_gpu.run_pass(mod, target, function)


STRATEGY = DefaultGpu()
