"""The CUDA text of all kernels, with each kernel's launch in the heading."""

from __future__ import annotations

from explorer.errors import BuildError
from explorer.exporters.base import Material, heading
from explorer.model.result import Kernel

NAME = "cuda"
LABEL = "CUDA source"
SUFFIX = ".cu"


def render(material: Material) -> str:
    """The text.  Raises BuildError when the variant has no kernel."""
    if not material.build.source or material.target.kind != "cuda":
        raise BuildError(
            "There is no CUDA source to save.",
            material.build.reason or "No function of this variant became a kernel.",
            "Bind a loop, or apply DefaultGPUSchedule or dlight.",
        )
    lines = heading(material)
    for function in material.build.functions:
        lines += [launch(kernel) for kernel in function.kernels]
    comments = "\n".join(f"// {line}".rstrip() for line in lines)
    return f"{comments}\n\n{material.build.source.strip()}\n"


def launch(kernel: Kernel) -> str:
    """How the host launches a kernel, in one line."""
    text = f"Launch {kernel.name}<<<({', '.join(kernel.grid)}), ({', '.join(kernel.block)})"
    text += f", {kernel.dynamic_shared_bytes}>>>" if kernel.dynamic_shared_bytes else ">>>"
    return text + (f", {kernel.launches} times" if kernel.launches != "1" else "")
