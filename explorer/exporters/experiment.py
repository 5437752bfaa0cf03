"""The whole experiment: source, target, sizes and all variants, to be opened here again."""

from __future__ import annotations

from explorer.experiment import dump
from explorer.exporters.base import Material

NAME = "experiment"
LABEL = "Experiment (all variants)"
SUFFIX = ".experiment.json"


def render(material: Material) -> str:
    """The experiment as indented JSON."""
    return dump(material.experiment).decode()
