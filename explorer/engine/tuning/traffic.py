"""What warps ask of memory in a lowered kernel, by array, at sampled places."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any, Literal

import msgspec
import numpy as np
import tvm_ffi
from tvm import tirx

from explorer.analysis.kernel import Access, Bools, Extents
from explorer.analysis.memory import global_pattern, reuse, shared_pattern
from explorer.engine.host_code import Launch
from explorer.engine.lanes import Array, Env, key, single
from explorer.engine.repeats import shared_by_threads
from explorer.engine.sample import SampledWarps, item_bytes
from explorer.engine.touch import Use

PAIRS = 8
"""Places at which each access is looked at, each in two neighbouring rounds of its loop."""
WINDOW, WINDOWS = 8, 3
"""Of more stores of one sort than the product, windows of so many in even steps are looked at."""
SCATTERED = 32.0
"""Sectors of a request whose addresses depend on data: a sector a lane, the worst."""
DATA_CONFLICT = 8.0
"""Wavefronts of a shared-memory request whose addresses depend on data."""

Kind = Literal["load", "store"]
Sort = tuple[int, type]
Place = tuple[int, int]
"""A loop body (0: in no loop) and a window of its statements: what L1 is near enough to recall."""


class Pattern(msgspec.Struct, frozen=True):
    """A warp's means for one request.

    `sectors` are what L1 is asked for, `fresh` what it does not hold from this or the last round of
    the loop, `held` the sectors a warp needs it to keep for that.  `wavefronts` are of shared
    memory, `needed` the fewest possible.  `guessed`: addresses depend on data.
    """

    sectors: float = 0.0
    fresh: float = 0.0
    held: float = 0.0
    wavefronts: float = 0.0
    needed: float = 0.0
    guessed: bool = False


class Asked:
    """The accesses to one array of one kind, by loop body."""

    def __init__(self, bodies: dict[Place, list[Access]], size_bytes: int | None) -> None:
        self.bodies = bodies
        self.size_bytes = size_bytes
        self.shared = next(iter(bodies.values()))[0].is_shared
        self._patterns: dict[float, Pattern] = {}

    def pattern(self, width: float) -> Pattern:
        """What requests of `width` bytes a thread look like: neighbouring accesses are merged to
        them as the compiler does; wider ones are split."""
        if width not in self._patterns:
            self._patterns[width] = self._pattern(width)
        return self._patterns[width]

    def widths(self) -> list[int]:
        """Bytes a thread of the accesses."""
        return [access.width_bytes for body in self.bodies.values() for access in body]

    def _pattern(self, width: float) -> Pattern:
        bodies = {at: _merged(accesses, width) for at, accesses in self.bodies.items()}
        total = sum(a.runs_per_thread for body in bodies.values() for a in body) or 1.0
        sectors = fresh = held = wavefronts = needed = 0.0
        guessed = False
        for (loop, _), body in bodies.items():
            again = None if self.shared else reuse(body, loop=loop > 0)
            share = again.fresh / again.asked if again is not None and again.asked else 1.0
            held = max(held, again.held if again is not None else 0.0)
            for access in body:
                weight = access.runs_per_thread / total
                split = min(width / access.width_bytes, 1.0)
                guessed = guessed or access.element is None
                if self.shared:
                    passes, least = _shared(access)
                    wavefronts += weight * passes * split
                    needed += weight * least * split
                else:
                    each = _sectors(access)
                    sectors += weight * each * split
                    fresh += weight * each * split * (share if access.kind == "load" else 1.0)
        return Pattern(sectors, fresh, held, wavefronts, needed, guessed)


def _shared(access: Access) -> tuple[float, float]:
    if access.element is None:
        return DATA_CONFLICT, 1.0
    pattern = shared_pattern(access)
    return (pattern.wavefronts, pattern.needed) if pattern is not None else (0.0, 0.0)


def _sectors(access: Access) -> float:
    if access.element is None:
        return SCATTERED
    pattern = global_pattern(access)
    return pattern.sectors if pattern is not None else 0.0


def _merged(accesses: list[Access], width: float) -> list[Access]:
    """Accesses of one place, or in one aligned piece of `width` bytes, as one."""
    found: dict[bytes, Access] = {}
    for number, access in enumerate(accesses):
        lanes = int(width) // access.item_bytes
        at = str(number).encode()
        if access.element is not None:
            if lanes > access.lanes:
                start = access.element // lanes * lanes
                access = replace(access, element=start, lanes=lanes)
            assert access.element is not None
            at = access.element.tobytes() + access.active.tobytes()
        found.setdefault(at, access)
    return list(found.values())


def asked_by(
    launch: Launch, device: Any, host: Env, grid: Extents, block: Extents
) -> dict[tuple[str, Kind], Asked]:
    """The requests of a kernel by array and kind; extents must be known and positive."""
    walk = _Rounds(launch, device, host)
    walk.look(grid, block)
    groups: dict[tuple[str, Kind], dict[Place, list[Access]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for body, access in walk.seen:
        groups[access.buffer, access.kind][body].append(access)
    return {at: Asked(bodies, walk.sizes.get(at[0])) for at, bodies in groups.items()}


class _Rounds(SampledWarps):
    """Whole warps at sampled places; an odd row is the round of the innermost loop after the even
    row before it, everything else the same."""

    body = 0
    bodies = 0

    def look(self, grid: Extents, block: Extents) -> None:
        """Walk the kernel."""
        self.seen: list[tuple[Place, Access]] = []
        self.sizes: dict[str, int] = {}
        self.left: Counter[Sort] = Counter()
        tvm_ffi.structural_walk(self.device.body, (tirx.BufferStore, self._count))
        self.runs = {at: -(-count // WINDOW // WINDOWS) for at, count in self.left.items()}
        self.left.clear()
        self.sample(grid, block)

    def _count(self, stmt: Any) -> None:
        self.left[_sort(stmt)] += 1

    def _spread(self, count: int) -> Array:
        values = self.rng.integers(0, count, PAIRS)
        values[0], values[1] = 0, count - 1
        return np.repeat(values, 2).reshape(-1, 1, 1)

    def wanted(self, stmt: Any) -> bool:
        """Of long code, windows of neighbouring stores of each sort."""
        if not isinstance(stmt, tirx.BufferStore):
            return True
        at = _sort(stmt)
        self.left[at] += 1
        return (self.left[at] - 1) // WINDOW % self.runs[at] == 0

    def _for(self, stmt: Any, env: Env, where: Bools, runs: float) -> None:
        outer = self.body
        extent = single(stmt.extent, env)
        if extent is None or extent > 1:
            self.bodies += 1
            self.body = self.bodies
        super()._for(stmt, env, where, runs)
        self.body = outer

    def loop(
        self, stmt: Any, start: Array, extent: Array, env: Env, where: Bools
    ) -> tuple[Env, Bools]:
        """A value and the next one for each pair of rows."""
        if int(extent.max()) <= 1:
            inner = env.child()
            inner.set(stmt.loop_var, start)
            return inner, where
        inner = env.child()
        inner.values = {at: _paired(value, env.rows) for at, value in env.values.items()}
        share = np.repeat(self.rng.random((env.rows // 2, 1, 1)), 2, axis=0)
        first = np.floor(share * np.maximum(extent - 1, 1)).astype(np.int64)
        odd = (np.arange(env.rows) % 2).reshape(-1, 1, 1)
        inner.set(stmt.loop_var, start + np.minimum(first + odd, np.maximum(extent - 1, 0)))
        there = _paired(where, env.rows)
        assert there is not None
        return inner, there

    def words(self, use: Use) -> str:
        """Nothing is told of single accesses."""
        return ""

    def simple(self, stmt: Any, found: list[Use], runs: float) -> None:
        """Note the accesses with the loop body they are in."""
        stored = isinstance(stmt, tirx.BufferStore)
        window = (self.left[_sort(stmt)] - 1) // WINDOW if stored else 0
        for use in found:
            if use.kind != "address" and shared_by_threads(use.buffer):
                access = self._access(use, runs)
                self.seen.append(((self.body, window), access))
                size = single(use.buffer.shape[0], use.env) if len(use.buffer.shape) == 1 else None
                if size is not None:
                    self.sizes[access.buffer] = size * item_bytes(str(use.buffer.dtype))


def _sort(store: Any) -> Sort:
    """What is stored to and whether it is a number, a load, a sum: inits are told from updates."""
    return key(store.buffer), type(store.value)


def _paired(value: Array | None, rows: int) -> Array | None:
    """Each odd row as the even row before it."""
    if value is None or value.shape[0] != rows:
        return value
    return np.repeat(value[::2], 2, axis=0)
