"""How often one thread executes each block of a kernel's PTX.

Only the instructions that decide about branches are evaluated, with the thread's own numbers.  A
loop runs three times; when its exit condition then moves by equal steps, the rest is computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from explorer.analysis.ptx_text import Block, Instruction
from explorer.analysis.ptx_values import _COMPARE, value_of

UNKNOWN_TRIPS = 16
"""Rounds of a loop whose end depends on data: an assumption, told in `Course.assumed`."""
_LIMIT = 20_000
"""Blocks followed for one thread; longer courses are cut and told."""
_NEVER = 2**40


@dataclass
class Course:
    """A thread's executions of each block, the last values of registers, and what was assumed."""

    counts: list[float]
    values: dict[str, int | None]
    assumed: set[str] = field(default_factory=set)


class Runner:
    """A kernel's control flow; `run` follows one thread through it."""

    def __init__(self, blocks: list[Block], wanted: frozenset[str] = frozenset()) -> None:
        """`wanted` are more registers whose values matter."""
        self.blocks = blocks
        self.loops = _loops(blocks)
        self.slices = _slices(blocks, wanted)

    def run(self, start: Mapping[str, int]) -> Course:
        """Follow a thread; `start` holds %tid.x and the like, and parameters as "param3"."""
        course = Course([0.0] * len(self.blocks), dict(start))
        self.left = _LIMIT
        at: int | None = 0
        while at is not None:
            at = self._step(at, course, None)
        return course

    def _step(self, at: int, course: Course, inside: int | None) -> int | None:
        """Execute a block, or a whole loop when it heads one; the block that comes next."""
        if at in self.loops and at != inside:
            return self._loop(at, course)
        self.left -= 1
        if self.left < 0:
            course.assumed.add("a course that is too long to follow")
            return None
        course.counts[at] += 1
        for instruction in self.slices[at]:
            self._execute(instruction, course)
        return self._next(self.blocks[at], course)

    def _execute(self, instruction: Instruction, course: Course) -> None:
        value = value_of(instruction, course.values)
        if instruction.guard:
            guard = course.values.get(instruction.guard)
            if guard is not None and bool(guard) == instruction.negated:
                return
            value = value if guard is not None else None
        for result in instruction.results:
            course.values[result] = value
            value = None

    def _next(self, block: Block, course: Course) -> int | None:
        branch = block.branch
        if branch is None or not branch.guard:
            return block.following if branch is None else block.target
        guard = course.values.get(branch.guard)
        if guard is None:
            # Data decides: take the way that does more, which is the one that falls through.
            course.assumed.add("a branch that data decides")
            return block.following
        return block.target if bool(guard) != branch.negated else block.following

    # Loops

    def _loop(self, head: int, course: Course) -> int | None:
        """Run a loop to its end."""
        nodes = self.loops[head]
        history: list[dict[str, int | None]] = []
        counts = [list(course.counts)]
        for _ in range(3):
            at = self._round(head, nodes, course)
            if at != head:
                return at
            history.append(dict(course.values))
            counts.append(list(course.counts))
        rounds, leave = self._rest(nodes, history, course)
        known = rounds is not None
        more = rounds - 1 if rounds is not None else UNKNOWN_TRIPS - 3
        for block in nodes:
            course.counts[block] += more * (counts[-1][block] - counts[-2][block])
        for name in self._changed(nodes):
            course.values[name] = _extrapolated(name, history, more)
        for _ in range(3 if known else 0):  # the last rounds as they are: they may be cut short
            at = self._round(head, nodes, course)
            if at != head:
                return at
        return leave

    def _round(self, head: int, nodes: frozenset[int], course: Course) -> int | None:
        """Once through a loop: its head again, or the block that it is left for."""
        at = self._step(head, course, head)
        while at is not None and at != head and at in nodes:
            at = self._step(at, course, None)
        return at

    def _rest(
        self, nodes: frozenset[int], history: list[dict[str, int | None]], course: Course
    ) -> tuple[int | None, int | None]:
        """About how many more rounds come (at least 1; None: unknown), and the block after them."""
        rounds, leave = _NEVER, None
        for at in sorted(nodes):
            block = self.blocks[at]
            branch = block.branch
            if branch is None:
                continue
            outside = [to for to in _next_of(block) if to not in nodes]
            if not outside or not branch.guard:
                continue
            leave = outside[0] if leave is None else leave
            goes_on_when = (outside[0] != block.target) != branch.negated
            found = self._until(branch.guard, goes_on_when, nodes, history)
            if found is not None and found < rounds:
                rounds, leave = found, outside[0]
        if rounds == _NEVER:
            course.assumed.add("a loop whose end is not known")
            return None, leave
        return max(rounds, 1), leave

    def _until(
        self, guard: str, goes_on_when: bool, nodes: frozenset[int],
        history: list[dict[str, int | None]],
    ) -> int | None:  # fmt: skip
        """Rounds after those seen until the condition ends the loop; None when that is unknown."""
        test = next(
            (i for at in sorted(nodes) for i in self.slices[at] if guard in i.results), None
        )
        if test is None or test.name != "setp" or test.parts[1] not in _COMPARE:
            return None
        sides = [[_known(operand, values) for values in history] for operand in test.operands[:2]]
        flat = [value for side in sides for value in side if value is not None]
        if len(flat) != 2 * len(history) or len(history) < 3:
            return None
        gaps = [flat[n] - flat[n + len(history)] for n in range(len(history))]
        step = gaps[-1] - gaps[-2]
        if step != gaps[-2] - gaps[-3]:
            return None
        return _first_end(test.parts[1], goes_on_when, gaps[-1], step)

    def _changed(self, nodes: frozenset[int]) -> set[str]:
        return {name for at in nodes for i in self.slices[at] for name in i.results}


def _first_end(relation: str, goes_on_when: bool, gap: int, step: int) -> int | None:
    """The least n >= 0 for which `gap + n * step` (against 0) ends the loop after n more rounds."""
    compare = _COMPARE[relation]
    if step == 0:
        return None
    near = -gap // step
    for rounds in sorted({0, 1, *range(max(near - 2, 1), max(near + 3, 2))}):
        if compare(gap + rounds * step, 0) != goes_on_when:
            return rounds
    return None


def _known(operand: str, values: Mapping[str, int | None]) -> int | None:
    if operand.startswith("%"):
        return values.get(operand)
    try:
        return int(operand, 0)
    except ValueError:
        return None


def _extrapolated(name: str, history: list[dict[str, int | None]], more: int) -> int | None:
    found = [values.get(name) for values in history]
    if len(found) < 3 or any(value is None for value in found):
        return None
    one, two, three = (value or 0 for value in found[-3:])
    return three + more * (three - two) if three - two == two - one else None


def _loops(blocks: list[Block]) -> dict[int, frozenset[int]]:
    """The natural loops by the block that is entered first, wherever that stands in the text."""
    before: dict[int, list[int]] = {}
    for at, block in enumerate(blocks):
        for to in _next_of(block):
            before.setdefault(to, []).append(at)
    found: dict[int, set[int]] = {}
    for at, head in _back_edges(blocks):
        nodes = found.setdefault(head, {head})
        waiting = [at]
        while waiting:
            node = waiting.pop()
            if node not in nodes:
                nodes.add(node)
                waiting += before.get(node, ())
    return {head: frozenset(nodes) for head, nodes in found.items()}


def _back_edges(blocks: list[Block]) -> Iterator[tuple[int, int]]:
    """Edges to a block that is still on the way from the entry to where they start."""
    seen, on_the_way = {0}, {0}
    path = [(0, iter(_next_of(blocks[0])))]
    while path:
        at, others = path[-1]
        for to in others:
            if to in on_the_way:
                yield at, to
            elif to not in seen:
                seen.add(to)
                on_the_way.add(to)
                path.append((to, iter(_next_of(blocks[to]))))
                break
        else:
            on_the_way.discard(at)
            path.pop()


def _next_of(block: Block) -> list[int]:
    return [to for to in (block.target, block.following) if to is not None]


def _slices(blocks: list[Block], wanted: frozenset[str]) -> list[list[Instruction]]:
    """The instructions of each block on which branches (and `wanted`) depend."""
    makers: dict[str, list[Instruction]] = {}
    for block in blocks:
        for instruction in block.instructions:
            for result in instruction.results:
                makers.setdefault(result, []).append(instruction)
    needed: set[str] = set(wanted)
    waiting = [*needed, *(b.branch.guard for b in blocks if b.branch and b.branch.guard)]
    kept: set[int] = set()
    while waiting:
        name = waiting.pop()
        needed.add(name)
        for instruction in makers.get(name, ()):
            if id(instruction) not in kept:
                kept.add(id(instruction))
                waiting += [read for read in instruction.reads() if read not in needed]
    return [[i for i in block.instructions if id(i) in kept] for block in blocks]
