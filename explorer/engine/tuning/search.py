"""The search for one function: what was made, what waits to be tried, and what it came to."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field

from explorer.engine.race_material import Ready
from explorer.engine.tuning.brain import Brain
from explorer.engine.tuning.hands import Hand
from explorer.engine.tuning.orders import Gene, Made, Wanted
from explorer.engine.tuning.subject import Subject
from explorer.engine.tuning.talk import Built, Ran
from explorer.tuning.events import Candidate, Fate
from explorer.tuning.summary import figure

TRIED = ("build_failed", "timed_out", "run_failed", "wrong", "measured", "predicted")
WANT = 8
"""Orders for candidates are fetched so many at a time."""
FORGOTTEN = "Many others promised more."
STEERED = "Steering was changed before it was tried."
ENOUGH = 64
"""No more are made while so many wait to be chosen, and the brain does not ask for more."""
BARREN = 600
"""After so many samples in a row that come to nothing, there is nothing to find."""


@dataclass
class Trial:
    """A candidate that is built and tried, or a rival, whose id is negative."""

    id: int
    function: str
    gene: Gene | None = None
    rival: str = ""
    origin: str = ""
    digest: str = ""
    score: float | None = None
    round: int = 0
    number: int = 0
    """Its number among the trials of the job; 0 until it is sent to be built."""
    built: Built | None = None
    ran: Ran | None = None
    run_s: float = 0.0
    holder: Hand | None = None
    """Who has it built, or keeps its outputs."""
    file: str = ""

    def event(
        self, fate: Fate, by: str = "", reason: str = "", *, unproved: bool = False
    ) -> Candidate:
        """What it came to."""
        gene = self.gene or Gene(-1)
        return Candidate(
            at=time.time(), id=self.id, function=self.function, fate=fate, design=gene.design,
            decisions=gene.decisions, trace=gene.trace, reason=reason, by=by, origin=self.origin,
            round=self.round, score=self.score, digest=self.digest,
            us=self.ran.us if self.ran and fate == "measured" else None,
            runs_us=self.ran.runs_us if self.ran else (),
            predicted_us=self.built.predicted_us if self.built else None,
            build_s=self.built.build_s if self.built else 0.0, run_s=self.run_s,
            trial=self.number, unproved=unproved,
        )  # fmt: skip


@dataclass
class Search:
    """One function's search.  Rivals are tried once something was measured."""

    subject: Subject
    brain: Brain
    weight: float
    workload: int = -1
    """Its number in TVM's database."""
    made: dict[int, Trial] = field(default_factory=dict)
    """Candidates that could be tried, by id."""
    programs: dict[int, Made] = field(default_factory=dict)
    """Those and the tried ones, as they were made."""
    waiting: deque[Trial] = field(default_factory=deque)
    rivals: deque[Trial] = field(default_factory=deque)
    known: deque[Candidate] = field(default_factory=deque)
    """Results of earlier work whose programs are to be made again for the cost model."""
    digests: dict[str, int] = field(default_factory=dict)
    """Programs that were tried, with their ids."""
    results: dict[int, Candidate] = field(default_factory=dict)
    ready: Ready | None = None
    """What became of the reference; None while it is being made."""
    open: int = 0
    """Orders and trials of it that are not answered yet."""
    trials: int = 0
    tried: int = 0
    """Trials that came to an end now."""
    barren: int = 0
    """Candidates in a row that came to nothing."""
    hungry: bool = True
    """The brain wants more to choose from."""
    last_reason: str = ""
    ended: str = ""
    """Why nothing more is to be found, in a sentence."""
    _wants: deque[Wanted] = field(default_factory=deque)
    _new: set[int] = field(default_factory=set)
    """Programs that this brain was not told of."""

    @property
    def function(self) -> str:
        """Its name."""
        return self.subject.function

    @property
    def due(self) -> float:
        """Who is lowest is served first."""
        return self.trials / self.weight

    def recall(self, events: list[Candidate]) -> None:
        """Take note of earlier work, best first."""
        for event in events:
            self.results[event.id] = event
            if event.digest and event.fate in TRIED:
                self.digests.setdefault(event.digest, event.id)
        self.trials = sum(1 for event in events if event.trial)
        # One that was lost while it was made has no digest, and would be lost again.
        tried = [e for e in events if e.fate in TRIED and (e.digest or e.us is not None)]
        for event in events:
            if event.unproved:  # its process ended before its outputs were compared
                gene = Gene(event.design, event.decisions, event.trace)
                self.waiting.append(
                    Trial(
                        event.id, event.function, gene, origin=event.origin, digest=event.digest,
                        score=event.score, round=event.round, number=event.trial,
                    )
                )  # fmt: skip
        tried.sort(key=lambda event: (figure(event) or float("inf"), event.id))
        self.known.extend(tried)

    def wanted(self) -> Wanted | None:
        """What to make next; None when nothing is wanted now."""
        if not self.hungry and len(self.made) >= ENOUGH:
            return None
        if not self._wants and not self.ended and self.barren < BARREN:
            self._wants.extend(self.brain.wants(WANT))
        return self._wants.popleft() if self._wants else None

    def take(self, id: int, made: Made) -> Candidate | None:
        """A candidate was made: its event if it ends here."""
        trial = Trial(id, self.function, made.gene, origin=made.origin, digest=made.digest)
        event = None
        if made.fate:
            self.brain.take(id, made)
            event = trial.event(_fate(made.fate), made.by, made.reason)
        elif made.digest in self.digests:
            event = self._duplicate(trial)
        elif (fate := self.brain.take(id, made)) is not None:
            event = self._duplicate(trial) if fate == "duplicate" else trial.event(fate)
        if event is None:
            self.made[id], self.programs[id] = trial, made
            self.barren = 0
        else:
            self.results[id] = event
            self.barren, self.last_reason = self.barren + 1, event.reason
        return event

    def start_again(self, subject: Subject, brain: Brain) -> list[Candidate]:
        """Search on in another space, with what is known; the events of what is left behind."""
        self.subject, self.brain = subject, brain
        self._wants.clear()
        self.ended, self.barren = "", 0
        kept = [trial for trial in self.waiting if trial.id in self.results]
        left = [*self.made.values(), *(trial for trial in self.waiting if trial not in kept)]
        self.made.clear()
        self.waiting = deque(kept)
        for trial in left:
            self.trials -= bool(trial.number)
            trial.number = 0
            if self.digests.get(trial.digest) == trial.id:
                del self.digests[trial.digest]
            self.programs.pop(trial.id, None)
        self._new = set(self.programs)
        for id in [id for id in self.programs if id in self.results]:
            self._learn(self.results[id])
        return [trial.event("passed_over", "steering", STEERED) for trial in left]

    def perhaps_ended(self) -> None:
        """Nothing is wanted or chosen; if nothing is under way either, that was all."""
        if self.open or self.waiting or self.known or self.ended:
            return
        self.ended = "All different candidates were tried."
        if self.barren >= BARREN:
            self.ended = f"The last {BARREN} candidates came to nothing: {self.last_reason}"

    def relearn(self, known: Candidate, made: Made) -> None:
        """The program of an earlier result was made again."""
        if not made.fate and self.brain.take(known.id, made) is None:
            self.digests.setdefault(made.digest, known.id)
            self.programs[known.id] = made
            self.brain.learn(known.id, figure(known))

    def choose(self, most: int) -> list[Candidate]:
        """Let the brain choose what is tried next; the events of those that are known by now."""
        chosen = self.brain.choose(most)
        self.hungry = not chosen
        ended = [self._passed_over(id) for id in self.brain.forgotten() if id in self.made]
        for id, score in chosen:
            trial = self.made.pop(id)
            if trial.digest in self.digests:
                ended.append(self._duplicate(trial))
                continue
            self.digests[trial.digest] = id
            trial.score, trial.round = score, self.brain.rounds
            self.waiting.append(trial)
        return ended

    def _passed_over(self, id: int) -> Candidate:
        self.programs.pop(id, None)
        event = self.made.pop(id).event("passed_over", "the cost model", FORGOTTEN)
        self.results[event.id] = event
        return event

    def _duplicate(self, trial: Trial) -> Candidate:
        before = self.digests.get(trial.digest) or self.brain.twin(trial.digest)
        event = trial.event("duplicate", reason=f"It is the same program as candidate {before}.")
        self.results[event.id] = event
        return event

    def end(self, event: Candidate) -> None:
        """A trial came to its end."""
        self.results[event.id] = event
        self.tried += 1
        self._learn(event)

    def _learn(self, event: Candidate) -> None:
        if event.id in self._new:
            self._new.discard(event.id)
            self.brain.take(event.id, self.programs[event.id])
        self.brain.learn(event.id, figure(event))

    def ranked(self, refuted: set[int]) -> list[Candidate]:
        """Results with a figure, best first."""
        found = [
            event for event in self.results.values()
            if figure(event) is not None and event.id not in refuted
        ]  # fmt: skip
        return sorted(found, key=lambda event: (figure(event) or 0.0, event.id))


def _fate(given: str) -> Fate:
    return "banned" if given == "banned" else "rejected"
