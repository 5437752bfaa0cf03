"""What a region was drawn for, which regions a move leaves behind, and who waits."""

from __future__ import annotations

import msgspec

from explorer.errors import Problem
from explorer.model.loaded import Source
from explorer.ui import desk as desks
from explorer.ui.drawn import REGIONS, Drawn
from tests.ui.nests import SOURCE, loaded

NOTICE = Problem(kind="StepRefused", what="No.")
DESK = desks.start(loaded(), SOURCE, title="", target="nvidia/geforce-rtx-4090")


def page() -> Drawn:
    """All regions drawn for `DESK`."""
    drawn = Drawn()
    for region in [*drawn.page(), *drawn.page()]:
        drawn.begin(region, DESK, None)
    return drawn


def test_a_new_page_shows_the_graph_and_asks_for_the_rest() -> None:
    drawn = Drawn()
    assert drawn.page() == ["graph"]
    drawn.begin("graph", DESK, None)
    assert not drawn.whole
    assert drawn.missed(DESK, None)
    assert drawn.page() == list(REGIONS)
    assert drawn.whole
    assert not drawn.missed(DESK, None)


def test_a_page_that_was_drawn_owes_nothing() -> None:
    assert Drawn().owed(DESK, None) == list(REGIONS[:-1])
    assert page().owed(DESK, None) == []
    assert not page().missed(DESK, None)


def test_each_move_owes_the_regions_that_show_it() -> None:
    drawn = page()
    assert drawn.owed(desks.select(DESK, "main/0"), None) == ["inspector", "link"]
    assert drawn.owed(desks.open_form(DESK, "main/0", "split", "Split…"), None)[0] == "inspector"
    assert drawn.owed(desks.narrow(DESK, "main"), None) == ["graph"]
    assert drawn.owed(DESK, NOTICE) == ["inspector", "verdicts"]
    for wider in (desks.set_target(DESK, "nvidia/nvidia-a100"), desks.set_sizes(DESK, {"n": 3})):
        assert drawn.owed(wider, None) == ["link", "code", "verdicts", "below", "header"]
    more = desks.new_variant(DESK, "Mine")
    assert drawn.owed(more, None) == ["inspector", "code", "verdicts", "below", "header"]
    other = msgspec.structs.replace(
        DESK, experiment=msgspec.structs.replace(DESK.experiment, source=Source("other"))
    )
    assert drawn.owed(other, None) == list(REGIONS[:-1])


def test_what_a_run_will_still_draw_is_not_missed() -> None:
    drawn, now = page(), desks.select(DESK, "main/0")
    assert drawn.missed(now, None)
    assert drawn.plan(["inspector", "link"]) == ["inspector", "link", "clock"]
    assert not drawn.missed(now, None)
    drawn.begin("inspector", now, None)
    drawn.begin("link", now, None)
    assert drawn.owed(now, None) == []
    drawn.begin("clock", now, None)
    assert drawn.plan(["below"]) == ["below", "clock"]


def test_what_a_run_drew_that_was_broken_off_is_drawn_once_more() -> None:
    drawn, now = page(), desks.select(DESK, "main/0")
    drawn.plan(["inspector", "link"])
    drawn.begin("inspector", now, None)
    assert drawn.plan([]) == ["inspector", "link", "clock"]
    for region in drawn.plan([]):
        drawn.begin(region, now, None)
    assert drawn.plan([]) == ["clock"]


def test_a_region_drawn_for_its_own_control_is_not_drawn_again() -> None:
    drawn = page()
    drawn.begin("below", DESK, None)
    assert drawn.plan(["graph"]) == ["graph", "clock"]


def test_the_clock_runs_while_a_region_waits_and_names_those_behind() -> None:
    drawn = page()
    drawn.waits("verdicts", 3)
    assert drawn.unheard
    assert drawn.missed(DESK, None)
    drawn.plan([])
    assert not drawn.unheard
    drawn.begin("clock", DESK, None)
    assert drawn.ticking
    assert drawn.behind(3) == []
    assert drawn.behind(4) == ["verdicts"]
    drawn.waits("verdicts", None)
    drawn.begin("clock", DESK, None)
    assert not drawn.ticking
    assert drawn.behind(5) == []
