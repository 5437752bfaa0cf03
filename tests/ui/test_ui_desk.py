"""Every move gives a new desk; the original never changes and nothing gets lost."""

from __future__ import annotations

import pytest

from explorer.errors import UserError
from explorer.experiment import Experiment, Variant, dump, parse
from explorer.model.refs import BlockRef, LoopRef
from explorer.model.result import RuleOutcome
from explorer.primitives import STEPS
from explorer.ui import desk as desks
from tests.ui.nests import SOURCE, loaded

LOOP = LoopRef(BlockRef("C"), 0, "i")
SPLIT = STEPS["split"](LOOP, (None, 32))
BIND = STEPS["bind"](LOOP, "blockIdx.x")


@pytest.fixture
def desk() -> desks.Desk:
    return desks.start(loaded(), SOURCE, title="Sample", target="nvidia/geforce-rtx-4090")


def test_a_step_on_the_original_opens_a_variant(desk) -> None:
    after = desks.add_steps(desk, SPLIT)
    assert desks.names(after) == ["Original", "My schedule"]
    assert after.variant == "My schedule"
    assert after.current.steps == (SPLIT,)
    assert after.experiment.variant("Original") == Variant("Original")
    assert desks.names(desk) == ["Original"]


def test_a_second_variant_gets_a_free_name(desk) -> None:
    after = desks.add_steps(desks.show(desks.add_steps(desk, SPLIT), "Original"), BIND)
    assert desks.names(after) == ["Original", "My schedule", "My schedule 2"]


def test_undo_redo_jump_remove(desk) -> None:
    two = desks.add_steps(desks.add_steps(desk, SPLIT), BIND)
    assert desks.undo(two).current == Variant("My schedule", (SPLIT,), (BIND,))
    assert desks.redo(desks.undo(two)) == two
    assert desks.jump(two, 0).current.undone == (SPLIT, BIND)
    assert desks.remove(two, 0).current.steps == (BIND,)
    assert desks.remove(two, 7) == two
    assert desks.undo(desk) == desk


def test_a_new_step_after_undo_forgets_redo(desk) -> None:
    undone = desks.undo(desks.add_steps(desk, SPLIT))
    assert desks.add_steps(undone, BIND).current == Variant("My schedule", (BIND,))


def test_rename_moves_what_the_rules_said(desk) -> None:
    told = (RuleOutcome(rule="GEMV", function="main", status="applied"),)
    after = desks.rename(desks.new_variant(desk, "dlight", (BIND,), told), "  fast   one ")
    assert after.variant == "fast one"
    assert after.outcomes == {"fast one": told}


@pytest.mark.parametrize("name", ["", "   ", "Original"])
def test_rename_refuses_bad_names(desk, name) -> None:
    with pytest.raises(UserError):
        desks.rename(desks.add_steps(desk, SPLIT), name)


def test_the_original_keeps_name_and_place(desk) -> None:
    with pytest.raises(UserError, match="keeps its name"):
        desks.rename(desk, "other")
    with pytest.raises(UserError, match="can't be deleted"):
        desks.delete(desk)


def test_duplicate_and_delete(desk) -> None:
    twin = desks.duplicate(desks.add_steps(desk, SPLIT))
    assert twin.variant == "My schedule copy"
    assert twin.current.steps == (SPLIT,)
    assert desks.delete(twin).variant == "My schedule"
    assert desks.duplicate(desk).variant == "My schedule"


def test_selection_closes_the_form_of_another_node(desk) -> None:
    opened = desks.open_form(desk, "main/0", "split", "Split…")
    assert desks.select(opened, "main/0").form is not None
    assert desks.select(opened, "main/0/0").form is None
    assert desks.add_steps(opened, SPLIT).form is None


def test_selected_node_is_found_in_its_function(desk) -> None:
    found = desks.selected_node(desks.select(desk, "main/0/0"), desk.loaded.nest)
    assert found is not None
    assert found[1].name == "k"
    for gone in ("main/9", "other/0", "main#A", None):
        assert desks.selected_node(desks.select(desk, gone), desk.loaded.nest) is None


def test_reopened_experiment_shows_its_last_variant() -> None:
    saved = Experiment(source=SOURCE, variants=(Variant("Original"), Variant("a", (SPLIT,))))
    back = desks.reopen(loaded(), parse(dump(saved)))
    assert back.experiment == saved
    assert back.variant == "a"


def test_an_experiment_of_the_command_line_gains_an_original() -> None:
    saved = Experiment(source=SOURCE, variants=(Variant("Original", (SPLIT,)), Variant("b")))
    back = desks.reopen(loaded(), saved)
    assert desks.names(back) == ["Original", "Original 2", "b"]
    assert back.experiment.variant("Original 2") == Variant("Original 2", (SPLIT,))
