"""What it is: a vectorised access whose address is not a multiple of its width, or whose elements
are not neighbours.

Why it matters: a float4 at an address that is no multiple of 16 is an error on the GPU
(misaligned address); TVM splits what it can't prove aligned or contiguous into scalar accesses,
so nothing is won.

What to try: vectorise a loop whose start and row length are multiples of the vector's length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from explorer.analysis.kernel import Access
from explorer.findings.base import Context, finding
from explorer.findings.launches import launches
from explorer.model.result import Finding

CODE = "misaligned_vector"
TITLE = "A vector access that is not aligned"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per distinct vector access of shared or global memory that is off."""
    for launch in launches(ctx):
        seen = set()
        for access in launch.kernel.accesses if launch.kernel else ():
            name = (access.kind, access.buffer, access.lanes)
            if access.lanes < 2 or access.element is None or name in seen:
                continue
            if not (access.is_global or access.is_shared):
                continue
            why = _why(access)
            if why:
                seen.add(name)
                yield finding(
                    CODE, "warning", launch.function, launch.node,
                    f"The {access.kind} of {access.buffer} by {access.lanes} x {access.dtype} is"
                    f" not vectorisable: {why}.",
                    f"Vectorise where start and row length are multiples of {access.lanes}.",
                    where=f"{launch.where}, {access.buffer}[{access.index}]",
                )  # fmt: skip


def _why(access: Access) -> str:
    assert access.element is not None
    if not access.contiguous:
        return "its elements are not neighbours in memory"
    at = np.unique(access.element[access.active] % access.lanes)
    if not at.size or (at == 0).all():
        return ""
    first = int(np.min(access.element[access.active]))
    steps = [int(step) for step in re.findall(r"\* (\d+)", access.index)]
    odd = [str(step) for step in steps if step % access.lanes]
    stride = f", stride {', '.join(odd)}" if odd else ""
    return f"offset {first}{stride}, no multiple of {access.lanes}"
