"""Every failure a user can meet: what happened, why, what to do, and where.

Three kinds exist.  A *refusal* is a value (`Refusal`), shown at the control it belongs to.  A *user
error* (`UserError` and its subclasses) is repairable and is always shown as one sentence with a
remedy.  Everything else is a bug and keeps its traceback.
"""

from __future__ import annotations

import msgspec


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why something does not apply here, in one sentence, as a value.

    `details` is TVM's own text, shown folded away.
    """

    what: str
    why: str
    do: str = ""
    details: str = ""

    def sentence(self) -> str:
        """The refusal as one line: what, why and what to do."""
        return " ".join(part for part in (self.what, self.why, self.do) if part)


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """A user error as plain data, as it crosses the process boundary and reaches `--json`."""

    kind: str
    what: str
    why: str = ""
    do: str = ""
    line: int | None = None
    details: str = ""


class UserError(Exception):
    """A failure the user can repair; carries the `Problem` that is shown."""

    def __init__(
        self, what: str, why: str = "", do: str = "", *, line: int | None = None, details: str = ""
    ) -> None:
        self.problem = Problem(
            kind=type(self).__name__, what=what, why=why, do=do, line=line, details=details
        )
        super().__init__(" ".join(part for part in (what, why, do) if part))

    @staticmethod
    def of(problem: Problem) -> UserError:
        """Rebuild the error of the class named by `problem.kind` on this side of the boundary."""
        for cls in _subclasses(UserError):
            if cls.__name__ == problem.kind:
                break
        else:
            cls = UserError
        return cls(
            problem.what, problem.why, problem.do, line=problem.line, details=problem.details
        )


class LoadError(UserError):
    """The text is not a module that can be loaded; `line` says where (1-based)."""


class ForbiddenText(LoadError):
    """The text holds Python that is not TVMScript; it was not executed."""


class ScheduleTextError(UserError):
    """A schedule file holds something that is not a schedule construct."""


class StepRefused(UserError):
    """A schedule step does not apply; nothing was changed."""


class BuildError(UserError):
    """A function did not become a kernel: lowering, code generation or NVRTC refused it."""


class TargetError(UserError):
    """The target is unknown or lacks a limit that is needed."""


class SizeError(UserError):
    """A symbolic size is missing or out of range."""


class ExperimentError(UserError):
    """An experiment file can't be opened."""


class WorkerDied(UserError):
    """The worker process ended (crash, time or memory limit); the experiment is untouched."""


class ToolMissing(UserError):
    """A tool that this action needs is not on the machine (compiler, NVRTC)."""


def _subclasses(cls: type[UserError]) -> list[type[UserError]]:
    found = [cls]
    for sub in cls.__subclasses__():
        found += _subclasses(sub)
    return found
