"""The experiment: source, target, sizes and variants.  Everything else is derived from it.

Undo is a shorter tuple, a branch another variant, sharing this value as JSON.
"""

from __future__ import annotations

import msgspec

from explorer.errors import ExperimentError
from explorer.model.loaded import Source
from explorer.primitives import AnyStep

VERSION = 1


class Variant(msgspec.Struct, frozen=True):
    """A named list of steps.  `undone` keeps what redo brings back, nearest first."""

    name: str
    steps: tuple[AnyStep, ...] = ()
    undone: tuple[AnyStep, ...] = ()

    def add(self, *steps: AnyStep) -> Variant:
        """The variant with steps behind its own; redo is forgotten."""
        return Variant(self.name, self.steps + steps)

    def undo(self) -> Variant:
        """Without the last step; unchanged when there is none."""
        return self.jump(max(len(self.steps) - 1, 0))

    def redo(self) -> Variant:
        """With the step undone last; unchanged when there is none."""
        return self.jump(len(self.steps) + 1)

    def jump(self, count: int) -> Variant:
        """The first `count` of all steps, done and undone; clamped to what there is."""
        all_steps = self.steps + self.undone
        return Variant(self.name, all_steps[:count], all_steps[count:])

    def remove(self, at: int) -> Variant:
        """Without the step at position `at` (0-based).  Raises IndexError outside the steps."""
        if not 0 <= at < len(self.steps):
            raise IndexError(at)
        return Variant(self.name, self.steps[:at] + self.steps[at + 1 :], self.undone)

    def rename(self, name: str) -> Variant:
        """The same steps under another name."""
        return Variant(name, self.steps, self.undone)


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """What a user works on.  `sizes` gives values to symbolic sizes; `target` is a tag's text."""

    version: int = VERSION
    title: str = ""
    source: Source
    target: str = "nvidia/geforce-rtx-4090"
    sizes: dict[str, int] = {}
    variants: tuple[Variant, ...] = ()

    def variant(self, name: str) -> Variant | None:
        """The variant of that name, or None."""
        return next((variant for variant in self.variants if variant.name == name), None)

    def put(self, variant: Variant, at: str | None = None) -> Experiment:
        """With `variant` in place of the one called `at` (its own name when None), or appended."""
        name = variant.name if at is None else at
        if self.variant(name) is None:
            return msgspec.structs.replace(self, variants=(*self.variants, variant))
        return msgspec.structs.replace(
            self, variants=tuple(variant if v.name == name else v for v in self.variants)
        )

    def drop(self, name: str) -> Experiment:
        """Without the variant of that name."""
        return msgspec.structs.replace(
            self, variants=tuple(v for v in self.variants if v.name != name)
        )


def dump(experiment: Experiment) -> bytes:
    """The experiment as indented JSON, to download or share."""
    return msgspec.json.format(msgspec.json.encode(experiment), indent=2)


def parse(data: bytes) -> Experiment:
    """An experiment back from JSON.  Raises ExperimentError with what is wrong and where."""
    try:
        head = msgspec.json.decode(data, type=dict)
        version = head.get("version")
        if version != VERSION:
            raise ExperimentError(
                f"The file says version {version!r}; this program reads version {VERSION}.",
                do="Open it with the program that wrote it.",
            )
        return msgspec.json.decode(data, type=Experiment)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ExperimentError(
            "This is not an experiment file.", str(error), "Pick a file saved by this program."
        ) from error
