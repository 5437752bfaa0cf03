"""Experiments survive on the shelf; ids are unguessable and never paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.experiment import Experiment, Variant
from explorer.ui import keep
from tests.ui.nests import SOURCE

EXPERIMENT = Experiment(source=SOURCE, variants=(Variant("Original"),))


def test_an_experiment_survives_the_server(tmp_path: Path) -> None:
    key = keep.new_id()
    keep.Shelf(tmp_path).put(key, EXPERIMENT)
    assert keep.Shelf(tmp_path).get(key) == EXPERIMENT
    assert [path.name for path in tmp_path.iterdir()] == [f"{key}.json"]


@pytest.mark.parametrize("key", ["", "short", "../../../../etc/passwd", "a" * 41, "x/" * 10])
def test_odd_ids_reach_no_file(tmp_path: Path, key: str) -> None:
    shelf = keep.Shelf(tmp_path / "in")
    shelf.put(key, EXPERIMENT)
    assert shelf.get(key) is None
    assert not (tmp_path / "in").exists()


def test_a_broken_file_is_no_experiment(tmp_path: Path) -> None:
    key = keep.new_id()
    (tmp_path / f"{key}.json").write_text("{")
    assert keep.Shelf(tmp_path).get(key) is None


def test_a_disk_that_is_full_costs_only_the_restart(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    shelf = keep.Shelf(file)
    key = keep.new_id()
    shelf.put(key, EXPERIMENT)
    assert shelf.get(key) == EXPERIMENT


def test_the_oldest_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keep, "KEPT_ON_DISK", 3)
    monkeypatch.setattr(keep, "KEPT_IN_MEMORY", 2)
    shelf = keep.Shelf(tmp_path)
    for _ in range(5):
        shelf.put(keep.new_id(), EXPERIMENT)
    assert len(list(tmp_path.iterdir())) == 3
