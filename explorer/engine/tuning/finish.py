"""The end of a job: its best candidates are checked before any is called best."""

from __future__ import annotations

import time
from collections.abc import Callable

from explorer.engine.tuning.crew import Heard
from explorer.engine.tuning.desk import Desk
from explorer.engine.tuning.ledger import Ledger
from explorer.engine.tuning.orders import Gene
from explorer.engine.tuning.search import Search
from explorer.engine.tuning.talk import Emulate, Emulated, Final, Raced
from explorer.model.race import Row
from explorer.model.result import Check
from explorer.tuning.events import Candidate, Checked, Rival

RACE_S = 2.0
"""The timing of a final race."""
RACES = 3
"""A race may show that others are best, who are raced then; so often at most."""
RACE_LIMIT_S = 300.0
EMULATE_LIMIT_S = 180.0
WRONG = ("mismatch", "out_of_bounds", "race", "deadlock")

Wait = Callable[[Callable[[], bool]], None]
"""Let hands work until something is true."""


class Finish:
    """Checks the top candidates.  `checked` and `refuted` are ids, of earlier work too."""

    def __init__(self, desk: Desk, ledger: Ledger, earlier: list[Checked], wait: Wait) -> None:
        self.desk, self.ledger, self.wait = desk, ledger, wait
        self.checked = {each.id for each in earlier}
        self.refuted = {each.id for each in earlier if each.check.status in WRONG}
        self.job = ledger.job

    def check(self, search: Search) -> None:
        """Until each of the best is checked, or enough of them were wrong."""
        most = RACES if self.job.measures else RACES * self.job.job.top
        for _ in range(most):
            top = search.ranked(self.refuted)[: self.job.job.top]
            if all(each.id in self.checked for each in top):
                return
            if self.job.measures:
                self._race(search, top)
            else:
                self._emulate(search, [each for each in top if each.id not in self.checked])

    def _race(self, search: Search, top: list[Candidate]) -> None:
        """The best and the rivals against each other: the winner is no accident of noise."""
        for device in self.desk.devices:
            device.give()
        rivals = tuple(name for name, _ in self.job.job.rivals)
        order = Final(
            search.function, tuple((each.id, _gene(each)) for each in top), rivals, 0, RACE_S
        )
        box: list[Heard] = []
        self.desk.give(self.desk.crew.extra(), order, RACE_LIMIT_S, box)
        self.wait(lambda: bool(box))
        answer = box[0].answer
        if not isinstance(answer, Raced):
            why = box[0].lost or "it gave no answer"
            check = Check(status="not_checked", detail=f"The final race failed: {why}.")
            for rank, each in enumerate(top, start=1):
                self._told(each, rank, check)
            return
        rows = answer.heat.rows
        for name, row in zip(rivals, rows[len(top) :], strict=False):
            if row.median_us is not None:
                self.ledger.tell(
                    Rival(at=time.time(), function=search.function, name=name, us=row.median_us)
                )
        raced = sorted(
            zip(top, rows, strict=False), key=lambda pair: pair[1].median_us or float("inf")
        )
        self._keep(search, raced, answer.records)
        for rank, (event, row) in enumerate(raced, start=1):
            self._told(event, rank, self._word(row))

    def _keep(
        self, search: Search, raced: list[tuple[Candidate, Row]], records: dict[int, str]
    ) -> None:
        """The race's figures take the place of earlier ones, in TVM's database too."""
        revised: dict[str, float | None] = {}
        for event, row in raced:
            if row.check.status in WRONG:
                revised[records[event.id]] = None
                self.ledger.replace(
                    event, fate="wrong", reason=row.check.detail, by="the final race", us=None
                )
            elif row.median_us is not None:
                revised[records[event.id]] = row.median_us
                self.ledger.replace(event, us=row.median_us, runs_us=row.samples_us)
        self.ledger.store.revise(search.workload, revised)

    def _emulate(self, search: Search, top: list[Candidate]) -> None:
        """Kernels run on the CPU, as many at a time as there are hands."""
        boxes: dict[int, list[Heard]] = {each.id: [] for each in top}
        waiting = list(top)

        def done() -> bool:
            """Give the next ones when some are done."""
            busy = [each for each in top if each not in waiting and not boxes[each.id]]
            while waiting and len(busy) < self.desk.crew.count:
                busy.append(each := waiting.pop(0))
                order = Emulate(search.function, _gene(each))
                hand = self.desk.crew.extra()
                self.desk.give(hand, order, EMULATE_LIMIT_S, boxes[each.id])
            return not busy

        self.wait(done)
        ranks = [each.id for each in search.ranked(self.refuted)]
        for each in top:
            heard = boxes[each.id][0]
            if isinstance(heard.answer, Emulated):
                check = heard.answer.check
            else:
                why = heard.lost or "it gave no answer"
                check = Check(status="not_checked", detail=f"The check itself failed: {why}.")
            self._told(each, ranks.index(each.id) + 1, check)

    def _word(self, row: Row) -> Check:
        if row.status == "measured" or row.check.status in WRONG:
            return row.check
        return Check(status="not_checked", detail=row.reason or row.check.detail)

    def _told(self, event: Candidate, rank: int, check: Check) -> None:
        self.checked.add(event.id)
        if check.status in WRONG:
            self.refuted.add(event.id)
        self.ledger.tell(
            Checked(at=time.time(), function=event.function, id=event.id, rank=rank, check=check)
        )


def _gene(event: Candidate) -> Gene:
    return Gene(event.design, event.decisions, event.trace)
