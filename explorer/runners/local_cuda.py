"""A GPU of this machine, through TVM's own runtime.

It is found with nvidia-smi: asking CUDA would tie the asking process to it.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess

from explorer.errors import Refusal
from explorer.model.options import REMOTE
from explorer.model.race import Where
from explorer.model.target import Target
from explorer.runners.base import Connection, Place, Say, Unreachable
from explorer.targets.local import detect

NAME = "local_cuda"
LABEL = "This machine's NVIDIA GPU"
WARNING = ""


def can_run(target: Target) -> Refusal | None:
    """CUDA code of an architecture that a GPU here runs, with the tools to compile it."""
    if target.kind != "cuda":
        return Refusal(
            what=f"A GPU can't run code for {target.tag}.",
            why="It is code for a processor.",
            do='Choose the runner "llvm", or a CUDA target.',
        )
    gpus = detect()
    if not gpus:
        return Refusal(
            what="No CUDA device on this machine.",
            why="nvidia-smi is missing or lists none.",
            do=f"Time it where a GPU is: {REMOTE}.",
        )
    if not any(runs(target.arch, arch) for _, arch in gpus):
        have = ", ".join(f"{name} ({arch})" for name, arch in gpus)
        return Refusal(
            what=f"Code for {target.arch} does not run on this machine's GPU.",
            why=f"Here is: {have}.",
            do='Build for it: choose the target "local".',
        )
    return missing()


def runs(built_for: str, device: str) -> bool:
    """A cubin runs on its own architecture and on later ones of the same major version."""
    wanted, have = (int(re.sub(r"\D", "", arch) or 0) for arch in (built_for, device))
    if built_for.endswith(("a", "f")):
        return wanted == have
    return wanted // 10 == have // 10 and wanted <= have


def missing() -> Refusal | None:
    """What TVM needs to make a binary of CUDA text, with the command that repairs it."""
    if shutil.which("nvcc") or importlib.util.find_spec("cuda.bindings") is not None:
        return None
    return Refusal(
        what="The CUDA text can't be compiled here.",
        why="Neither NVRTC with cuda-bindings nor nvcc is installed.",
        do="pip install -r requirements.txt",
    )


def places(where: Where, target: Target) -> tuple[Place, ...] | Refusal:
    """The GPU of the number asked for."""
    gpus = detect()
    if not 0 <= where.device < len(gpus):
        return Refusal(
            what=f"There is no CUDA device {where.device} on this machine.",
            why=f"nvidia-smi lists {len(gpus)}.",
            do=f"Name one from 0 to {len(gpus) - 1}." if gpus else f"Or {REMOTE}.",
        )
    name, arch = gpus[where.device]
    index = where.device
    return (Place(name=f"{name} ({arch})", lock=f"cuda{index}", number=index, cuda=True),)


def connect(place: Place, where: Where, session_s: float, say: Say) -> Connection:
    """The GPU, initialised in this process only.  Raises Unreachable."""
    import tvm

    device = tvm.cuda(place.number)
    if not device.exist:
        raise Unreachable(
            "TVM's CUDA runtime sees no such device, though nvidia-smi lists it. Check the driver"
            " (nvidia-smi) and CUDA_VISIBLE_DEVICES."
        )
    return Connection(
        device=device, name=place.name, driver=driver(place.number), load=lambda built: built
    )


def driver(index: int) -> str:
    """The driver's version, or ""."""
    return (query(index, "driver_version") or [""])[0]


def state(index: int) -> tuple[str, ...]:
    """Clock, temperature, throttling and other programs' load, in words; empty when not told."""
    fields = ("clocks.sm", "temperature.gpu", "clocks_throttle_reasons.active", "utilization.gpu")
    found = query(index, ",".join(fields))
    if len(found) != len(fields):
        return ()
    clock, celsius, throttle, load = found
    notes = [f"SM clock {clock} MHz, {celsius} °C"]
    # Bit 0 is "idle", bit 1 "application clocks": neither is a disturbance.
    if throttle.startswith("0x") and int(throttle, 16) & ~0b11:
        notes.append(f"the GPU is throttled (reasons {throttle})")
    if load.isdigit() and int(load) >= 20:
        notes.append(f"the GPU is busy with other work ({load} %)")
    return tuple(notes)


def query(index: int, fields: str) -> list[str]:
    """nvidia-smi's word on `fields`; empty when there is none."""
    try:
        done = subprocess.run(
            ["nvidia-smi", f"--id={index}", f"--query-gpu={fields}",
             "--format=csv,noheader,nounits"],
            capture_output=True, text=True, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return []
    lines = done.stdout.strip().splitlines()
    return [part.strip() for part in lines[0].split(",")] if lines else []
