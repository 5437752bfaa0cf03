"""The GPU of this machine, found with nvidia-smi: asking CUDA here would tie the process to it."""

from __future__ import annotations

import functools
import subprocess

import msgspec

from explorer.errors import TargetError
from explorer.model.target import Target
from explorer.targets.limits import complete
from explorer.targets.tag import plain


def read(text: str, tags: tuple[Target, ...]) -> Target | None:
    """The local GPU for "local" or "native".  Raises TargetError when there is none."""
    if text.lower() not in ("local", "native"):
        return None
    found = local_gpu(tags)
    if found is None:
        raise TargetError(
            "No NVIDIA GPU was found on this machine.",
            "nvidia-smi is missing or lists none.",
            "Name a device (nvidia/geforce-rtx-4090) or an architecture (sm_90).",
        )
    return found


def local_gpu(tags: tuple[Target, ...]) -> Target | None:
    """The first local GPU as a target, by TVM's tag where one fits, or None without a GPU."""
    gpus = detect()
    if not gpus:
        return None
    name, arch = gpus[0]
    for target in tags:
        if plain(target.tag) == plain(name) and target.arch.rstrip("af") == arch:
            return target
    return msgspec.structs.replace(complete(arch, arch, {}), tag=arch)


@functools.cache
def detect() -> tuple[tuple[str, str], ...]:
    """Name and architecture of every local GPU, as nvidia-smi lists them; empty without one."""
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader"],
            capture_output=True, text=True, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ()
    return parse(done.stdout)


def parse(listing: str) -> tuple[tuple[str, str], ...]:
    """nvidia-smi's lines `name, 8.9` as pairs of name and architecture."""
    pairs = (line.rpartition(",") for line in listing.splitlines() if "," in line)
    return tuple(
        (name.strip(), "sm_" + capability.strip().replace(".", ""))
        for name, _, capability in pairs
        if capability.strip().replace(".", "").isdigit()
    )
