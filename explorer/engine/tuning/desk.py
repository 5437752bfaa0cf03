"""Who does what next in a tuning job: orders for idle hands, turns on devices."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from explorer.engine.race_material import REFERENCE_S
from explorer.engine.tuning.crew import Crew, Heard
from explorer.engine.tuning.devices import Device
from explorer.engine.tuning.hands import Hand
from explorer.engine.tuning.ledger import Ledger
from explorer.engine.tuning.orders import Gene, Wanted
from explorer.engine.tuning.search import Search, Trial
from explorer.engine.tuning.subject import Job
from explorer.engine.tuning.talk import (
    Broken,
    Build,
    Built,
    Connect,
    Connected,
    Crafted,
    Emulate,
    Final,
    Make,
    Order,
    Prove,
    Proved,
    Ran,
    Refer,
    Referred,
    Run,
)
from explorer.tuning.events import Candidate

HELLO_S = 60.0
PROVE_S = 60.0
REFER_S = REFERENCE_S + 60
KNOWN_FIRST_S = 3.0
"""Programs of earlier results are made again before anything else for so long, then in between."""
AHEAD = 2
"""So many candidates a hand are chosen, or built and not run yet."""


class Desk:
    """Gives orders to idle hands and takes their answers to the ledger."""

    def __init__(self, job: Job, ledger: Ledger, crew: Crew, folder: Path) -> None:
        """`folder` is for files that go to another machine."""
        self.job, self.ledger, self.crew, self.folder = job, ledger, crew, folder
        self.devices = [
            Device(number, place, remote=job.remote) for number, place in enumerate(job.places)
        ]
        self._began = time.monotonic()
        self._turns = 0
        self._refer()

    @property
    def running(self) -> list[Hand]:
        """Hands that use a device."""
        return [device.user for device in self.devices if device.user is not None]

    def lost(self) -> str:
        """Why no device is left, or ""."""
        gone = [device.lost for device in self.devices if device.lost]
        return gone[-1] if gone and len(gone) == len(self.devices) else ""

    def work(self, timeout_s: float) -> None:
        """Give what can be given, then hear what was done."""
        self.crew.fill()
        for device in self.devices:
            self._serve(device)
        running = self.running
        if self.job.quiet and running:
            self.crew.pause(besides=running[0])
        else:
            self.crew.go_on()
            for hand in [hand for hand in self.crew.hands if hand.idle]:
                self._occupy(hand)
        self.hear(timeout_s)

    def rest(self, timeout_s: float) -> None:
        """Stop all but what is being measured; devices are given up once they are free."""
        for hand in self.crew.all():
            if hand not in self.running:
                hand.pause()
        for device in self.devices:
            if device.user is None:
                self._leave(device)
        self.hear(timeout_s)

    def hear(self, timeout_s: float) -> None:
        """Take answers to the ledger."""
        for heard in self.crew.hear(timeout_s):
            self._heard(heard)

    def give(self, hand: Hand, order: Order, limit_s: float, data: Any) -> None:
        """Give an order; `data` comes back with the answer."""
        gone = self.crew.give(hand, order, limit_s, data)
        if gone is not None:
            self._heard(gone)

    def restart(self) -> None:
        """New hands, who know what the coordinator knows now; what they held is tried again."""
        for hand in self.crew.all():
            self.crew.dismiss(hand)
            self._gone(hand)
            match hand.order:
                case Make():
                    self.ledger.search(hand.order.function).open -= 1
                case Refer():
                    self._refer()

    def close(self) -> None:
        """End all hands, and give up devices."""
        self.crew.close()
        for device in self.devices:
            device.give()

    # Orders

    def _refer(self) -> None:
        """A hand of its own computes what functions should leave, one after another."""
        for search in self.ledger.searches:
            if search.subject.material is not None and search.ready is None:
                self.give(self.crew.extra(), Refer(search.function), REFER_S, None)
                return

    def _serve(self, device: Device) -> None:
        """Run something on a device, if there is something and it is our turn."""
        if device.user is not None or device.lost:
            return
        trial = self._runnable()
        first = device.remote and not device.told
        if device.over or (trial is None and not device.remote):
            self._leave(device)
            return
        if (trial is None and not first) or not device.take():
            return
        if device.remote and device.hand is None:
            device.hand = self.crew.extra()
        hand = device.hand
        if trial is not None and not device.remote:
            hand = trial.holder
        assert hand is not None
        device.user = hand
        hand.go_on()
        if hand.pid not in device.connected:
            self.give(hand, Connect(device.number), HELLO_S, device)
        elif trial is not None:
            trial.holder = hand
            order = Run(trial.function, trial.id, trial.file)
            self.give(hand, order, self.job.job.run_timeout_s, trial)

    def _leave(self, device: Device) -> None:
        device.give()
        if device.hand is not None:  # its session is for others now
            hand = device.hand
            self.crew.dismiss(hand)
            self._gone(hand)

    def _runnable(self) -> Trial | None:
        """The trial that is run next: built, and in a hand that is free."""
        for trial in self.ledger.flying:
            if trial.built is None or trial.ran is not None:
                continue
            if trial.holder is not None and not trial.holder.idle:
                continue
            search = self.ledger.search(trial.function)
            material = search.subject.material
            early = material is None or not material.needs_reference_first
            if search.ready is not None or (early and not self.job.remote):
                return trial
        return None

    def _occupy(self, hand: Hand) -> None:
        """Find something to do for an idle hand."""
        held = [each for each in self.ledger.flying if each.holder is hand]
        for each in held:
            if each.ran is not None and self.ledger.search(each.function).ready is not None:
                self.give(hand, Prove(each.function, each.id), PROVE_S, each)
                return
        if not held and self.crew.worn(hand):
            self.crew.dismiss(hand)
            return
        if self._make_known(hand):
            return
        trial = self._next_trial()
        if trial is not None:
            self._build(hand, trial)
            return
        for search in sorted(self.ledger.searches, key=lambda search: search.due):
            wanted = search.wanted() if self.ledger.left else None
            if wanted is not None:
                self._make(hand, search, self.ledger.new_id(), wanted, None)
                return
            search.perhaps_ended()

    def _make_known(self, hand: Hand) -> bool:
        """Make the program of an earlier result again, when it is time for that."""
        first = time.monotonic() - self._began < KNOWN_FIRST_S
        self._turns += 1
        for search in self.ledger.searches:
            if search.known and (first or self._turns % 2):
                event = search.known.popleft()
                gene = Gene(event.design, event.decisions, event.trace)
                self._make(hand, search, event.id, Wanted(seed=1, gene=gene), event)
                return True
        return False

    def _make(
        self, hand: Hand, search: Search, id: int, wanted: Wanted, known: Candidate | None
    ) -> None:
        search.open += 1
        order = Make(search.function, id, wanted)
        self.give(hand, order, self.job.job.build_timeout_s, known)

    def _next_trial(self) -> Trial | None:
        """A rival once something was tried; else a candidate of the function that is due."""
        unrun = sum(1 for trial in self.ledger.flying if trial.built and not trial.ran)
        if unrun >= AHEAD * self.crew.count or (self.job.remote and not self._host()):
            return None
        for search in self.ledger.searches:
            if search.rivals and (search.tried or search.ended):
                return search.rivals.popleft()
        for search in sorted(self.ledger.searches, key=lambda search: search.due):
            again = next((trial for trial in search.waiting if trial.number), None)
            if again is not None:  # lost with a hand, through no fault of its own
                search.waiting.remove(again)
                return again
            room = min(AHEAD * self.crew.count, self.ledger.left_of(search))
            if room and not search.waiting:
                self.ledger.choose(search, room)
            if room and search.waiting:
                return search.waiting.popleft()
        return None

    def _build(self, hand: Hand, trial: Trial) -> None:
        self.ledger.begin(trial)
        trial.holder = hand
        device = self._host()
        if self.job.remote and device is not None:
            trial.file = str(self.folder / f"t{trial.id}.{'so' if device.link else 'tar'}")
        order = Build(
            function=trial.function, id=trial.id, gene=trial.gene, rival=trial.rival,
            triple="" if device is None else device.triple, file=trial.file,
        )  # fmt: skip
        self.give(hand, order, self.job.job.build_timeout_s, trial)

    def _host(self) -> Device | None:
        """A remote device that told its processor."""
        return next((each for each in self.devices if each.remote and each.told), None)

    # Answers

    def _heard(self, heard: Heard) -> None:
        hand, order, answer = heard.hand, heard.order, heard.answer
        took_s = time.monotonic() - hand.began
        for device in self.devices:
            if device.user is hand:
                device.user = None
        if isinstance(order, Final | Emulate):
            heard.data.append(heard)
            if answer is not None:
                self.crew.dismiss(hand)
        elif answer is None:
            self._lost(heard)
        elif isinstance(order, Make) and isinstance(answer, Crafted | Broken):
            self.ledger.made(order, answer, heard.data)
        elif isinstance(order, Build) and isinstance(answer, Built | Broken):
            self.ledger.built(heard.data, answer)
        elif isinstance(order, Run) and isinstance(answer, Ran | Broken):
            self.ledger.ran(heard.data, answer, took_s)
            if isinstance(answer, Broken):  # what a device did wrong may stick to the process
                self.crew.dismiss(hand)
                self._gone(hand)
        elif isinstance(order, Connect) and isinstance(answer, Connected):
            heard.data.answered(hand, answer)
        elif isinstance(order, Prove) and isinstance(answer, Proved):
            self.ledger.proved(heard.data, answer)
        elif isinstance(order, Refer) and isinstance(answer, Referred):
            self.ledger.referred(order.function, answer.ready)
            self.crew.dismiss(hand)
            self._refer()
        else:
            error = answer.error if isinstance(answer, Broken) else type(answer).__name__
            self.crew.dismiss(hand)
            self._lost(Heard(hand=hand, order=order, data=heard.data, lost=error))

    def _lost(self, heard: Heard) -> None:
        """A hand is gone."""
        hand, order = heard.hand, heard.order
        if isinstance(order, Connect):
            heard.data.failed(heard.lost)
        else:
            self.ledger.lost(order, heard.data, heard.lost)
        self._gone(hand)
        if isinstance(order, Refer):
            self._refer()

    def _gone(self, hand: Hand) -> None:
        for device in self.devices:
            device.connected.discard(hand.pid)
            if device.hand is hand:
                device.hand = None
            if device.user is hand:
                device.user = None
        self.ledger.requeue(hand)
