"""The page with real workers and without a browser: what components fire is fired by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explorer.experiment import Experiment, dump
from explorer.model.loaded import Source
from explorer.ui import desk as desks
from explorer.ui import say, state
from explorer.ui.drawn import REGIONS, Drawn
from tests.ui.fire import data, fire, settled, shown

UNBOUND = """\
@T.prim_func(s_tir=True)
def twice(A: T.Buffer((90,), "float32"), B: T.Buffer((90,), "float32")):
    for n in range(90):
        with T.sblock("B"):
            vn = T.axis.spatial(90, n)
            B[vn] = A[vn] * T.float32(2)
"""
APP = Path(__file__).parents[2] / "app.py"


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["app.py"])
    at = AppTest.from_file(str(APP), default_timeout=120).run()
    assert not at.exception
    assert shown(at) == {"graph", "rest_graph"}
    fire(at, "rest_graph", "tick", True)
    assert not at.exception
    return at


def select(at: AppTest, node: str) -> None:
    at.session_state["desk"] = desks.select(at.session_state["desk"], node)
    at.run()
    assert not at.exception


def html(at: AppTest) -> str:
    return " ".join(str(element.proto.body) for element in at.get("html"))


def test_the_first_page_says_what_is_wrong_and_offers_three_cures(page: AppTest) -> None:
    settled(page)
    assert "Matrix multiply" in html(page)
    assert "No kernel" in html(page)
    cures = [b.label for b in page.button if b.key and b.key.startswith("cure_")]
    assert cures[:3] == ["Bind for me", "Use DefaultGPUSchedule", "Use dlight"]


def test_a_cure_shows_what_became_of_it_and_gives_just_that(page: AppTest) -> None:
    shown = html(settled(page))
    assert "blocks of 8×16×1 threads" in shown
    page.button(key="cure_strategy:dlight").click().run()
    assert page.session_state["desk"].variant == "dlight"
    assert page.session_state["desk"].current.steps


def test_an_error_text_is_explained_with_and_without_its_module(page: AppTest) -> None:
    log = "RuntimeError: Memory verification failed\n  Did you forget to bind?\n"
    page.button(key="open").click().run()
    page.text_area(key="pasted").set_value(log)
    page.button(key="open_pasted").click().run()
    assert "Nothing is bound to the GPU" in html(page)
    page.text_area(key="pasted").set_value(log + UNBOUND)
    page.button(key="open_pasted").click().run()
    assert not settled(page).exception
    assert "Line 1 of the text is an error message" in html(page)
    assert any(button.key == "cure_bind:" for button in page.button)


def offers(at: AppTest) -> dict[str, dict[str, str]]:
    """The buttons of the selected node by their label."""
    return {offer["label"]: offer for g in data(at, "offers")["groups"] for offer in g["offers"]}


def test_a_loop_is_bound_with_a_button_and_the_step_taken_back(page: AppTest) -> None:
    select(page, "main/0")
    offer = offers(page)["Bind to blockIdx.x"]
    assert (offer["name"], offer["key"], offer["refusal"]) == ("blockIdx.x", "b", "")
    fire(page, "offers", "take", {"op": offer["op"], "label": offer["label"]})
    desk = page.session_state["desk"]
    assert desk.variant == "My schedule"
    assert [type(step).op() for step in desk.current.steps] == ["bind"]
    fire(page, "steplist", "action", {"do": "undo"})
    assert page.session_state["desk"].current.steps == ()
    assert [row["state"] for row in data(page, "steplist")["rows"]] == ["undone"]
    fire(page, "steplist", "action", {"do": "redo"})
    assert len(page.session_state["desk"].current.steps) == 1
    fire(page, "steplist", "action", {"do": "remove", "at": 0})
    assert page.session_state["desk"].current.steps == ()


def test_what_is_not_possible_is_disabled_with_its_reason(page: AppTest) -> None:
    select(page, "main/0/0/0")
    first = data(page, "offers")["groups"][0]
    assert first["title"] == "Bind to the GPU"
    assert any("reduction" in reason for reason in first["reasons"])
    refusal = offers(page)["Bind to blockIdx.x"]["refusal"]
    assert "reduction" in refusal
    fire(page, "offers", "take", {"op": "bind", "label": "Bind to blockIdx.x"})
    assert say.inline(refusal) in html(page)
    assert page.session_state["desk"].variant == desks.ORIGINAL


def test_a_form_splits_and_a_bad_value_is_explained(page: AppTest) -> None:
    select(page, "main/0")
    fire(page, "offers", "take", {"op": "split", "label": "Split…"})
    page.text_input(key="form_main/0_split_factors").set_value("zero, 4")
    page.button(key="FormSubmitter:form_main/0_split-Apply").click().run()
    assert "zero" in html(page)
    page.text_input(key="form_main/0_split_factors").set_value("None, 4")
    page.button(key="FormSubmitter:form_main/0_split-Apply").click().run()
    step = page.session_state["desk"].current.steps[0]
    assert step.factors == (None, 4)


def test_a_click_draws_what_it_changes_and_nothing_else(page: AppTest) -> None:
    assert {"graph", "steplist", "script", "linked", "variants"} <= shown(page)
    fire(page, "graph", "pick", {"node": "main/0"})
    assert page.session_state["desk"].selected == "main/0"
    assert shown(page) - {"pulse"} == {"offers", "steplist", "linked"}
    assert data(page, "linked")["selected"] == "main/0"
    page.run()
    fire(page, "variants", "show", desks.ORIGINAL)
    assert {"graph", "steplist", "script", "linked", "variants"} <= shown(page)


def test_a_choice_that_comes_with_a_tick_of_the_clock_is_drawn(
    page: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whether something still waits by now, and so whether the clock is there, is up to the machine.
    monkeypatch.setattr(Drawn, "ticking", property(lambda _: True))
    page.session_state["below"] = "Timing"
    page.run()
    asked: list[list[str]] = []
    monkeypatch.setattr(state, "draw", lambda regions: asked.append(list(regions)))
    fire(page, "pulse", "tick", True)
    assert list(REGIONS) not in asked
    page.selectbox(key="time_budget").set_value(60)
    fire(page, "pulse", "tick", True)
    assert list(REGIONS) in asked


def test_a_click_on_a_control_that_has_just_appeared_comes_with_a_tick_and_is_drawn(
    page: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Drawn, "ticking", property(lambda _: True))
    page.session_state["below"] = "Timing"
    page.run()
    assert page.session_state["drawn"].controls.keys() >= {"time_budget", "time_llvm"}
    asked: list[list[str]] = []
    monkeypatch.setattr(state, "draw", lambda regions: asked.append(list(regions)))
    page.checkbox(key="time_baselines").check()
    fire(page, "pulse", "tick", True)
    assert list(REGIONS) in asked


def test_buffers_are_drawn_when_asked_for(page: AppTest) -> None:
    assert "main#C" not in data(page, "graph")["svg"]
    fire(page, "graph", "buffers", {"shown": True})
    assert "main#C" in data(page, "graph")["svg"]
    assert data(page, "graph")["buffers"] is True


def test_broken_text_stays_on_the_open_screen_with_its_line(page: AppTest) -> None:
    before = page.session_state["desk"]
    page.button(key="open").click().run()
    page.text_area(key="pasted").set_value("@T.prim_func\ndef f(:\n    pass\n")
    page.button(key="open_pasted").click().run()
    assert not page.exception
    assert 'role="alert">Line 2' in html(page)
    assert page.session_state["desk"] == before
    page.button(key="back").click().run()
    assert "Matrix multiply" in html(page)


def test_every_lower_tab_draws(page: AppTest) -> None:
    settled(page).button(key="cure_strategy:default_gpu").click().run()
    for tab in ("Findings", "Compare", "Automatic", "Compiler", "Export", "Source"):
        page.session_state["below"] = tab
        page.run()
        assert not page.exception, tab
    for tab in ("TVMScript", "CUDA", "Host", "Changes"):
        page.session_state["code"] = tab
        page.run()
        assert not page.exception, tab


def test_a_second_click_on_delete_deletes_no_other_variant(page: AppTest) -> None:
    for _ in range(2):
        page.session_state["desk"] = desks.new_variant(page.session_state["desk"], desks.MANUAL)
    page.run()
    delete = page.button(key=f"delete_{desks.MANUAL} 2")
    delete.click().run()
    assert desks.names(page.session_state["desk"]) == [desks.ORIGINAL, desks.MANUAL]
    assert f"delete_{desks.MANUAL} 2" not in [button.key for button in page.button]


def test_a_file_that_does_not_load_is_shown_with_its_own_line(
    page: AppTest, tmp_path: Path
) -> None:
    page.button(key="open").click().run()
    page.text_area(key="pasted").set_value("@T.prim_func\ndef old(:\n").run()
    page.button(key="open_pasted").click().run()
    assert page.session_state["failed_text"].startswith("@T.prim_func\ndef old")
    file = tmp_path / "broken.py"
    file.write_text(UNBOUND.replace("range(90):", "range(90:"))
    page.text_input(key="path").set_value(str(file)).run()
    page.button(key="open_path").click().run()
    assert not page.exception
    assert "Line 3" in html(page)
    assert page.session_state["failed_text"] == file.read_text()


def test_an_experiment_for_an_unknown_target_says_so(page: AppTest, tmp_path: Path) -> None:
    experiment = Experiment(source=Source(UNBOUND), target="foo/bar")
    file = tmp_path / "one.experiment.json"
    file.write_bytes(dump(experiment))
    page.button(key="open").click().run()
    page.text_input(key="path").set_value(str(file)).run()
    page.button(key="open_path").click().run()
    assert not page.exception
    assert "foo/bar&quot; is not a target that is known here" in html(page)
    assert "come with the build" not in html(page)
