"""Where variants are timed and how: the controls of the Timing tab, and what they mean."""

from __future__ import annotations

import msgspec
import streamlit as st

from explorer import workbench
from explorer.errors import Refusal
from explorer.experiment import Variant
from explorer.model.race import Method, Where
from explorer.runners import RUNNERS
from explorer.ui import desk as desks
from explorer.ui import say, state
from explorer.ui.desk import Desk
from explorer.ui.races import Entry, Kind

REMOTE = "rpc"
BUDGETS_S = [1, 2, 5, 10, 20, 60]
USUAL_S = 5
LOOPBACK = "127.0.0.1:9090"


def draw(desk: Desk) -> tuple[Entry, Refusal | None]:
    """The controls; what they ask for, and why it can't be timed, or None."""
    names = desks.names(desk)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        runner = _runner(desk)
        functions = [f.name for f in desk.loaded.nest.functions if f.schedulable]
        function = ""
        if len(functions) > 1:
            function = st.selectbox(
                "Function", ["", *functions], key="time_function", width=150,
                format_func=lambda text: text or "all", persist_state="session",
            ) or ""  # fmt: skip
        cache = st.segmented_control(
            "L2 cache", ["warm", "flushed"], default="warm", key="time_cache", required=True,
            persist_state="session",
            help="warm: as the calls before left it. flushed: emptied before each timed call.",
        )  # fmt: skip
        budget = st.selectbox(
            "At most", BUDGETS_S, index=BUDGETS_S.index(USUAL_S), key="time_budget", width=110,
            format_func=lambda s: f"{s} s", persist_state="session",
            help="It ends earlier once every median is known within ±1 %. Building, the reference "
            "and waiting for the device come on top.",
        )  # fmt: skip
        baselines = st.checkbox(
            "Libraries, too", key="time_baselines", persist_state="session",
            help="Race what installed libraries have for the same work: NumPy and PyTorch on a "
            "processor, PyTorch and CuPy on a GPU. None is required.",
        )  # fmt: skip
        picked = st.pills(
            "Variants", names, selection_mode="multi", default=names,
            key="time_variants " + "\n".join(names),
            format_func=say.plain, persist_state="session",
        )  # fmt: skip
    where = remote() if runner == REMOTE else Where(runner=runner)
    experiment = desk.experiment
    entry = Entry(
        source=desk.source, target=experiment.target, sizes=experiment.sizes, function=function,
        variants=tuple(Variant(v.name, v.steps) for v in experiment.variants if v.name in picked),
        where=where,
        method=Method(
            budget_s=float(budget or USUAL_S), cache="flushed" if cache == "flushed" else "warm",
            baselines=bool(baselines),
        ),
    )  # fmt: skip
    return entry, refusal(entry)


def refusal(entry: Entry) -> Refusal | None:
    """Why this can't be timed as far as this machine can tell; None when it may."""
    if not entry.variants:
        return Refusal(what="No variant is picked.", why="A race needs one at least.")
    return unreachable(entry.where) or workbench.can_time(entry.target, entry.where)


def unreachable(where: Where) -> Refusal | None:
    """What the address of a remote device lacks, or None."""
    if where.runner == REMOTE and not (where.server or where.tracker):
        return Refusal(
            what="No remote device is named yet.", why="RPC needs the address of a server,"
            " or of a tracker with a key.", do=f"Write HOST:PORT, e.g. {LOOPBACK}.",
        )  # fmt: skip
    if where.tracker and not where.key:
        return Refusal(
            what="The tracker needs a key.", why="It lends devices by key.",
            do="Write the key that the servers were started with.",
        )  # fmt: skip
    return None


def ways_out(desk: Desk, runner: str) -> None:
    """Buttons that make target and runner go together."""
    with st.container(horizontal=True, vertical_alignment="center"):
        if runner != REMOTE:
            st.button(
                "Use a remote GPU…", key="time_remote", on_click=_use_remote, args=(_usual(desk),),
                help="Over TVM RPC: a machine with a GPU runs and times the kernels.",
            )  # fmt: skip
        if desk.experiment.target != "llvm":
            st.button(
                "Target llvm: race CPU schedules here", key="time_llvm", on_click=_use_llvm,
                help="parallel and vectorize are timed for real on this machine's processor. "
                "Variants that bind loops to GPU threads don't apply there.",
            )  # fmt: skip


def _runner(desk: Desk) -> str:
    labels = workbench.runners()
    usual = _usual(desk)
    names = sorted(labels, key=lambda name: (name != usual, name == REMOTE))
    found = st.selectbox(
        "Where", names, format_func=labels.__getitem__, width=250,
        key=state.control(_runner_name(usual)), persist_state="session",
    )  # fmt: skip
    return found or usual


def _usual(desk: Desk) -> str:
    """The runner that suits the target."""
    return "llvm" if workbench.target(desk.experiment.target).kind == "llvm" else "local_cuda"


def _runner_name(usual: str) -> str:
    """Where the choice is kept: a choice for GPUs is none for processors."""
    return "time_runner" if usual == "local_cuda" else f"time_runner_{usual}"


def _use_remote(usual: str) -> None:
    state.preset(_runner_name(usual), REMOTE)


def _use_llvm() -> None:
    state.preset(_runner_name("llvm"), "llvm")
    state.do(desks.set_target, "llvm")


def remote() -> Where:
    """The form of a remote device."""
    say.alert(RUNNERS[REMOTE].WARNING, "warn")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        by = st.segmented_control(
            "Reached by", ["server", "tracker"], default="server", key="time_by", required=True,
            persist_state="session",
        )  # fmt: skip
        address = st.text_input(
            "Address", LOOPBACK if by == "server" else "127.0.0.1:9190", key=f"time_at_{by}",
            width=190, persist_state="session", help="HOST:PORT, best the near end of a tunnel.",
        )  # fmt: skip
        key = ""
        if by == "tracker":
            key = st.text_input(
                "Key", key="time_key", width=130, persist_state="session",
                help="All servers of the key are raced on, with a winner for each.",
            ) or ""  # fmt: skip
        triple = st.text_input(
            "Host triple", key="time_triple", width=190, placeholder="asked of the server",
            persist_state="session",
            help="The remote processor's LLVM triple, e.g. aarch64-linux-gnu. Only needed where "
            "the server can't tell it.",
        )  # fmt: skip
        number = st.number_input(
            "GPU", min_value=0, value=0, step=1, key="time_gpu", width=110,
            persist_state="session", help="Its number on that machine.",
        )  # fmt: skip
        again = st.checkbox(
            "Even if it broke down lately", key="time_again", persist_state="session"
        )
    with st.expander("How to start a server and reach it"):
        say.note("On the machine with the GPU, listening on its loopback only:")
        st.code("python -m tvm.exec.rpc_server --host 127.0.0.1 --port 9090", language="bash")
        say.note("Here, a tunnel to it:")
        st.code("ssh -L 9090:127.0.0.1:9090 user@gpu-machine", language="bash")
    return _where(by, address, key, triple, number, again)


def begin(kind: Kind, entry: Entry) -> None:
    """A button's callback: start a race or study of what the controls say by now.

    A text that was typed right before the click is newer than the page that made the button.
    """
    if entry.where.runner == REMOTE:
        now = st.session_state
        by = now.get("time_by", "server")
        where = _where(
            by, now.get(f"time_at_{by}", entry.where.tracker or entry.where.server),
            now.get("time_key", entry.where.key), now.get("time_triple", ""),
            now.get("time_gpu", 0), now.get("time_again", False),
        )  # fmt: skip
        if unreachable(where) is not None:
            return  # the page says so
        entry = msgspec.structs.replace(entry, where=where)
    state.begin(kind, entry)


def _where(
    by: str | None, address: str | None, key: str | None, triple: str | None, number: float | None,
    again: bool | None,
) -> Where:  # fmt: skip
    """What the form of a remote device says."""
    address = (address or "").strip()
    return Where(
        runner=REMOTE, server=address if by == "server" else "",
        tracker=address if by == "tracker" else "", key=(key or "").strip() * (by == "tracker"),
        host_triple=(triple or "").strip(), device=int(number or 0), again=bool(again),
    )  # fmt: skip
