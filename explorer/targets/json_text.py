"""TVM's JSON form: `{"kind": "cuda", "arch": "sm_90", "max_threads_per_block": 1024}`."""

from __future__ import annotations

import msgspec

from explorer.errors import TargetError
from explorer.model.target import Target
from explorer.targets.host import LLVM
from explorer.targets.limits import complete

LIMITS = (
    "max_threads_per_block",
    "max_shared_memory_per_block",
    "thread_warp_size",
    "registers_per_block",
    "l2_cache_size_bytes",
)


class _Text(msgspec.Struct, forbid_unknown_fields=True):
    """The attributes of TVM's target that mean something here."""

    kind: str
    arch: str = ""
    tag: str = ""
    keys: list[str] = []
    host: object = None
    mcpu: str = ""
    mtriple: str = ""
    max_num_threads: int | None = None
    max_threads_per_block: int | None = None
    max_shared_memory_per_block: int | None = None
    thread_warp_size: int | None = None
    registers_per_block: int | None = None
    l2_cache_size_bytes: int | None = None


def read(text: str, tags: tuple[Target, ...]) -> Target | None:
    """The target of a JSON object, None for other text.  Raises TargetError when it can't be read.

    An architecture left out comes from the tag named in it; there is no other default.
    """
    if not text.startswith("{"):
        return None
    try:
        given = msgspec.json.decode(text, type=_Text)
    except msgspec.DecodeError as error:
        raise TargetError(
            "The target is not an object that TVM reads.", str(error),
            'Write it like {"kind": "cuda", "arch": "sm_90"}.',
        ) from error  # fmt: skip
    if given.kind == "llvm":
        return LLVM
    if given.kind != "cuda":
        raise TargetError(
            f"Targets of kind {given.kind} are not built here.", "Kernels are made for CUDA.",
            'Use {"kind": "cuda", "arch": "sm_90"} or llvm.',
        )  # fmt: skip
    base = next((target for target in tags if target.tag == given.tag), None)
    arch = given.arch or (base.arch if base else "")
    if not arch:
        raise TargetError(
            "The target has no arch.", "Limits and code depend on it.", 'Add "arch": "sm_90".'
        )
    stated = {name: getattr(base, name) for name in LIMITS} if base else {}
    stated |= {name: getattr(given, name) for name in LIMITS if getattr(given, name) is not None}
    stated = {name: value for name, value in stated.items() if value is not None}
    if given.max_num_threads is not None:
        stated.setdefault("max_threads_per_block", given.max_num_threads)
    return complete(text, arch, stated)
