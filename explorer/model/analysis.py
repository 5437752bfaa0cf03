"""What the compiler and the hardware's rules say about the kernels of a variant."""

from __future__ import annotations

from typing import Literal

import msgspec

Limiter = Literal["warps", "blocks", "registers", "shared memory"]


class Cliff(msgspec.Struct, frozen=True):
    """The nearest change of a resource that changes how many blocks an SM holds.

    `now` and `at` are registers a thread or bytes a block; with `at`, `blocks` fit.
    """

    resource: Limiter
    now: int
    at: int
    blocks: int


class Occupancy(msgspec.Struct, frozen=True, kw_only=True):
    """Resident blocks and warps of one SM, what limits them, and the next steps up and down.

    Theoretical: what fits, not what is reached.
    """

    blocks_per_sm: int
    warps_per_sm: int
    max_warps: int
    limiters: tuple[Limiter, ...]
    better: Cliff | None = None
    """The least saving that fits one more block."""
    worse: Cliff | None = None
    """The least growth that loses one."""

    @property
    def fraction(self) -> float:
        """Resident warps of those possible, 0 to 1."""
        return self.warps_per_sm / self.max_warps


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What a kernel has to do, from the IR: operations, and bytes that must move at least once.

    `left_out` names accesses that could not be counted; the bytes are then fewer than needed.
    """

    flops: float
    read_bytes: int
    written_bytes: int
    half_inputs: bool = False
    """Some operand is a 16-bit float, so tensor cores could do the work."""
    left_out: tuple[str, ...] = ()


class Roofline(msgspec.Struct, frozen=True, kw_only=True):
    """The least time the work can take on a GPU: a bound with cold caches, never a time.

    Rates are the product's peaks, from `source`; `bound_us` is the larger of both parts.
    """

    gpu: str
    source: str
    work: Work
    compute_us: float
    memory_us: float
    bound_us: float
    limited_by: Literal["compute", "memory"]
    peak_tflops: float
    peak_gbs: float


class KernelAnalysis(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel as compiled.  Bytes are per thread for stack and spills, per block for shared.

    `sass_lines` gives, for each line of `sass`, the line of the CUDA text it comes from (1-based,
    0 when there is none).
    """

    name: str
    registers: int
    spill_store_bytes: int
    spill_load_bytes: int
    stack_bytes: int
    static_shared_bytes: int
    dynamic_shared_bytes: int | None
    constant_bytes: int
    barriers: int
    instructions: int
    ptx: str
    sass: str
    sass_lines: tuple[int, ...]
    threads: int | None = None
    blocks: int | None = None
    occupancy: Occupancy | None = None
    """None when the block's size is not known."""
    roofline: Roofline | None = None
    """None when the peaks of the GPU are not listed or the work is not known."""


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """The kernels of one CUDA text for architecture `arch`, or why there is no analysis.

    When NVRTC refuses the text, `line` (1-based) and `text` are the line of the CUDA text.
    """

    status: Literal["analysed", "refused", "unavailable"]
    arch: str
    compiler: str = ""
    kernels: tuple[KernelAnalysis, ...] = ()
    reason: str = ""
    line: int | None = None
    text: str = ""
    kernel: str = ""
    """The kernel that the refused line is in."""
    log: str = ""
    step: int | None = None
    """The first step (1-based; 0: the module as loaded) after which the text is refused."""
    step_line: str = ""
