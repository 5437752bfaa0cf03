"""Inline PTX → calls of the emulator (stub replaced below)."""

from __future__ import annotations

import re

from explorer.emulator.text import Unsupported


def translate_asm(cuda: str) -> str:
    if re.search(r"\basm\b|__asm__\s*(?:volatile|__volatile__)?\s*\(", cuda.split('extern "C" __global__')[-1]):
        raise Unsupported("inline PTX")
    return cuda
