"""Schedule rules: TVM's own for a target, some left out or added, and which made what."""

from __future__ import annotations

from typing import Any

from tvm import ir, s_tir
from tvm.ir.utils import derived_object
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.meta_schedule import schedule_rule as rules
from tvm.target import Target as TvmTarget

from explorer.errors import UserError

_WIDE, _TENSOR_CORE = "MultiLevelTilingWideVector", "MultiLevelTilingTensorCore"
_MORE = {"llvm": (_WIDE,), "cuda": (_TENSOR_CORE,)}
"""Rules that can be added: TVM uses the second by default on newer GPUs only."""
_VECTOR_BITS = 128
"""What every processor has that code is generated for without naming it."""

SEED = 1
"""What rules decide at random while they make designs is the same in every job."""


class Rules:
    """TVM's schedule rules, postprocessors and mutators for one workload and target."""

    def __init__(
        self, workload: ir.IRModule, target: TvmTarget, leave: tuple[str, ...], add: tuple[str, ...]
    ) -> None:
        """`leave` and `add` are names of rules.  Raises UserError for a name that is unknown."""
        default = _context(workload, target, "from-target")[0]
        chosen = list(default.sch_rules)
        known = dict.fromkeys([*map(_name, chosen), *_MORE[target.kind.name]])
        for name in (*leave, *add):
            if name not in known:
                raise UserError(
                    f"There is no schedule rule {name} for this target.",
                    f"There are: {', '.join(known)}.",
                )
        postprocs: Any = "from-target"
        present = {_name(rule) for rule in chosen}
        if _TENSOR_CORE in add and _TENSOR_CORE not in present:
            chosen = list(rules.ScheduleRule.create("cuda-tensorcore"))
            postprocs = "cuda-tensorcore"
        if _WIDE in add:  # before the other tiling: a block is tiled once
            reuse = rules.ReuseType("may", [1, 2], "global")
            wide = rules.MultiLevelTilingWideVector("SSRSRS", _VECTOR_BITS, 64, None, reuse)
            at = next((n for n, rule in enumerate(chosen) if "Tiling" in _name(rule)), 0)
            chosen.insert(at, wide)
        self.names = tuple(
            dict.fromkeys(_name(rule) for rule in chosen if _name(rule) not in leave)
        )
        self._made_by: dict[Any, str] = {}
        watched = [
            # PostOrderApply knows this one by its class.
            rule if isinstance(rule, rules.ApplyCustomRule) else _watched(rule, self._made_by)
            for rule in chosen if _name(rule) not in leave
        ]  # fmt: skip
        self.space, self.context = _context(workload, target, watched, postprocs)
        self.postprocs = list(self.space.postprocs)
        self.mutators = {each: float(share) for each, share in self.space.mutator_probs.items()}

    def designs(self) -> list[s_tir.Trace]:
        """The traces that the rules make, without instructions that do nothing.

        Raises what TVM raises for a workload that its rules can't read.
        """
        found = self.context.generate_design_space()
        return [schedule.trace.simplified(True) for schedule in found]

    def made(self, trace: s_tir.Trace) -> tuple[str, ...]:
        """The rules that made instructions of a design, in order."""
        made_by = self._made_by
        return tuple(dict.fromkeys(made_by[each] for each in trace.insts if each in made_by))


def _context(
    workload: ir.IRModule, target: TvmTarget, chosen: Any, postprocs: Any = "from-target"
) -> tuple[Any, ms.TuneContext]:
    space = ms.space_generator.PostOrderApply(sch_rules=chosen, postprocs=postprocs)
    context = ms.TuneContext(
        workload, target=target, space_generator=space, num_threads=1, rand_state=SEED
    )
    return space, context


def _name(rule: Any) -> str:
    return type(rule).__name__


def _watched(rule: Any, made_by: dict[Any, str]) -> Any:
    """The rule, noting in `made_by` which instructions it adds."""

    @derived_object
    class Watched(rules.PyScheduleRule):
        """A rule that is looked at while it works."""

        def _initialize_with_tune_context(self, context: ms.TuneContext) -> None:
            rule._initialize_with_tune_context(context)

        def apply(self, sch: s_tir.Schedule, block: Any) -> Any:
            """As the rule does."""
            before = len(sch.trace.insts)
            results = rule.apply(sch, block)
            for result in results:
                for instruction in list(result.trace.insts)[before:]:
                    made_by.setdefault(instruction, _name(rule))
            return results

        def clone(self) -> Any:
            """A copy that notes in the same place."""
            return _watched(rule.clone(), made_by)

    return Watched()
