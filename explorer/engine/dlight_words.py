"""What a dlight rule did, in words: the test it declined at, where it failed, what it chose.

A test that `dlight_tests` does not know (another TVM) is shown as the rule's source has it.
"""

from __future__ import annotations

import os
import traceback
from typing import Any

from tvm import s_tir, tirx

from explorer.engine.candidates import leaf_blocks
from explorer.engine.dlight_tests import NOT_NORMAL, WORDS, kinds, shape
from explorer.engine.refuse import REFUSALS, explain
from explorer.engine.xray import Exit, Test, decisive
from explorer.errors import StepRefused


def declined_in_words(rule: str, test: Test | None) -> tuple[str, str]:
    """The reason of a rule that declined, and where its source says so (as details)."""
    if test is None:
        return f"{rule} says no without a test of its own.", ""
    chain = [test]
    while chain[-1].asked is not None:
        chain.append(chain[-1].asked)
    details = "\n".join(
        f"{os.path.basename(t.file)}:{t.line} {t.function}: {'' if t.holds else 'not '}{t.source}"
        for t in chain
    )
    for found in reversed(chain):
        words = WORDS.get(found.source)
        if words is not None:
            try:
                sentence = words(found.values)
            except (KeyError, AttributeError, TypeError, IndexError):
                continue
            return sentence[0].upper() + sentence[1:], details
    last = chain[-1]
    return f"Its test `{last.source}` is {'true' if last.holds else 'false'}.", details


def failed_in_words(rule: str, error: Exception, func: Any) -> tuple[str, str]:
    """The reason of a rule that raised: the primitive and the loop, or the rule's own line."""
    frames = list(traceback.walk_tb(error.__traceback__))
    reason = reason_of(explain(rule, error)) if str(error) else type(error).__name__
    inside = [(f, n) for f, n in frames if f"{os.sep}dlight{os.sep}" in f.f_code.co_filename]
    where = ""
    if inside:
        frame, line = inside[-1]
        where = f"{os.path.basename(frame.f_code.co_filename)}:{line}"
    for frame, _ in reversed(frames):
        if frame.f_code.co_filename.endswith(os.path.join("schedule", "schedule.py")):
            method = frame.f_code.co_name
            if method.startswith("_"):
                continue
            target = _touched(frame.f_locals)
            return f"{method}{target} does not apply: {reason}", f"{where}\n{error}"
    own = f"The rule itself breaks ({type(error).__name__}): {reason}"
    if not leaf_blocks(func)[0]:
        own = "It has no T.sblock, which the rule takes for granted."
    elif isinstance(error, TypeError) and "NoneType" in str(error):
        own = f"{NOT_NORMAL}, which the rule takes for granted: {shape(func)}."
    return own, f"{where}\n{type(error).__name__}: {error}"


def reason_of(refused: StepRefused) -> str:
    """What and why of a refusal, without the sentence that only says that it was one."""
    problem = refused.problem
    what = "" if problem.what.endswith("does not apply here.") else problem.what
    return " ".join(part for part in (what, problem.why) if part)


def _touched(values: dict[str, Any]) -> str:
    """ " on loop i" for the loop or block a primitive was given."""
    sch = values.get("self")
    for value in values.values():
        items = value if isinstance(value, (list, tuple)) else (value,)
        for item in items:
            if isinstance(item, (s_tir.schedule.LoopRV, s_tir.schedule.SBlockRV)):
                try:
                    stmt = sch.get(item)  # type: ignore[union-attr]
                except REFUSALS:  # the variable is stale: then it has no name
                    continue
                if isinstance(stmt, tirx.For):
                    return f" on loop {stmt.loop_var.name}"
                return f" on block {stmt.name_hint} ({kinds(stmt)})"
        if isinstance(value, str) and value and value != "main":
            return f' of "{value}"'
    return ""


def applied_in_words(rule: str, sch: s_tir.Schedule, exits: list[Exit]) -> str:
    """What the rule chose: tensor cores or not and why, tiles, padding, caches."""
    by_kind: dict[str, list[Any]] = {}
    for inst in sch.trace.insts:
        by_kind.setdefault(str(inst.kind.name), []).append(inst)
    said = []
    if rule == "Matmul":
        said.append(_tensor_cores(by_kind, exits))
    for inst in by_kind.get("PadEinsum", []):
        tile = " × ".join(str(int(n)) for n in inst.attrs[0])
        said.append(f"iterators padded to multiples of {tile}")
    inlined = len(by_kind.get("ComputeInline", [])) + len(by_kind.get("ReverseComputeInline", []))
    if inlined:
        said.append(f"{inlined} block{'s' if inlined > 1 else ''} inlined")
    scopes: dict[str, int] = {}
    for kind in ("CacheRead", "CacheWrite", "SetScope"):
        for inst in by_kind.get(kind, []):
            scope = str(inst.attrs[1])
            scopes[scope] = scopes.get(scope, 0) + 1
    for scope, count in scopes.items():
        said.append(f"{count} buffer{'s' if count > 1 else ''} in {scope}")
    if by_kind.get("RFactor"):
        said.append("the reduction is shared among threads (rfactor)")
    if not said:
        said.append("spatial loops fused, split by threads and bound")
    text = "; ".join(said)
    return text[0].upper() + text[1:] + "."


def _tensor_cores(by_kind: dict[str, list[Any]], exits: list[Exit]) -> str:
    intrinsics = [str(inst.attrs[0]) for inst in by_kind.get("Tensorize", [])]
    sync = [name for name in intrinsics if "sync" in name] or intrinsics
    if sync:
        return f"tensor cores ({sync[0]})"
    values = exits[-1].values
    if values.get("apply_tensorization") is False:
        small = [
            f"{iv.var.name}={iv.dom.extent}"
            for iv in values["block_stmt"].iter_vars[1:]
            if isinstance(iv.dom.extent, tirx.IntImm)
            and iv.dom.extent.value <= values["minimal_tensorize_threshold"]
        ]
        return f"no tensor cores: {', '.join(small)} is not over 64"
    if "in_dtype" in values and values.get("tensorize_sch") is None:
        tried = [e for e in exits if e.function.endswith("Tensorization.apply")]
        if tried:
            reason, _ = declined_in_words("", decisive(exits[: exits.index(tried[-1]) + 1]))
            return f"no tensor cores: {reason.rstrip('.')}"
        return (
            f"no tensor cores: {values['in_dtype']} to {values['out_dtype']} has no intrinsic here"
        )
    return "no tensor cores"
