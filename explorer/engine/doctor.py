"""What this machine has of what the program uses, and what to run where something is missing."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from explorer.emulator import compiler as cc
from explorer.engine import nvrtc
from explorer.errors import ToolMissing
from explorer.model.doctor import CPP, Tool
from explorer.targets.local import detect

REQUIREMENTS = "pip install -r requirements.txt"
TVM, FFI = "0.27.0.post1", "0.1.14.post1"
"""The versions this program was made for; FACTS: a newer tvm-ffi crashes in tensorize."""


def tools() -> tuple[Tool, ...]:
    """Everything that matters, required things first."""
    return (
        _python(),
        _package("apache-tvm", "schedules and builds", TVM),
        _package("apache-tvm-ffi", "TVM's foundation", FFI),
        _package("msgspec", "data between processes"),
        _package("streamlit", "the page in the browser"),
        _package("graphviz", "drawing the loop nest", required=False),
        _package("tornado", "timing on other machines through TVM RPC", required=False),
        _nvrtc(),
        _compiler(),
        _gpu(),
    )


def _python() -> Tool:
    good = sys.version_info >= (3, 11)
    return Tool(
        name="Python", found=good, version=platform.python_version(), required=True,
        purpose="runs everything", repair="" if good else "Install Python 3.11.",
    )  # fmt: skip


def _package(name: str, purpose: str, wanted: str = "", *, required: bool = True) -> Tool:
    try:
        found = version(name)
    except PackageNotFoundError:
        found = ""
    good = bool(found) and (not wanted or found == wanted)
    repair = REQUIREMENTS
    if found and not good:
        repair = f"Version {wanted} is needed: {REQUIREMENTS}"
    return Tool(
        name=name, found=good, version=found, purpose=purpose, required=required,
        repair="" if good else repair,
    )  # fmt: skip


def _nvrtc() -> Tool:
    purpose = "compiles the CUDA text, without a GPU: the last word on a build"
    try:
        nvrtc.include_folders()
        known = nvrtc.architectures()
        text = f"{nvrtc.version()} ({known[0]} and newer)"
        return Tool(name="NVRTC", found=True, version=text, purpose=purpose)
    except ToolMissing:
        return Tool(name="NVRTC", found=False, purpose=purpose, repair=REQUIREMENTS)


def _compiler() -> Tool:
    found = cc.find_compiler()
    return Tool(
        name=CPP, found=found is not None,
        version="" if found is None else f"{found.version} ({' '.join(found.command)})",
        purpose="runs generated kernels on the CPU to check their results",
        repair="" if found is not None else f"apt install g++  ({cc.no_compiler()})",
    )  # fmt: skip


def _gpu() -> Tool:
    gpus = ", ".join(f"{name} ({arch})" for name, arch in detect())
    return Tool(
        name="NVIDIA GPU", found=bool(gpus), version=gpus, purpose="times kernels",
        repair="" if gpus else "Not needed for anything else: run an exported script where one is.",
    )  # fmt: skip
