"""Steps replayed on a module, so that one more click costs that step only.

States are kept by (state before, step) in an LRU; undo, redo and branches find theirs again.  A
refused step is skipped: the state after it is the state before it, with the refusal.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from itertools import count

import msgspec
from tvm import ir

from explorer.engine.extract import nest_of
from explorer.engine.live import Live
from explorer.engine.load import module
from explorer.errors import Refusal, StepRefused
from explorer.model.loaded import Source
from explorer.model.nest import Nest
from explorer.model.view import StepView, View
from explorer.primitives.base import Step

KEPT_STATES = 400
"""States kept in memory; each shares with its neighbours what the step left alone."""


class State:
    """A module after some steps; `step` is what the last of them did (None at the start)."""

    def __init__(self, number: int, live: Live, step: StepView | None) -> None:
        self.number = number
        self.live = live
        self.step = step

    @cached_property
    def script(self) -> str:
        """The module as TVMScript."""
        return str(self.live.mod.script())

    @cached_property
    def nest(self) -> Nest:
        """The module as a nest."""
        return nest_of(self.live.mod, self.script)


@dataclass(frozen=True)
class Replay:
    """A variant replayed: the last state, and what each step did."""

    state: State
    steps: tuple[StepView, ...]

    @property
    def live(self) -> Live:
        """The schedule after all steps that applied; don't change it, copy it."""
        return self.state.live

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """Why steps were skipped, in order; empty when all applied."""
        return tuple(step.refusal for step in self.steps if step.refusal is not None)


_states: OrderedDict[tuple[int, bytes], State] = OrderedDict()
_numbers = count(1)


def replay(source: Source, steps: tuple[Step, ...]) -> Replay:
    """The module of `source` after `steps`.  Raises LoadError when the text can't be loaded."""
    state = _start(source)
    views = []
    for step in steps:
        state = _after(state, step)
        assert state.step is not None
        views.append(state.step)
    return Replay(state, tuple(views))


def view(source: Source, steps: tuple[Step, ...]) -> View:
    """What the screen shows after `steps`."""
    done = replay(source, steps)
    return View(nest=done.state.nest, script=done.state.script, steps=done.steps)


def scheduled(source: Source, steps: tuple[Step, ...]) -> tuple[Live, Nest]:
    """The schedule and the nest after `steps`, refused ones skipped; for reading only."""
    done = replay(source, steps)
    return done.live, done.state.nest


def scheduled_module(source: Source, steps: tuple[Step, ...]) -> ir.IRModule:
    """The module after `steps`, refused ones skipped, as one the caller may change."""
    mod = replay(source, steps).live.mod
    return ir.IRModule(dict(mod.functions_items()), attrs=mod.attrs)


def script(source: Source, steps: tuple[Step, ...]) -> list[str]:
    """The Python lines of `steps`, to run after `sch = tvm.s_tir.Schedule(mod)`."""
    return list(replay(source, steps).live.lines)


def _start(source: Source) -> State:
    key = (0, msgspec.json.encode(source))
    state = _find(key)
    return state or _keep(key, State(next(_numbers), Live(module(source)), None))


def _after(before: State, step: Step) -> State:
    # JSON, not the value, is the key: 1, 1.0 and True are equal in Python, not to TVM.
    key = (before.number, msgspec.json.encode(step))
    state = _find(key)
    if state is not None:
        return state
    try:
        live, _ = before.live.apply(step)
        done = StepView(lines=tuple(live.lines[len(before.live.lines) :]))
    except StepRefused as refused:
        problem = refused.problem
        live = before.live
        refusal = Refusal(
            what=problem.what, why=problem.why, do=problem.do, details=problem.details
        )
        done = StepView(lines=(), refusal=refusal)
    return _keep(key, State(next(_numbers), live, done))


def _find(key: tuple[int, bytes]) -> State | None:
    state = _states.get(key)
    if state is not None:
        _states.move_to_end(key)
    return state


def _keep(key: tuple[int, bytes], state: State) -> State:
    _states[key] = state
    while len(_states) > KEPT_STATES:
        _states.popitem(last=False)
    return state
