"""What one launch of a kernel asks of a GPU.

The instructions of its PTX, weighted by how often they run, with the memory patterns of its lowered
code and the resources that ptxas gave it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from explorer.analysis import limits as gpu_limits
from explorer.analysis import prediction as model
from explorer.analysis.compiled import Resources
from explorer.analysis.limits import SECTOR_BYTES, WARP, limits_of
from explorer.analysis.memory import matrix_wavefronts
from explorer.analysis.occupancy import occupancy
from explorer.analysis.ptx_mix import Mixer, Request, waiting
from explorer.analysis.ptx_run import Runner
from explorer.analysis.ptx_text import blocks_of
from explorer.engine.host_code import Launch
from explorer.engine.lanes import Env, single
from explorer.engine.lower import Lowered
from explorer.engine.sample import launch_extents
from explorer.engine.tuning.traffic import SCATTERED, Kind, Pattern, asked_by
from explorer.model.target import Target

THREADS = 6
"""Threads followed through a kernel's PTX."""


class Refused(Exception):
    """It can't be built or launched; `by` names who says so."""

    def __init__(self, by: str, reason: str) -> None:
        super().__init__(reason)
        self.by = by


class Kernel:
    """One launch of one kernel on its way to a demand."""

    def __init__(
        self, lowered: Lowered, launch: Launch, host: Env, target: Target, used: Resources,
        assumed: set[str], sms: int,
    ) -> None:  # fmt: skip
        """Raises Refused when no block of it fits on an SM."""
        assert lowered.device is not None
        devices = {var.name_hint: func for var, func in lowered.device.functions_items()}
        self.device = devices[launch.kernel]
        self.launch, self.host, self.target, self.used = launch, host, target, used
        self.assumed = assumed
        self.limits = limits_of(target.arch)
        self.grid, self.block = launch_extents(launch, host)
        self.threads = int(np.prod([size or 1 for size in self.block]))
        self.blocks = int(np.prod([size or 1 for size in self.grid], dtype=np.int64))
        dynamic = 0 if launch.dynamic_shared is None else single(launch.dynamic_shared, host) or 0
        if used.shared_bytes > gpu_limits.STATIC_SHARED_BYTES:
            raise Refused(
                "launch limits",
                f"{launch.kernel} has {used.shared_bytes} bytes of static shared memory; the limit "
                f"is {gpu_limits.STATIC_SHARED_BYTES}.",
            )
        self.shared_bytes = used.shared_bytes + dynamic
        fits = occupancy(self.limits, self.threads, used.registers, self.shared_bytes)
        self.occupancy = fits
        if not fits.blocks_per_sm:
            raise Refused(
                "launch limits",
                f"No block of {launch.kernel} fits on an SM: {self.threads} threads with "
                f"{used.registers} registers and {self.shared_bytes} bytes of shared memory "
                f"({' and '.join(fits.limiters)} ends it).",
            )
        self.resident = min(fits.blocks_per_sm, -(-self.blocks // sms))
        self.asked = asked_by(launch, self.device, host, self.grid, self.block)
        self.seen: dict[str, float] = {}

    def demand(self, ptx: str) -> model.Demand:
        """What a launch of it asks for."""
        blocks = blocks_of(ptx)
        mixer = Mixer(blocks)
        mixes = [mixer.mix(block) for block in blocks]
        apart = {request.rows_apart for mix in mixes for request in mix.requests}
        counts, values = self._courses(Runner(blocks, frozenset(a for a in apart if a)))
        pipes: defaultdict[str, float] = defaultdict(float)
        requests: defaultdict[Request, float] = defaultdict(float)
        issued = 0.0
        for count, mix in zip(counts, mixes, strict=True):
            issued += count * mix.issued
            for pipe, number in mix.pipes.items():
                pipes[pipe] += count * number
            for request, number in mix.requests.items():
                requests[request] += count * number
        spilled = self._spilled(issued, sum(mix.issued for mix in mixes))
        wavefronts, sectors, arrays = self._traffic(requests, values)
        device = model.device_bytes(
            arrays, self.target.l2_cache_size_bytes or model.ASSUMED_L2_BYTES
        )
        latency = {**model.LATENCY, "global": self._latency(sum(s for s, _ in arrays.values()))}
        chain = sum(
            count * waiting(block, latency, model.OUTSTANDING)
            for count, block in zip(counts, blocks, strict=True) if count
        )  # fmt: skip
        times = 1
        for _, extent in self.launch.loops:
            times *= (None if extent is None else single(extent, self.host)) or 1
        return model.Demand(
            blocks=self.blocks,
            threads=self.threads,
            resident_blocks=self.occupancy.blocks_per_sm,
            issued=issued + spilled,
            pipes=pipes,
            wavefronts=wavefronts + spilled,
            fresh_sectors=sectors,
            chain=chain + spilled * model.LATENCY["l1"] / model.OUTSTANDING,
            device_bytes=device,
            launches=times,
        )

    def facts(self, demand: model.Demand, sms: int) -> dict[str, float]:
        """Numbers worth showing beside the prediction."""
        return {
            "registers": self.used.registers,
            "spill_bytes": self.used.spill_load_bytes + self.used.spill_store_bytes,
            "shared_bytes": self.shared_bytes,
            "occupancy": self.occupancy.warps_per_sm / self.occupancy.max_warps,
            "waves": demand.blocks / (sms * self.occupancy.blocks_per_sm),
            "device_bytes": demand.device_bytes * demand.launches,
            **self.seen,
        }

    def _courses(self, runner: Runner) -> tuple[list[float], dict[str, int | None]]:
        """Mean executions of each block over some threads, and values in the last of them."""
        rng = np.random.default_rng(1)
        counts = np.zeros(len(runner.blocks))
        values: dict[str, int | None] = {}
        for number in range(THREADS):
            share = (0.0, 1.0, *rng.random(THREADS - 2))[number]
            start = {f"param{at}": value for at, value in enumerate(self._arguments())}
            start |= _place("tid", self.block, share) | _place("ctaid", self.grid, share)
            for name, extents in (("ntid", self.block), ("nctaid", self.grid)):
                start |= {f"%{name}.{a}": size or 1 for a, size in zip("xyz", extents, strict=True)}
            course = runner.run({k: v for k, v in start.items() if v is not None})
            counts += course.counts
            values = course.values
            self.assumed |= {f"{self.launch.kernel} has {what}." for what in course.assumed}
        return [float(count) for count in counts / THREADS], values

    def _arguments(self) -> list[int | None]:
        return [single(argument, self.host) for argument in self.launch.arguments]

    def _traffic(
        self, requests: Mapping[Request, float], values: Mapping[str, int | None]
    ) -> tuple[float, float, dict[str, tuple[float, float]]]:
        """A warp's wavefronts and fresh sectors; bytes of each global array and asked of L2."""
        wavefronts = sectors = wanted = asked = shared = passes = needed = 0.0
        moved: dict[str, float] = defaultdict(float)
        held = self._fits_l1()
        whole = self.blocks * -(-self.threads // WARP)
        for request, count in requests.items():
            width = request.width
            if request.space == "local":
                wavefronts += count * width / 4
                continue
            known = self._known(request)
            if request.space == "shared":
                each, least = self._shared(request, known, values)
                wavefronts += count * each
                shared += count
                passes += count * each
                needed += count * least
                continue
            if known is None:
                each = fresh = width * WARP / SECTOR_BYTES if request.matrix else SCATTERED
                self._guess(request)
            else:
                each, fresh = known.sectors, known.fresh if held else known.sectors
            wavefronts += count * max(each * SECTOR_BYTES / model.L1_CLOCK_BYTES, 1.0)
            sectors += count * fresh
            wanted += count * each
            asked += count
            moved[self._name(request.base) or request.base] += count * fresh * whole * SECTOR_BYTES
        self.seen = {
            "sectors_per_request": wanted / asked if asked else 0.0,
            "wavefronts_per_request": passes / shared if shared else 0.0,
            "bank_conflict": passes / needed if needed else 1.0,
            "l1_sectors": wanted * whole,
            "l2_sectors": sectors * whole,
            "shared_wavefronts": passes * whole,
        }
        sizes = {name: size for (name, _), a in self.asked.items() if (size := a.size_bytes)}
        return wavefronts, sectors, {
            name: (float(sizes.get(name, bytes_)), bytes_) for name, bytes_ in moved.items()
        }  # fmt: skip

    def _shared(
        self, request: Request, known: Pattern | None, values: Mapping[str, int | None]
    ) -> tuple[float, float]:
        """Wavefronts of a request to shared memory, and the fewest possible."""
        least = max(request.width / 4, 1.0)
        if request.matrix:
            text = request.rows_apart
            apart = values.get(text) if text.startswith("%") else int(text) if text else None
            if apart is None:
                self._guess(request)
            bytes_apart = None if apart is None else apart * request.element
            return matrix_wavefronts(bytes_apart, request.width), least
        if known is not None:
            return max(known.wavefronts, 1.0), max(known.needed, 1.0)
        self._guess(request)
        return 2.0 * least, least

    def _fits_l1(self) -> bool:
        """Every resident warp's sectors of one loop round stay in L1."""
        held = sum(each.held for each in self._loads()) * SECTOR_BYTES
        warps = self.resident * -(-self.threads // WARP)
        return warps * held <= model.l1_bytes(self.limits, self.resident * self.shared_bytes)

    def _loads(self) -> list[Pattern]:
        """Loads of global memory as the code has them."""
        return [each.pattern(max(each.widths())) for (_, kind), each in self.asked.items()
                if kind == "load" and not each.shared]  # fmt: skip

    def _latency(self, footprint: float) -> float:
        """Clocks until a load of global memory arrives, as a mean."""
        fits = footprint <= (self.target.l2_cache_size_bytes or model.ASSUMED_L2_BYTES)
        far = model.LATENCY["l2" if fits else "device"]
        loads = [each for each in self._loads() if each.sectors]
        if not loads or not self._fits_l1():
            return far
        missed = float(np.mean([min(each.fresh / each.sectors, 1.0) for each in loads]))
        return missed * far + (1 - missed) * model.LATENCY["l1"]

    def _spilled(self, issued: float, static: float) -> float:
        """A warp's requests for spilled registers: each as often as the mean instruction runs."""
        words = (self.used.spill_load_bytes + self.used.spill_store_bytes) / 4
        return words * issued / static if static else 0.0

    # From PTX's names to the arrays of the lowered kernel

    def _known(self, request: Request) -> Pattern | None:
        kind: Kind = "load" if request.kind == "load" else "store"
        found = self.asked.get((self._name(request.base), kind))
        alike = [found] if found is not None else [
            each for (_, k), each in self.asked.items()
            if k == kind and each.shared and request.space == "shared" and not request.matrix
        ]  # fmt: skip
        patterns = [each.pattern(request.width) for each in alike]
        if any(pattern.guessed for pattern in patterns):
            self._guess(request)
        return _mean(patterns) if patterns else None

    def _name(self, base: str) -> str:
        """The lowered kernel's name of a parameter or a shared array."""
        if base.startswith("param") and base[5:].isdigit():
            names = [str(param.name) for param in self.device.params]
            base = names[int(base[5:])] if int(base[5:]) < len(names) else ""
        base = base.partition("$")[0]
        for name, _ in self.asked:
            plain = name.replace(".", "_")
            if base in (plain, f"{plain}_ptr") or base.endswith(f"{len(plain) + 4}{plain}_ptr"):
                return name
        return ""

    def _guess(self, request: Request) -> None:
        where = self._name(request.base) or request.space + " memory"
        self.assumed.add(
            f"How warps {request.kind} {where} in {self.launch.kernel} is not known: "
            + ("a sector a lane was taken." if request.space == "global" else
               "bank conflicts in pairs were taken.")
        )  # fmt: skip


def _place(name: str, extents: tuple[int | None, ...], share: float) -> dict[str, int]:
    """A thread's or a block's indices, that far along its linear numbers."""
    sizes = [size or 1 for size in extents]
    linear = min(int(share * float(np.prod(sizes, dtype=np.float64))), int(np.prod(sizes)) - 1)
    found = {}
    for axis, size in zip("xyz", sizes, strict=True):
        found[f"%{name}.{axis}"] = linear % size
        linear //= size
    return found


def _mean(every: list[Pattern]) -> Pattern:
    """Arrays that can't be told apart as one."""

    def mean(name: str) -> float:
        return float(np.mean([getattr(each, name) for each in every]))

    return Pattern(
        mean("sectors"), mean("fresh"), mean("held"), mean("wavefronts"), mean("needed"),
        any(each.guessed for each in every),
    )  # fmt: skip
