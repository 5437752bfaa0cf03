"""llvm: code for this machine's processor, the reference that kernels are compared with."""

from __future__ import annotations

from explorer.model.target import Target

LLVM = Target(tag="llvm", kind="llvm", arch="")


def read(text: str, tags: tuple[Target, ...]) -> Target | None:
    """The CPU target when the text is "llvm" or "cpu"."""
    return LLVM if text.lower() in ("llvm", "cpu") else None
