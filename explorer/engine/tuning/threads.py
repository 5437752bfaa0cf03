"""Tiles drawn so that a GPU block has as many threads as its design allows.

TVM draws each tile by itself, and nine of ten samples of a GPU's matmul then have too few threads
or too many.  How many there will be follows from the trace alone: which factors of which tiles are
fused into the loops that are bound to threadIdx.
"""

from __future__ import annotations

import math
import random
from typing import Any

from explorer.engine.tuning.orders import Decisions, Value

_LOW = "meta_schedule.thread_extent_low_inclusive"
_HIGH = "meta_schedule.thread_extent_high_inclusive"
_TRIES = 200
_WARP = 32
"""Threads of a block that holds a tensor instruction, for each of its iterations."""

Factor = tuple[int, int]
"""The instruction that sampled a tile, and which of its factors."""


class Threads:
    """What the number of threads of a design depends on."""

    def __init__(self, instructions: list[Any], example: Decisions) -> None:
        """`instructions` of a trace's JSON; `example` are decisions that fit the loops."""
        self._tiles: dict[int, tuple[int, int, int]] = {}  # extent, parts, largest inner factor
        factors: dict[str, tuple[Factor, ...]] = {}
        self._bound: dict[str, tuple[Factor, ...]] = {}
        self._limits: list[tuple[int, int]] = []
        self._lanes = low = 1
        tiles = {at: value for at, value in example if isinstance(value, tuple)}
        for at, (kind, inputs, attrs, outputs) in enumerate(instructions):
            if kind == "SamplePerfectTile" and at in tiles:
                largest = int(attrs[1]) if int(attrs[1]) > 0 else math.prod(tiles[at])
                self._tiles[at] = math.prod(tiles[at]), len(tiles[at]), largest
                factors |= {name: ((at, part),) for part, name in enumerate(outputs)}
            elif kind == "Split":
                taken = zip(inputs[1:], outputs, strict=True)
                factors |= {out: factors[name] for name, out in taken if name in factors}
            elif kind == "Fuse" and all(name in factors for name in inputs):
                factors[outputs[0]] = tuple(each for name in inputs for each in factors[name])
            elif kind == "Bind" and str(attrs[0]).startswith("threadIdx"):
                self._bound.setdefault(str(attrs[0]), factors.get(inputs[0], ()))
            elif kind == "Annotate" and attrs[0] == _LOW:
                low = int(inputs[1])
            elif kind == "Annotate" and attrs[0] == _HIGH:
                self._limits.append((low, int(inputs[1])))
            elif kind == "Annotate" and attrs[0] == "warp_execution":
                self._lanes = _WARP

    def draw(self, seed: int, pinned: Decisions) -> Decisions:
        """Decisions for the tiles that threads depend on, to be kept when the rest is sampled.

        () where the design does not say how many threads it needs, or nothing fitting was drawn.
        """
        parts = [each for bound in self._bound.values() for each in bound]
        if len(self._limits) != 1 or not parts or not all(self._bound.values()):
            return ()
        (low, high) = self._limits[0]
        draw = random.Random(seed)
        fixed: dict[int, Value] = dict(pinned)
        for _ in range(_TRIES):
            tiles = {
                at: fixed[at] if at in fixed else self._tile(draw, at)
                for at in dict.fromkeys(at for at, _ in parts)
            }
            count = math.prod(_factor(tiles[at], part) for at, part in parts)
            if low <= count * self._lanes <= high:
                return tuple({**tiles, **fixed}.items())
        return ()

    def _tile(self, draw: random.Random, at: int) -> tuple[int, ...]:
        """Factors of a tile: each prime of the loop's extent goes to any of them."""
        extent, parts, largest = self._tiles[at]
        tile = [1] * parts
        for prime in _primes(extent):
            fits = parts if tile[-1] * prime <= largest or parts == 1 else parts - 1
            tile[draw.randrange(fits)] *= prime
        return tuple(tile)


def _factor(tile: Value, part: int) -> int:
    return tile[part] if isinstance(tile, tuple) else 1


def _primes(number: int) -> list[int]:
    found, prime = [], 2
    while prime * prime <= number:
        while number % prime == 0:
            found.append(prime)
            number //= prime
        prime += 1
    return [*found, number] if number > 1 else found
