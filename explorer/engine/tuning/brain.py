"""What to make and what to try next, from what was measured so far.  Plain values, no TVM.

Deterministic: the same answers for the same job and the same calls in the same order.
"""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass

from explorer.engine.tuning.model import CostModel, Rows
from explorer.engine.tuning.orders import Gene, Made, Wanted
from explorer.engine.tuning.steering import Rudder
from explorer.tuning.events import Design, Fate
from explorer.tuning.job import Task, TuneJob

FIRST = 10
"""So many samples are tried before the cost model is asked; a quarter of the trials, if fewer."""
POOL = 32
"""The cost model's first choice is among so many."""
EACH = 6
"""So many new candidates are made for each that is chosen later."""
LIMIT = 512
"""Candidates that wait to be tried; the worst are forgotten."""
ANY = 0.07
"""How often a candidate is chosen blindly."""
FRESH, FROM_TRIED = 0.2, 0.6
"""How often a sample is wanted, and how often else a mutation of one that was tried: the others
are mutations of candidates that the model likes."""
PARENTS = 12
"""Mutations are of the best so many."""
PATIENCE = 100
"""After so many orders that brought nothing new, what there is will do."""
SEEDS = 2**31 - 1


@dataclass
class _Known:
    """A program: what made it, what it looks like, how it did."""

    id: int
    gene: Gene
    features: list[float]
    seed: bool = False
    us: float | None = None
    score: float | None = None


class Brain:
    """The search for one function."""

    def __init__(self, job: TuneJob, task: Task, designs: tuple[Design, ...]) -> None:
        """`designs` are those that may be sampled now."""
        steering = job.steering
        rudder = Rudder(task.function, steering, designs)
        self._open = [each.number for each in designs if not rudder.keeps_out(each.number)]
        self._rows = Rows(designs)
        self._random = random.Random(zlib.crc32(task.function.encode()) * SEEDS + job.seed)
        self._evolves = job.strategy == "evolutionary"
        self._model = CostModel(job.seed) if self._evolves and job.cost_model == "xgb" else None
        share = job.trials * task.weight / sum(each.weight for each in job.tasks)
        self._first = max(4, min(FIRST, int(share / 4)))
        self._seeds = [name for name, function, _ in steering.seeds if function == task.function]
        self._pool: dict[int, _Known] = {}
        self._tried: dict[int, _Known] = {}
        self._learned: list[_Known] = []
        self._digests: dict[str, int] = {}
        self._valid: dict[int, tuple[int, int]] = {}
        """Of a design: candidates that could be tried, and that were made (and one of each)."""
        self._fresh = 0
        self._ordered = 0
        self._trained_on = 0
        self._dropped: list[int] = []
        self.rounds = 0
        """How often the cost model was trained."""

    def wants(self, n: int) -> list[Wanted]:
        """What to make next; fewer than `n` when there is nothing that could be made."""
        self._ordered += n
        orders = [self._seed() for _ in range(min(n, len(self._seeds)))]
        while len(orders) < n and self._open:
            orders.append(self._order())
        return orders

    def take(self, id: int, made: Made) -> Fate | None:
        """A candidate was made; how it ends, or None when it may be tried."""
        valid, all_made = self._valid.get(made.gene.design, (1, 1))
        self._valid[made.gene.design] = valid + (not made.fate), all_made + 1
        if made.fate:
            return "banned" if made.fate == "banned" else "rejected"
        if made.digest in self._digests:
            return "duplicate"
        self._digests[made.digest] = id
        seed = made.origin.startswith("seed ")
        self._pool[id] = _Known(id, made.gene, self._rows.row(made), seed)
        self._fresh += 1
        self._ordered = 0
        return None

    def twin(self, digest: str) -> int:
        """The first candidate with that program, 0 when there is none."""
        return self._digests.get(digest, 0)

    def choose(self, n: int) -> list[tuple[int, float | None]]:
        """Up to `n` candidates to try next, with the model's score.

        The score is the logarithm of the best time over the one expected.  [] when more must be
        made first.
        """
        chosen: list[tuple[int, float | None]] = []
        while len(chosen) < n and (known := self._next()) is not None:
            del self._pool[known.id]
            self._tried[known.id] = known
            chosen.append((known.id, known.score))
        return chosen

    def learn(self, id: int, us: float | None) -> None:
        """What became of a candidate: its time, or None when it failed."""
        known = self._pool.pop(id, None) or self._tried.get(id)
        if known is None:
            return
        known.us = us
        self._tried[id] = known
        self._learned.append(known)

    def passed_over(self) -> list[int]:
        """The candidates that could be tried and were not."""
        return sorted([*self._pool, *self._dropped])

    def forgotten(self) -> list[int]:
        """Candidates that it let go of since the last call."""
        dropped, self._dropped = self._dropped, []
        return dropped

    # Making

    def _seed(self) -> Wanted:
        return Wanted(seed=self._number(), seed_name=self._seeds.pop(0))

    def _order(self) -> Wanted:
        parents = self._parents() if self._evolves and self._random.random() >= FRESH else []
        if not parents:
            return Wanted(seed=self._number(), design=self._design())
        shares = [PARENTS - rank for rank in range(len(parents))]
        parent = self._random.choices(parents, shares)[0]
        return Wanted(seed=self._number(), parent=parent.gene, parent_id=parent.id)

    def _design(self) -> int:
        """One at random, seldom one whose samples are nearly all refused."""
        made = [self._valid.get(design, (1, 1)) for design in self._open]
        return self._random.choices(self._open, [valid / count for valid, count in made])[0]

    def _parents(self) -> list[_Known]:
        """The best candidates of one kind, best first: tried ones, or such that look good."""
        ran = [each for each in self._learned if each.us is not None]
        if self.rounds and self._random.random() >= FROM_TRIED:
            self._score()
            best = sorted(self._pool.values(), key=_by_score)[:PARENTS]
        else:
            best = sorted(ran, key=lambda each: (each.us or 0.0, each.id))[:PARENTS]
        return [each for each in best if each.gene.design in self._open]

    def _number(self) -> int:
        return self._random.randrange(1, SEEDS)

    # Choosing

    def _next(self) -> _Known | None:
        if not self._pool:
            return None
        waiting = self._pool.values()
        oldest = next((each for each in waiting if each.seed), next(iter(waiting)))
        if self._model is None or oldest.seed:
            return oldest
        if len(self._tried) < self._first or not any(k.us is not None for k in self._learned):
            return oldest
        enough = self._fresh >= EACH if self.rounds else len(self._pool) >= POOL
        if not enough and self._ordered < PATIENCE:
            return None
        self._fresh = 0
        if self._random.random() < ANY:
            return self._random.choice(list(self._pool.values()))
        self._train()
        self._score()
        return min(self._pool.values(), key=_by_score)

    def _train(self) -> None:
        """Train again when there are some more results."""
        assert self._model is not None
        more = len(self._learned) - self._trained_on
        if not more or (self.rounds and more < self._trained_on // 12):
            return
        self._model.train([k.features for k in self._learned], [k.us for k in self._learned])
        self._trained_on = len(self._learned)
        self.rounds += 1
        for known in self._pool.values():
            known.score = None

    def _score(self) -> None:
        """Ask the model about what it has not seen; forget the worst of too many."""
        assert self._model is not None
        unknown = [each for each in self._pool.values() if each.score is None]
        if unknown:
            scores = self._model.scores([each.features for each in unknown])
            for each, score in zip(unknown, scores, strict=True):
                each.score = score
        for each in sorted(self._pool.values(), key=_by_score)[LIMIT:]:
            del self._pool[each.id]
            self._dropped.append(each.id)


def _by_score(known: _Known) -> tuple[float, int]:
    return (-(known.score or 0.0), known.id)
