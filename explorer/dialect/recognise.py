"""What a text is when it holds no module, and what to do then."""

from __future__ import annotations

import json
import re

from explorer import error_texts
from explorer.errors import LoadError

_SHOW = "Print the module with mod.script() and paste what it prints."


def binary(text: str) -> LoadError | None:
    """A refusal for what is no text at all."""
    odd = sum(
        1 for char in text[:4096] if char == "\ufffd" or (char < " " and char not in "\t\n\r\f\v")
    )
    if "\0" in text or odd > 8:
        return LoadError(
            "This is not a text file.",
            "It holds bytes that no Python text has.",
            "Upload a .py or .ipynb file, or paste the module's text.",
        )
    return None


def recognise(text: str) -> LoadError:
    """The refusal for a text without a module: what it is and what would load."""
    if not text.strip():
        return LoadError(
            "The text is empty.", do="Paste a TVMScript module, or pick a sample to start from."
        )
    if text.lstrip()[0] in "{[":
        found = _json(text)
        if found is not None:
            return found
    known = error_texts.explain(text)
    if known is not None:
        what = f"This is an error text without its module. {known.what}"
        do = f"{known.do} Paste the module too: it is looked at, and cures are tried.".strip()
        return LoadError(what, known.why, do, line=known.line)
    if error_texts.is_error(text):
        return LoadError(
            "This is an error text, not a module.",
            "What it complains about can be shown on the module itself.",
            "Paste the module that was built when it appeared.",
        )
    for pattern, what, why, do in _KINDS:
        match = re.search(pattern, text, re.MULTILINE)
        if match:
            return LoadError(what, why, do, line=text.count("\n", 0, match.start()) + 1)
    return LoadError(
        "There is no TVMScript module in this text.",
        "A module is a class under @I.ir_module, or a function under @T.prim_func.",
        "Paste the module itself, or pick a sample to see one.",
    )


def _json(text: str) -> LoadError | None:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(data, dict) and "cells" in data:
        return LoadError(
            "There is no TVMScript module in this notebook.",
            "None of its code cells has an @I.ir_module class or a @T.prim_func function.",
            "Paste the cell that holds the module.",
        )
    if isinstance(data, dict) and {"source", "variants"} <= set(data):
        return LoadError(
            "This is an experiment file, not a module.", do="Open it with “Open experiment”."
        )
    if isinstance(data, list) and len(data) == 2 and all(isinstance(one, list) for one in data):
        return LoadError(
            "This is the JSON of a schedule's trace, not a module.",
            "A trace says what to do with a module; it does not hold one.",
            "Load the module first, then open this file as a schedule.",
        )
    if isinstance(data, dict) and "nodes" in data:
        return LoadError(
            "This is a module saved as JSON, which depends on the TVM that wrote it.", do=_SHOW
        )
    return LoadError("This is JSON, not TVMScript.", do="Load the .py or .ipynb file.")


_KINDS: tuple[tuple[str, str, str, str], ...] = (
    (
        r"<html|<!DOCTYPE html|<body",
        "This is a web page's source, not a module.",
        "",
        "Copy the module's text from the page.",
    ),
    (
        r"__global__|#include\s*[<\"]|extern \"C\"|\bthreadIdx\.x\s*[;\])]",
        "This is C or CUDA, not TVMScript.",
        "A kernel's source can't be turned back into a module.",
        _SHOW,
    ),
    (
        r"^\s*primfn\(|^#\[version|^@\w+ = primfn",
        "This is how TVM printed functions before TVMScript; it can't be read back.",
        "",
        "Print it with mod.script() in a TVM from 2022 or later.",
    ),
    (
        r"\b(?:sch|schedule|s)\.(?:get_s?block|get_loops|split|bind|reorder)\(",
        "This is a schedule without its module.",
        "It needs the module it was written for.",
        "Load the module first, then open this text as a schedule.",
    ),
    (
        r"\bte\.(?:compute|placeholder|create_schedule)\(",
        "This builds a module from tensor expressions; code is not run here.",
        "",
        "Print te.create_prim_func([…]).script() where it runs, and paste what it prints.",
    ),
    (
        r"@(?:triton\.)?jit\b|\btl\.(?:load|store|program_id)\(",
        "This is Triton, not TVMScript.",
        "",
        "Load a TVMScript module.",
    ),
    (
        r"\brelay\.\w+\(|^\s*fn \(%|^def @main\(",
        "This is Relay, which TVM 0.27 does not have.",
        "",
        "Lower it to TensorIR with the TVM that has it, and print that with mod.script().",
    ),
    (
        r"\bnn\.Module\b|\btorch\.\w+\(|from_exported_program|from_onnx",
        "This is a model, not a TensorIR module; code is not run here.",
        "",
        "Import and legalise it with TVM, then paste what mod.script() prints.",
    ),
    (
        r"^\s*(?:def|class|import|from)\s",
        "There is Python in this text, but no TVMScript module.",
        "A module is a class under @I.ir_module, or a function under @T.prim_func.",
        "Paste the module itself; code that makes one is not run.",
    ),
)
