"""What becomes of candidates: every answer, and every hand lost, ends in an event."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec

from explorer.engine.race_material import Ready
from explorer.engine.tuning.hands import Hand
from explorer.engine.tuning.orders import Gene, Made
from explorer.engine.tuning.search import Search, Trial
from explorer.engine.tuning.store import Store
from explorer.engine.tuning.subject import Job
from explorer.engine.tuning.talk import (
    Broken,
    Build,
    Built,
    Crafted,
    Make,
    Order,
    Prove,
    Proved,
    Ran,
    Refer,
    Run,
)
from explorer.tuning.events import Candidate, Event, Fate, Rival
from explorer.tuning.summary import figure

ENDED = "The job ended before it was tried."
PASSED_OVER = "Others promised more until the job ended."


class Ledger:
    """The searches with their trials under way; `tell` gets every event."""

    def __init__(
        self, job: Job, searches: list[Search], store: Store, tell: Callable[[Event], None]
    ) -> None:
        self.job, self.searches, self.store, self.tell = job, searches, store, tell
        self.flying: list[Trial] = []
        """Trials from the first order to their end."""
        events = [event for search in searches for event in search.results.values()]
        self._last_id = max((event.id for event in events), default=0)
        self._last_number = max((event.trial for event in events), default=0)

    def search(self, function: str) -> Search:
        """The search of that function."""
        return next(each for each in self.searches if each.function == function)

    @property
    def left(self) -> int:
        """Trials that may still be begun."""
        return max(self.job.job.trials - sum(each.trials for each in self.searches), 0)

    def left_of(self, search: Search) -> int:
        """Trials that this search may still begin: others that go on keep their share by weight."""
        weights = sum(each.weight for each in self.searches)
        kept = sum(
            max(int(self.job.job.trials * each.weight / weights) - each.trials, 0)
            for each in self.searches if each is not search and not each.ended
        )  # fmt: skip
        return max(self.left - kept, 0)

    def nothing_left(self) -> bool:
        """Everything that is to be tried was tried."""
        if self.flying or any(search.rivals for search in self.searches):
            return False
        return not self.left or all(search.ended for search in self.searches)

    def new_id(self) -> int:
        """The id of the next candidate."""
        self._last_id += 1
        return self._last_id

    def begin(self, trial: Trial) -> None:
        """It is sent to be built: from now on it is a trial of the job."""
        if trial in self.flying:
            return
        self.flying.append(trial)
        search = self.search(trial.function)
        search.open += 1
        if not trial.rival and not trial.number:
            self._last_number += 1
            trial.number = self._last_number
            search.trials += 1

    def choose(self, search: Search, most: int) -> None:
        """Let a search choose what it tries next."""
        for event in search.choose(most):
            self.tell(event)

    # Answers

    def made(self, order: Make, answer: Crafted | Broken, known: Candidate | None) -> None:
        """A candidate was made, or an earlier one made again."""
        search = self.search(order.function)
        search.open -= 1
        if isinstance(answer, Broken):
            answer = Crafted(_unmade(order, "rejected", "TVM", f"It can't be made: {answer.error}"))
        if known is not None:
            search.relearn(known, answer.made)
            return
        event = search.take(order.id, answer.made)
        if event is not None:
            self.tell(event)

    def built(self, trial: Trial, answer: Built | Broken) -> None:
        """It was built or predicted, or why not."""
        if isinstance(answer, Broken):
            answer = Built(reason=f"Building it failed: {answer.error}", by="TVM")
        trial.built = answer
        if trial.file:
            trial.holder = None
        if answer.reason:
            self._finish(trial, "build_failed", answer.by, answer.reason)
        elif not self.job.measures:
            self._finish(trial, "predicted")

    def ran(self, trial: Trial, answer: Ran | Broken, took_s: float) -> None:
        """It was run."""
        trial.run_s = took_s
        if isinstance(answer, Broken):
            self._finish(trial, "run_failed", self._runner(), f"Its run failed: {answer.error}")
            return
        trial.ran = answer
        if answer.wrong:
            self._finish(trial, "wrong", "the reference", answer.wrong)
        elif answer.proved:
            self._finish(trial, "measured")
        elif not trial.rival:  # shown now, kept when there is a reference to compare with
            self._note(trial.event("measured", unproved=True))

    def proved(self, trial: Trial, answer: Proved) -> None:
        """What it left was compared with the reference, or there is none."""
        ready = self.search(trial.function).ready
        if answer.wrong:
            self._finish(trial, "wrong", "the reference", answer.wrong)
        elif ready is not None and not ready.made:
            why = f"Its outputs were not compared: {ready.words}."
            self._finish(trial, "measured", reason=why)
        else:
            self._finish(trial, "measured")

    def referred(self, function: str, ready: Ready) -> None:
        """A function's reference is there, or why there is none."""
        search = self.search(function)
        search.ready = ready
        if search.subject.material is not None:
            search.subject.material.ready = ready

    def lost(self, order: Order | None, data: object, how: str) -> None:
        """A hand was lost over an order; whoever it was about pays for it."""
        match order:
            case Make():
                assert isinstance(data, Candidate | None)
                made = _unmade(order, "timed_out", how, _lost_words("made", how))
                search = self.search(order.function)
                search.open -= 1
                if data is None:
                    event = Trial(order.id, order.function, made.gene).event(
                        "timed_out", how, made.reason
                    )
                    search.results[event.id] = event
                    search.barren, search.last_reason = search.barren + 1, event.reason
                    self.tell(event)
            case Build() if isinstance(data, Trial):
                self._finish(data, "timed_out", how, _lost_words("built", how))
            case Run() if isinstance(data, Trial):
                self._finish(data, "timed_out", how, _lost_words("run", how))
            case Prove() if isinstance(data, Trial):
                self._back(data)
            case Refer():
                self.referred(order.function, Ready(False, f"the reference ended early: {how}"))

    def requeue(self, hand: Hand) -> None:
        """What a lost hand had built or kept is tried again, elsewhere."""
        for trial in [trial for trial in self.flying if trial.holder is hand]:
            self._back(trial)

    def replace(self, event: Candidate, **changes: Any) -> None:
        """Tell a candidate's event anew, with changes."""
        new = msgspec.structs.replace(event, at=time.time(), **changes)
        self.search(event.function).results[event.id] = new
        self.tell(new)

    def leave(self) -> None:
        """The job ends: say of the candidates that were never tried."""
        for search in self.searches:
            for trial in search.made.values():
                self.tell(trial.event("passed_over", "the cost model", PASSED_OVER))
            flying = (each for each in self.flying if each.function == search.function)
            for trial in (*search.waiting, *flying):
                if not trial.rival and trial.id not in search.results:
                    trial.number = 0
                    self.tell(trial.event("passed_over", "the end of the job", ENDED))

    # Within

    def _finish(self, trial: Trial, fate: Fate, by: str = "", reason: str = "") -> None:
        """It came to its end."""
        self.flying.remove(trial)
        trial.holder = None
        search = self.search(trial.function)
        search.open -= 1
        if trial.rival:
            self.tell(
                Rival(
                    at=time.time(), function=trial.function, name=trial.rival, reason=reason,
                    us=trial.ran.us if trial.ran and fate == "measured" else None,
                    predicted_us=trial.built.predicted_us if trial.built else None,
                )
            )  # fmt: skip
            return
        event = trial.event(fate, by, reason)
        if fate == "measured" and trial.built is not None and trial.ran is not None:
            self.store.add(search.workload, trial.built.record, trial.ran.us)
        before = search.results.get(trial.id)
        if before is not None and before.unproved and figure(before) == figure(event):
            search.results[event.id] = event
            self.tell(event)
        else:
            self._note(event)

    def _note(self, event: Candidate) -> None:
        self.search(event.function).end(event)
        self.tell(event)

    def _back(self, trial: Trial) -> None:
        """To be tried again: it did nothing wrong."""
        self.flying.remove(trial)
        search = self.search(trial.function)
        search.open -= 1
        trial.holder = trial.built = trial.ran = None
        (search.rivals if trial.rival else search.waiting).appendleft(trial)

    def _runner(self) -> str:
        return self.job.runner.LABEL if self.job.runner is not None else ""


def _unmade(order: Make, fate: str, by: str, reason: str) -> Made:
    """What an order that came to nothing would have made."""
    wanted = order.wanted
    gene = wanted.gene or Gene(wanted.parent.design if wanted.parent else wanted.design)
    origin = f"mutated from {wanted.parent_id}" if wanted.parent else "sampled"
    return Made(gene=gene, fate=fate, by=by, reason=reason, origin=origin)


def _lost_words(doing: str, how: str) -> str:
    """A sentence on what happened to a candidate whose hand was lost."""
    if how.startswith("no answer"):
        return f"It gave {how} while it was {doing}, and was stopped."
    return f"Its process was lost while it was {doing}: {how}."
