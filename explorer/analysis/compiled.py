"""Reads what NVIDIA's tools print: ptxas's resource lines, PTX by kernel, SASS by kernel."""

from __future__ import annotations

import re

import msgspec

_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers(?:, used (\d+) barriers)?(.*)")
_BYTES = re.compile(r"(\d+) bytes (smem|cmem\[\d+\])")
_PTX_ENTRY = re.compile(r"^(?:\s*// \.globl\s+\w+\n)?\.visible \.entry (\w+)\(", re.MULTILINE)
_SECTION = re.compile(r"^//-+ \.(\S+)\s+-+$", re.MULTILINE)
_LINE = re.compile(r'//## File "([^"]*)", line (\d+)')
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]+\*/")


class Resources(msgspec.Struct, frozen=True, kw_only=True):
    """ptxas's numbers for one kernel."""

    registers: int = 0
    barriers: int = 0
    stack_bytes: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    shared_bytes: int = 0
    constant_bytes: int = 0


class Sass(msgspec.Struct, frozen=True):
    """The machine code of one kernel as text, and the CUDA line of each of its lines (0: none)."""

    text: str
    lines: tuple[int, ...]
    instructions: int


def resources(log: str) -> dict[str, Resources]:
    """Ptxas's numbers by kernel, from the log of `--ptxas-options=-v`."""
    found: dict[str, Resources] = {}
    name = ""
    for line in log.splitlines():
        if entry := _ENTRY.search(line):
            name = entry[1]
            found[name] = Resources()
        elif not name:
            continue
        elif stack := _STACK.search(line):
            found[name] = msgspec.structs.replace(
                found[name], stack_bytes=int(stack[1]), spill_store_bytes=int(stack[2]),
                spill_load_bytes=int(stack[3]),
            )  # fmt: skip
        elif used := _USED.search(line):
            sizes = [(kind, int(count)) for count, kind in _BYTES.findall(used[3])]
            found[name] = msgspec.structs.replace(
                found[name], registers=int(used[1]), barriers=int(used[2] or 0),
                shared_bytes=sum(count for kind, count in sizes if kind == "smem"),
                constant_bytes=sum(count for kind, count in sizes if kind != "smem"),
            )  # fmt: skip
    return found


def ptx_by_kernel(ptx: str) -> dict[str, str]:
    """The PTX of each kernel, without the file's head."""
    starts = [(match.start(), match[1]) for match in _PTX_ENTRY.finditer(ptx)]
    ends = [start for start, _ in starts[1:]] + [len(ptx)]
    return {name: ptx[start:end].strip() for (start, name), end in zip(starts, ends, strict=True)}


def sass_by_kernel(disassembly: str) -> dict[str, Sass]:
    """The SASS of each kernel from `nvdisasm -g -c`."""
    found: dict[str, Sass] = {}
    pieces = _SECTION.split(disassembly)
    for section, body in zip(pieces[1::2], pieces[2::2], strict=True):
        if section.startswith("text."):
            found[section.removeprefix("text.")] = _sass(body)
    return found


def _sass(body: str) -> Sass:
    text: list[str] = []
    lines: list[int] = []
    at = count = 0
    for line in body.splitlines():
        if mark := _LINE.search(line):
            at = int(mark[2]) if mark[1].endswith("kernel.cu") else 0
        elif line.strip() and (line.startswith(".L_") or _INSTRUCTION.match(line)):
            text.append(line.rstrip() if line.startswith(".") else f"  {line.strip()}")
            lines.append(at)
            count += bool(_INSTRUCTION.match(line))
    return Sass("\n".join(text), tuple(lines), count)
