"""An architecture by hand: `sm_90`, `90`, `9.0`, `compute_90`, `cuda -arch=sm_90`, `cuda`."""

from __future__ import annotations

import re

from explorer.model.target import Target
from explorer.targets.limits import complete
from explorer.targets.local import local_gpu

_TEXT = re.compile(
    r"(?:(?:cuda|nvcc)\s+)?(?:-{1,2}(?:gpu-architecture|gpu-code|arch|code)[= ])?"
    r"(?P<prefix>sm_?|compute_?)?(?P<major>\d{1,2})\.?(?P<minor>\d)(?P<suffix>[af]?)",
    re.IGNORECASE,
)
OLDEST_COMPILED = "sm_75"
"""The oldest architecture the NVRTC of CUDA 13 compiles; assumed where no architecture is given."""


def read(text: str, tags: tuple[Target, ...]) -> Target | None:
    """The target of an architecture's name, None when the text is something else.

    Raises TargetError when there is no such architecture.
    """
    if text.lower() == "cuda":
        return _any_cuda(tags)
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    arch = f"sm_{match['major']}{match['minor']}{match['suffix'].lower()}"
    return complete(arch, arch, {})


def _any_cuda(tags: tuple[Target, ...]) -> Target:
    local = local_gpu(tags)
    if local is not None:
        return local
    note = (
        f"arch = {OLDEST_COMPILED} (none was given and no GPU was found;"
        " the oldest that CUDA 13 compiles)"
    )
    return complete("cuda", OLDEST_COMPILED, {}, (note,))
