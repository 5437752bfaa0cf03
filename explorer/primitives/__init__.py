"""One file per schedule primitive.  `STEPS` finds them all; nothing else lists them."""

from __future__ import annotations

import importlib
import pkgutil
from functools import reduce
from operator import or_
from typing import Any

import msgspec

from explorer.errors import StepRefused
from explorer.model.nest import Function, Node
from explorer.primitives.base import MENUS, Offer, Step, defaults_of

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

STEPS: dict[str, type[Step]] = {cls.op(): cls for cls in Step.__subclasses__()}
"""Every primitive by the name of its schedule method."""

AnyStep: Any = reduce(or_, STEPS.values())
"""The tagged union of all steps, for decoding JSON."""

_DECODER = msgspec.json.Decoder(tuple[AnyStep, ...])


def encode_steps(steps: tuple[Step, ...]) -> bytes:
    """Steps as JSON: a list of objects with an "op" and TVM's argument names."""
    return msgspec.json.encode(steps)


def decode_steps(data: bytes | str) -> tuple[Step, ...]:
    """Steps back from `encode_steps`.  Raises msgspec.ValidationError on anything else."""
    return _DECODER.decode(data)


def offers(function: Function, node: Node) -> list[Offer]:
    """What can be done with `node`, menu by menu; empty where nothing can be scheduled."""
    if not function.schedulable:
        return []
    found = [offer for cls in STEPS.values() for offer in cls.offers(function, node)]
    return sorted(found, key=lambda offer: MENUS.index(offer.group))


def make(op: str, values: dict[str, Any], function: Function) -> Step:
    """The step `op` from what a form or command gives; text is read by the step's fields.

    Fields left out, None or empty keep TVM's default.  Raises StepRefused in one sentence.
    """
    cls = STEPS.get(op)
    if cls is None:
        raise StepRefused(f"There is no primitive {op}.", f"Known are: {', '.join(sorted(STEPS))}.")
    required = {
        name
        for name, default in zip(cls.__struct_fields__, defaults_of(cls), strict=True)
        if default is msgspec.NODEFAULT
    }
    fields = {}
    for field in cls.form:
        value = values.get(field.name)
        if value is None or value == "":
            if field.name in required:
                raise StepRefused(f"{field.label}: a value is needed.", field.help)
            continue
        fields[field.name] = field.convert(value, function)
    unknown = sorted(set(values) - {field.name for field in cls.form})
    if unknown:
        raise StepRefused(f"{op} has no argument {unknown[0]}.")
    try:
        return msgspec.convert(fields, cls)
    except msgspec.ValidationError as error:
        raise StepRefused(f"{op} can't take these arguments.", f"{error}.") from error


__all__ = [
    "STEPS", "AnyStep", "Offer", "Step", "decode_steps", "encode_steps", "make", "offers",
]  # fmt: skip
