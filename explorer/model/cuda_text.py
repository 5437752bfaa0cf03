"""Emitted CUDA text taken apart: what comes before the kernels, and each kernel's own text."""

from __future__ import annotations

import re

_HEAD = re.compile(r'^extern "C" __global__ (?:__\w+__\([^)]*\)\s*|\w+\s+)*(\w+)\(', re.MULTILINE)


def kernel_texts(source: str) -> dict[str, str]:
    """The definition of each `__global__` function by name, without declarations."""
    found = {}
    for head in _HEAD.finditer(source):
        brace, semicolon = source.find("{", head.end()), source.find(";", head.end())
        if brace >= 0 and not 0 <= semicolon < brace:
            end = source.find("\n}", brace)
            found[head[1]] = source[head.start() : end + 2 if end >= 0 else len(source)]
    return found


def preamble(source: str) -> str:
    """Headers, type definitions and helpers before the first kernel: what a reader may fold."""
    head = _HEAD.search(source)
    return source[: head.start()] if head else source
