"""What a server and its children are told by the client, and what one child may use."""

from __future__ import annotations

import ctypes
import os
import resource
import signal

import msgspec

BACKGROUND_NICE = 10
"""Background children yield the cores to the ones a user waits for."""
_PR_SET_PDEATHSIG = 1


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one child, all in bytes.

    `memory_bytes` is what it may allocate beyond what the server had at the fork; processes that
    it starts (a C++ compiler, an emulated kernel) may each have as much.  `file_bytes` bounds every
    file it writes, `answer_bytes` one answer.
    """

    memory_bytes: int = 2 << 30
    file_bytes: int = 256 << 20
    answer_bytes: int = 32 << 20


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What the client asks of a server.

    `answers` names the table of verbs ("package.module:NAME"); `warm_up` the function ("…:name")
    called before the server counts as ready, or "" for none.  `warm_verbs` would do that work
    themselves in a process forked before: they wait for a ready one.  `aside` is called once the
    server is ready, in a background process of its own, for what it leaves on disk.
    """

    answers: str
    warm_up: str = ""
    aside: str = ""
    warm_verbs: tuple[str, ...] = ()
    limits: Limits = Limits()


def apply(limits: Limits, parent: int, *, background: bool) -> None:
    """Bind this freshly forked process: its own group, dead with `parent`, limited, killed first.

    With `background` it also yields to all others.

    RLIMIT_DATA counts private writable memory, so TVM's own libraries are not in it, and an
    allocation beyond it fails as MemoryError or std::bad_alloc instead of ending the process.  Its
    hard limit stays: what opens a CUDA context lifts it in a process of its own (see `race_line`).
    """
    if background:
        _yield()
    else:
        os.setpgid(0, 0)
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        os._exit(1)
    _lower(resource.RLIMIT_DATA, data_bytes(os.getpid()) + limits.memory_bytes, for_good=False)
    _lower(resource.RLIMIT_FSIZE, limits.file_bytes)
    _lower(resource.RLIMIT_CORE, 0)
    _write("/proc/self/oom_score_adj", "1000")


def _yield() -> None:
    """Be nice to other sessions too: where Linux groups by session, `nice` counts in one's own."""
    os.setsid()
    os.nice(BACKGROUND_NICE)
    _write("/proc/self/autogroup", str(BACKGROUND_NICE))


def _lower(which: int, value: int, *, for_good: bool = True) -> None:
    _, hard = resource.getrlimit(which)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, value if for_good else hard))


def data_bytes(pid: int) -> int:
    """Private writable memory of a process, which RLIMIT_DATA bounds; 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[5]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
    except OSError:  # some containers forbid it; it only decides who dies or waits first
        pass
