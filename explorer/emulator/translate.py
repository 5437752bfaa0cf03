"""CUDA text → C++ for the emulator.

Only three things change: `__shared__` declarations ask the runtime for their memory, inline PTX
becomes calls, and each kernel gets an entry for the host.  Everything else is compiled as it is.
"""

from __future__ import annotations

import re

import msgspec

from explorer.emulator.ptx import translate_asm
from explorer.emulator.text import Unsupported, blank_comments

_SHARED = re.compile(
    r"(?P<extern>\bextern\s+)?\b__shared__\s+"
    r"(?P<pre>(?:alignas\s*\(\s*\d+\s*\)\s*|__align__\s*\(\s*\d+\s*\)\s*|volatile\s+)*)"
    r"(?P<type>[A-Za-z_][\w:]*(?:\s+(?:char|short|int|long|double))*(?:\s*<[^;{}]*?>)?)\s+"
    r"(?P<name>[A-Za-z_]\w*)\s*(?P<dims>(?:\[[^\]]*\]\s*)*);"
)
_KERNEL = re.compile(r"\b__global__\b[^;{}()]*?(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\(")
_REFUSED = {
    "cooperative_groups": "cooperative groups",
    "cuda::barrier": "cuda::barrier",
    "cuda::pipeline": "cuda::pipeline",
    "__managed__": "__managed__ memory",
    "tex2D": "textures",
    "__cluster_dims__": "thread block clusters",
    "cudaLaunchDevice": "launches from the device",
}


class Program(msgspec.Struct, frozen=True):
    """A translated text: the C++ and the names of its kernels in order."""

    cpp: str
    kernels: tuple[str, ...]


def translate(cuda: str, arch: str = "sm_80") -> Program:
    """C++ for the emulator.  Raises Unsupported with the construct that it does not know."""
    plain = blank_comments(cuda)
    for token, what in _REFUSED.items():
        if token in plain:
            raise Unsupported(what)
    body = translate_asm(cuda)
    body = _SHARED.sub(_shared, body)
    left = re.search(r"__shared__[^;]*", blank_comments(body))
    if left:
        raise Unsupported(f"the declaration `{left.group(0).strip()}`")
    kernels = tuple(dict.fromkeys(_KERNEL.findall(plain)))
    if not kernels:
        raise Unsupported("a text without a __global__ function")
    body = re.sub(r'extern\s+"C"\s+(?=[^;{}"]*__global__)', "", body)
    digits = re.match(r"sm_(\d+)", arch)
    head = f"#define __CUDA_ARCH__ {digits.group(1) if digits else 80}0\n"
    entries = "".join(f"EMU_KERNEL({name})\n" for name in kernels)
    # The text's own macros (uint, max …) must not reach the entries' machinery: they are last.
    return Program(f'{head}#line 1 "kernel.cu"\n{body}\n{entries}', kernels)


def _shared(found: re.Match[str]) -> str:
    """The declaration as a reference to memory that the runtime owns, poisons and watches."""
    kind, name, dims = found["type"].strip(), found["name"], found["dims"].strip()
    volatile = "volatile " if "volatile" in found["pre"] else ""
    if found["extern"]:
        return (
            f"{volatile}{kind}* {name} = "
            f'({volatile}{kind}*)emu_dynamic_shared("{name}", sizeof({kind}));'
        )
    whole = f"{kind}{dims}"
    place = f'emu_static_shared("{name}", sizeof({whole}), sizeof({kind}))'
    if not dims:
        return f"{volatile}{kind}& {name} = *({volatile}{kind}*){place};"
    return f"auto& {name} = *({volatile}{kind}(*){dims}){place};"
