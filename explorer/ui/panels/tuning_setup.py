"""The form that starts a search: sensible defaults, one click."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import streamlit as st

from explorer import workbench
from explorer.errors import Refusal
from explorer.experiment import Variant
from explorer.model.race import HERE, Where
from explorer.model.target import Target
from explorer.primitives import AnyStep
from explorer.tuning.job import CostModel, Runner, Steering, Strategy, Task, TuneJob
from explorer.ui import moves, say, state, tunes, tunes_words
from explorer.ui.desk import Desk
from explorer.ui.panels import timing_setup

TRIALS = 64
AUTOMATIC = ("dlight", "default_gpu")
"""Strategies whose schedules a CUDA search is compared with."""
RIVAL_WAIT_S = 2.0
RUNS_AS: dict[Runner, str] = {"llvm": "llvm", "cuda": "local_cuda", "rpc": "rpc"}
"""The runner of `explorer.runners` behind each way to time candidates."""
SYMBOLIC = "Tiles are sampled as divisors of a size, so a search needs numbers."
ABOUT: dict[Runner, str] = {
    "llvm": "Real times.",
    "cuda": "Real times, on this machine's GPU.",
    "rpc": "Real times, on a machine that you name.",
    "static": "CUDA candidates are built and ranked by a model.",
}


def draw(desk: Desk) -> None:
    """Pick what is searched, where and for how long; Tune starts."""
    target = workbench.target(desk.experiment.target)
    functions = [f.name for f in desk.loaded.nest.functions if f.schedulable]
    if not functions:
        say.alert("No function here can be scheduled, so there is nothing to search.", "calm")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        picked = functions
        if len(functions) > 1:
            picked = st.multiselect(
                "Functions", functions, default=functions, key=f"tune_functions_{len(functions)}",
                width=300,
            )  # fmt: skip
        trials = st.number_input(
            "Trials", min_value=1, max_value=100_000, value=TRIALS, step=16, key="tune_trials",
            width=130, persist_state="session",
            help="How many candidates are built. All functions share them.",
        )  # fmt: skip
        minutes = st.number_input(
            "At most, minutes", min_value=0.1, value=None, step=1.0, key="tune_minutes", width=160,
            placeholder="no limit", persist_state="session",
        )  # fmt: skip
        behind = bool(desk.current.steps) and bool(
            st.selectbox(
                "Starting from", [False, True], key="tune_behind", width=300,
                format_func=lambda kept: (
                    f"{desk.variant}: keep its steps, search the rest" if kept else "the original"
                ),
            )
        )  # fmt: skip
    runner, where, refused = _runner(target)
    with st.expander("Strategy, cost model, rivals, seed"):
        weights = _weights(picked)
        strategy, cost_model, seed = _search()
        seeds, rivals = _variants(desk, target, picked)
    refused = refused or missing(desk, picked)
    job = TuneJob(
        title=desk.experiment.title or desk.loaded.module, source=desk.source,
        steps=desk.current.steps if behind else (), target=target.tag,
        sizes=desk.experiment.sizes, tasks=tuple(Task(name, weights[name]) for name in picked),
        runner=runner, where=where, trials=int(trials or TRIALS), budget_min=minutes,
        strategy=strategy, cost_model=cost_model, seed=seed, steering=Steering(seeds=seeds),
    )  # fmt: skip
    if refused is not None:
        say.alert(refused.sentence(), "calm")
    if desk.loaded.symbols and not unknown_sizes(desk):
        st.button(
            say.plain(f"Open it with {moves.sizes_text(desk)}"), key="tune_fix", type="primary",
            on_click=state.do, args=(moves.fix_sizes,),
        )  # fmt: skip
        return
    st.button(
        "Tune", type="primary", key="tune_start", disabled=refused is not None,
        on_click=_start, args=(desk, job, tuple(rivals)),
    )  # fmt: skip


def missing(desk: Desk, picked: list[str]) -> Refusal | None:
    """What the form still lacks."""
    if not picked:
        return Refusal(what="No function is picked.", why="A search needs one at least.")
    sizes = unknown_sizes(desk)
    if sizes:
        return Refusal(
            what=f"{', '.join(sizes)} has no value." if len(sizes) == 1
            else f"{', '.join(sizes)} have no values.",
            why=SYMBOLIC, do="Give them under Sizes above.",
        )  # fmt: skip
    if desk.loaded.symbols:
        return Refusal(what=f"{', '.join(desk.loaded.symbols)}: symbolic here.", why=SYMBOLIC)
    return None


def unknown_sizes(desk: Desk) -> list[str]:
    """Symbolic sizes without a value."""
    return [name for name in desk.loaded.symbols if name not in desk.experiment.sizes]


def refusal(runner: Runner, target: Target, where: Where = HERE) -> Refusal | None:
    """Why candidates for `target` can't be timed or ranked that way, or None."""
    if runner == "static":
        if target.kind == "cuda":
            return None
        return Refusal(
            what="The static model knows CUDA only.", why="llvm candidates are timed for real here."
        )
    asked = where if runner == "rpc" else Where(runner=RUNS_AS[runner])
    return workbench.can_time(target.tag, asked)


def preselected(target: Target) -> Runner:
    """The processor for llvm, the GPU where there is one, else static."""
    if target.kind == "llvm":
        return "llvm"
    return "static" if refusal("cuda", target) is not None else "cuda"


def _runner(target: Target) -> tuple[Runner, Where, Refusal | None]:
    """How candidates get their figures; those ways that can't work say why."""
    options = list(tunes_words.RUNNERS)
    reasons = {
        name: None if name == "rpc" else refusal(name, target) for name in options
    }  # a remote device is named first
    usual = preselected(target)
    runner = st.radio(
        "Figures from", options, index=options.index(usual), key=f"tune_runner_{target.kind}",
        format_func=tunes_words.RUNNERS.__getitem__, horizontal=True, persist_state="session",
        captions=[short(reasons[name]) or ABOUT[name] for name in options],
    )  # fmt: skip
    runner = runner or usual
    no_gpu = reasons["cuda"]
    if runner == "static" and no_gpu is not None and target.kind == "cuda":
        say.note(
            f"{no_gpu.what} So candidates are built and ranked by prediction; a remote GPU would "
            "give times."
        )
    where = timing_setup.remote() if runner == "rpc" else HERE
    refused = reasons[runner]
    if runner == "rpc":
        refused = timing_setup.unreachable(where) or refusal(runner, target, where)
    return runner, where, refused


def short(refused: Refusal | None) -> str:
    """A refusal under its option; "" without one."""
    return "" if refused is None else f"Not now: {refused.what}"


def _weights(picked: list[str]) -> dict[str, float]:
    if len(picked) < 2:
        return dict.fromkeys(picked, 1.0)
    with st.container(horizontal=True):
        return {
            name: float(
                st.number_input(
                    f"Weight of {say.plain(name)}", min_value=0.1, value=1.0, step=0.5,
                    key=f"tune_weight_{name}", width=170,
                    help="Trials are shared out by weight.",
                )
                or 1.0
            )
            for name in picked
        }  # fmt: skip


def _search() -> tuple[Strategy, CostModel, int]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        strategy = st.segmented_control(
            "Strategy", ["evolutionary", "random"], default="evolutionary", key="tune_strategy",
            required=True, persist_state="session",
            help="evolutionary: good candidates are changed. random: each is sampled anew.",
        )  # fmt: skip
        model = st.segmented_control(
            "Cost model", ["xgb", "none"], default="xgb", key="tune_model", required=True,
            persist_state="session", format_func=lambda name: {"xgb": "XGBoost"}.get(name, name),
            help="It learns from figures which candidates are worth building.",
        )  # fmt: skip
        seed = st.number_input(
            "Seed", min_value=0, value=0, step=1, key="tune_seed", width=120,
            persist_state="session",
        )  # fmt: skip
    return cast(Strategy, strategy), cast(CostModel, model), int(seed or 0)


def _variants(
    desk: Desk, target: Target, picked: list[str]
) -> tuple[tuple[tuple[str, str, tuple[AnyStep, ...]], ...], list[str]]:
    """Variants whose decisions are tried first, and the names of those it is compared with."""
    mine = [v.name for v in desk.experiment.variants if v.steps]
    first: list[str] = []
    if mine:
        first = st.multiselect(
            "Try their decisions first", mine, key=f"tune_seeds_{len(mine)}",
            help="A variant's own tile sizes and choices, put into the search as candidates.",
        )  # fmt: skip
    options = possible_rivals(desk, target)
    rivals = st.multiselect(
        "Compare with", options, default=options, key=f"tune_rivals_{len(options)}_{target.kind}",
        help="They get a figure in the same way and are drawn as lines.",
    )  # fmt: skip
    chosen = [v for v in desk.experiment.variants if v.name in first]
    return tuple((v.name, name, v.steps) for v in chosen for name in picked), rivals


def possible_rivals(desk: Desk, target: Target) -> list[str]:
    """Names of variants that can have a figure: all of them on llvm, what is scheduled on CUDA."""
    names = [
        v.name for v in desk.experiment.variants if v.steps or target.kind == "llvm"
    ]  # an unscheduled function has no kernel, but runs on the processor
    if target.kind == "cuda":
        for strategy in AUTOMATIC:
            state.background().ask(workbench.propose, desk.source, (), strategy, target.tag, "", "")
            names += [label for label in [moves.STRATEGIES[strategy]] if label not in names]
    return names


def rivals_of(desk: Desk, names: tuple[str, ...], target: str) -> tuple[Variant, ...]:
    """The rivals with their steps; an automatic one that schedules nothing is left out."""
    found = [v for v in desk.experiment.variants if v.name in names]
    have = {v.name for v in found}
    for strategy in AUTOMATIC:
        label = moves.STRATEGIES[strategy]
        if label not in names or label in have:
            continue
        answer = state.background().ask(
            workbench.propose, desk.source, (), strategy, target, "", "", wait_s=RIVAL_WAIT_S
        )
        if answer.value is not None and answer.value.steps:
            found.append(Variant(label, workbench.steps_of(answer.value)))
    return tuple(found)


def _start(desk: Desk, job: TuneJob, rivals: tuple[str, ...]) -> None:
    """Write the job's folder, begin, and look at it."""
    chosen = tuple((v.name, v.steps) for v in rivals_of(desk, rivals, job.target))
    tunes.start(msgspec.structs.replace(typed(job, dict(st.session_state)), rivals=chosen))


def typed(job: TuneJob, fields: dict[Any, Any]) -> TuneJob:
    """The job with what the form's fields hold now.

    A click right after typing comes with the arguments of before; the fields are up to date.
    """
    weights = {task.function: fields.get(f"tune_weight_{task.function}") for task in job.tasks}
    return msgspec.structs.replace(
        job,
        trials=int(fields.get("tune_trials") or job.trials),
        budget_min=fields.get("tune_minutes", job.budget_min),
        seed=int(fields.get("tune_seed") or 0),
        strategy=fields.get("tune_strategy") or job.strategy,
        cost_model=fields.get("tune_model") or job.cost_model,
        tasks=tuple(Task(t.function, weights[t.function] or t.weight) for t in job.tasks),
    )
