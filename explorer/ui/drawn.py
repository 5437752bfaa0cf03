"""What the regions of a page were drawn for: a click draws those that show something else."""

from __future__ import annotations

from typing import Any, Literal

from explorer.errors import Problem
from explorer.ui.desk import Desk

Region = Literal["graph", "inspector", "code", "link", "verdicts", "below", "header", "clock"]
REGIONS: tuple[Region, ...] = (
    "graph", "inspector", "link", "code", "verdicts", "below", "header", "clock",
)  # fmt: skip
"""In the order they are drawn in: what a click is about comes first."""


class Drawn:
    """A browser tab's regions: what each shows, which are still to come, which wait for answers."""

    def __init__(self) -> None:
        self._shown: dict[Region, Any] = {}
        self._coming: set[Region] = set()
        self._unsettled: set[Region] = set()
        """Drawn in a run that has not come to its end yet: the clock, which is drawn last."""
        self._waiting: dict[Region, int] = {}
        self._ticking = False
        self._begun = False
        self.whole = False
        """Whether there is more than the graph on the page."""
        self.controls: dict[str, Any] = {}
        """The values of the controls that a region was drawn with last."""
        self.turn = 0
        """Grows with every region that is drawn."""

    def owed(self, desk: Desk, notice: Problem | None) -> list[Region]:
        """The regions that show another desk or notice."""
        return [r for r in REGIONS if self._shown.get(r) != content(r, desk, notice)]

    def page(self) -> list[Region]:
        """What is drawn with the page: in a new tab the graph, which then has the rest asked for.

        A browser that gets all at once shows nothing until it has rendered all.
        """
        self.whole, self._begun = self._begun, True
        if self.whole:
            return self.plan(list(REGIONS))
        self._coming = {"graph"}
        return ["graph"]

    def plan(self, regions: list[Region]) -> list[Region]:
        """The order in which these and those that were promised before will be drawn.

        So will those of a run that was broken off: the browser still shows what they replaced.
        """
        self._coming |= {*regions, *self._unsettled, "clock"}
        return [region for region in REGIONS if region in self._coming]

    def begin(self, region: Region, desk: Desk, notice: Problem | None) -> None:
        """A region is drawn for this desk and notice."""
        self.turn += 1
        if region in self._coming:
            self._coming.discard(region)
            self._unsettled.add(region)
        if region == "clock":
            self._unsettled.clear()
        self._shown[region] = content(region, desk, notice)
        if region == "clock":
            self._ticking = bool(self._waiting)

    def waits(self, region: Region, asked: int | None) -> None:
        """A region waits for more answers than the `asked` there were, or with None for nothing."""
        if asked is None:
            self._waiting.pop(region, None)
        else:
            self._waiting[region] = asked

    @property
    def ticking(self) -> bool:
        """Whether the clock runs."""
        return self._ticking

    @property
    def unheard(self) -> bool:
        """Whether a region waits and no clock runs for it."""
        return bool(self._waiting) and not self._ticking and "clock" not in self._coming

    def behind(self, answered: int) -> list[Region]:
        """The regions that wait and were drawn before the last of these answers."""
        return [region for region, asked in self._waiting.items() if asked != answered]

    def touched(self, controls: dict[str, Any]) -> bool:
        """Whether a control that was drawn has another value by now."""
        return any(self.controls.get(key, value) != value for key, value in controls.items())

    def missed(self, desk: Desk, notice: Problem | None) -> bool:
        """Whether a region shows something old, or waits, and nothing will draw it in this run."""
        return self.unheard or bool(set(self.owed(desk, notice)) - self._coming)


def content(region: Region, desk: Desk, notice: Problem | None) -> Any:
    """What a region shows: equal contents need no drawing."""
    experiment = desk.experiment
    module = (desk.source, desk.current.steps)
    built = (*module, experiment.target, experiment.sizes)
    whole = (experiment, desk.loaded, desk.variant, desk.outcomes)
    shows: dict[Region, Any] = {
        "graph": (*module, desk.only), "inspector": (*module, desk.current, desk.selected,
        desk.form, notice), "code": (*built, desk.variant), "link": (*built, desk.selected),
        "verdicts": (*whole, notice), "below": whole, "header": whole, "clock": None,
    }  # fmt: skip
    return shows[region]
