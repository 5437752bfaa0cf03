"""One file per schedule primitive.  `STEPS` finds them all; nothing else lists them."""

from __future__ import annotations

import importlib
import pkgutil
from functools import reduce
from operator import or_
from typing import Any

import msgspec

from explorer.primitives.base import Offer, Step

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


__all__ = ["STEPS", "AnyStep", "Offer", "Step", "decode_steps", "encode_steps"]
