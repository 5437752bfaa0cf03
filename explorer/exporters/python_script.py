"""One self-contained Python script: module, schedule, target, build, check and timing.

It needs TVM and numpy alone and says clearly what it did; see `script_main.txt` for what it runs.
"""

from __future__ import annotations

import ast
import json
import keyword
import re
from pathlib import Path

from explorer.exporters.base import Material, heading
from explorer.model.nest import Function

NAME = "python"
LABEL = "Python script"
SUFFIX = ".py"

DEFAULT_SIZE = 128
"""Value of a symbolic size that the user gave none for; the script says so."""
LONG_TEXT = 100
"""A text with line breaks longer than this is moved out of the schedule, where it can be read."""
_MAIN = Path(__file__).with_name("script_main.txt")
_INT = re.compile(r"\bT\.u?int\d+\((-?\w+)\)")


def render(material: Material) -> str:
    """The script's text."""
    lines, results = _lift_texts(material.lines)
    constants = [
        _docstring(material),
        _imports(material),
        _sizes(material),
        _target(material),
        _arguments(material),
        _text("MODULE", material.loaded.text),
        *results,
    ]
    top = "\n\n".join(part for part in constants if part)
    main = _MAIN.read_text(encoding="utf-8").strip("\n")
    return f"{top}\n\n\n{_schedule(lines)}\n\n\n{main}\n"


def _docstring(material: Material) -> str:
    lines = [
        *heading(material),
        "",
        "Run it: it builds, checks and times. --source prints the CUDA source; --help the rest.",
    ]
    text = "\n".join(lines).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""{text}\n"""'


def _imports(material: Material) -> str:
    lines = ["import argparse", "import sys", "import time", "", "import numpy as np", "import tvm"]
    lines.append("from tvm import s_tir")
    code = "\n".join(material.lines)
    if "tensorize(" in code and "tensor_intrin" not in code:
        lines.append("from tvm.s_tir.tensor_intrin import cuda as _  # registers the intrinsics")
    if re.search(r"\bdlight\b", code):
        lines.append("from tvm.s_tir import dlight")
    if re.search(r"\bT\.", code):
        lines.append("from tvm.script import tirx as T")
    return "\n".join(lines)


def _sizes(material: Material) -> str:
    names = dict.fromkeys(name for f in _kernel_functions(material) for name in f.symbols)
    lines = []
    for name in names:
        constant = _free(name)
        if name in material.experiment.sizes:
            lines.append(f"{constant} = {material.experiment.sizes[name]}  # symbolic size")
        else:
            lines.append(
                f"{constant} = {DEFAULT_SIZE}  # symbolic size: no value was given, set yours"
            )
    return "\n".join(lines)


def _target(material: Material) -> str:
    target = material.target
    if target.kind == "llvm":
        return 'TARGET = {"kind": "llvm"}'
    fields: dict[str, object] = {
        "kind": "cuda",
        "arch": target.arch,
        "max_num_threads": target.max_threads_per_block,
        "max_threads_per_block": target.max_threads_per_block,
        "max_shared_memory_per_block": target.max_shared_memory_per_block,
        "thread_warp_size": target.thread_warp_size,
        "registers_per_block": target.registers_per_block,
    }
    if target.l2_cache_size_bytes is not None:
        fields["l2_cache_size_bytes"] = target.l2_cache_size_bytes
    items = (f"    {json.dumps(key)}: {json.dumps(value)}," for key, value in fields.items())
    return "\n".join([f"TARGET = {{  # {target.tag}", *items, "}"])


def _kernel_functions(material: Material) -> list[Function]:
    names = {each.name for each in material.build.functions if each.status == "built"}
    return [function for function in material.nest.functions if function.name in names]


def _arguments(material: Material) -> str:
    lines = ["# Arguments of each function: name, shape (None: a number), dtype."]
    lines.append("ARGUMENTS = {")
    for function in _kernel_functions(material):
        lines.append(f"    {json.dumps(function.name)}: [")
        buffers = {buffer.name: buffer for buffer in function.buffers if buffer.param}
        for param in function.params:
            buffer = buffers.get(param)
            if buffer is None:
                lines.append(f'        ({json.dumps(_free(param))}, None, "int64"),')
                continue
            comma = "," if len(buffer.shape) == 1 else ""
            shape = ", ".join(_python(size) for size in buffer.shape)
            name, dtype = json.dumps(param), json.dumps(buffer.dtype)
            lines.append(f"        ({name}, ({shape}{comma}), {dtype}),")
        lines.append("    ],")
    return "\n".join([*lines, "}"])


def _python(size: str) -> str:
    """A size as plain Python: TVM's integer types taken off."""
    previous = ""
    while previous != size:
        previous, size = size, _INT.sub(r"\1", size)
    size = size.replace("T.max(", "max(").replace("T.min(", "min(")
    return re.sub(r"(?<![\w.])[A-Za-z_]\w*(?!\s*\()", lambda name: _free(name[0]), size)


def _free(name: str) -> str:
    """The name of a size, changed where the script means something else by it."""
    main = _MAIN.read_text(encoding="utf-8")
    taken = set(re.findall(r"^(?:def )?([A-Za-z_]\w*)(?:\(| =)", main, re.MULTILINE))
    taken |= {"argparse", "sys", "time", "np", "tvm", "s_tir", "dlight", "T", "TARGET", "ARGUMENTS"}
    taken |= {"MODULE", "apply_schedule", *keyword.kwlist}
    return f"{name}_size" if name in taken else name


def _text(name: str, text: str) -> str:
    """A constant that holds a text, readable where Python's quotes allow it."""
    body = text.strip("\n")
    quote = "'''" if "'''" not in body else '"""'
    if quote in body or (body.endswith("\\") and "\\" in body):
        return f"{name} = {text!r}"
    raw = "r" if "\\" in body else ""
    return f"{name} = {raw}{quote}\n{body}\n{quote}"


def _lift_texts(lines: tuple[str, ...]) -> tuple[tuple[str, ...], list[str]]:
    """Lines whose long texts became constants of their own, and these constants."""
    constants: list[str] = []
    lifted = []
    for line in lines:
        try:
            tree = ast.parse(line)
        except SyntaxError:
            lifted.append(line)
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                written = ast.get_source_segment(line, node)
                if written and "\n" in node.value and len(node.value) > LONG_TEXT:
                    name = f"RESULT_{len(constants) + 1}"
                    constants.append(_text(name, node.value))
                    line = line.replace(written, name)
        lifted.append(line)
    return tuple(lifted), constants


def _schedule(lines: tuple[str, ...]) -> str:
    body = "\n".join(f"    {line}" for text in lines for line in text.splitlines())
    doc = '    """Apply the steps; the names are those of the loops and blocks."""'
    parts = ["def apply_schedule(sch):", doc, *([body] if body else []), "    return sch"]
    return "\n".join(parts)
