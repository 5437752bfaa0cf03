"""What variants left in their outputs, compared as little as needed and as often as possible."""

from __future__ import annotations

import numpy as np

from explorer.engine.race_material import Material

Contents = list[np.ndarray | None]
"""One array for each parameter, None where it is an input."""


class Outputs:
    """Outputs seen last in one process, by variant and inputs."""

    def __init__(self, material: Material) -> None:
        self._material = material
        self._kept: dict[tuple[int, int], Contents] = {}
        self._proved: set[tuple[int, int]] = set()
        """Kept ones that agree with the reference."""

    def wrong(self, variant: int, plan: int, outputs: Contents) -> str:
        """How they differ from the reference, or from an earlier run while there is none."""
        material, key = self._material, (variant, plan)
        kept = self._kept.get(key)
        same = kept is not None and all(
            a is None or (b is not None and a.tobytes() == b.tobytes())
            for a, b in zip(outputs, kept, strict=True)
        )
        if same and (key in self._proved or not material.has_reference):
            return ""
        wrong = ""
        if material.has_reference:
            wrong = material.wrong(plan, outputs)
            if not wrong and kept is not None and key not in self._proved and not same:
                wrong = material.wrong(plan, kept)  # what it left before there was one
            if not wrong:
                self._proved.add(key)
        elif kept is not None:
            wrong = self._unsteady(outputs, kept)
        self._kept[key] = outputs
        return wrong

    def wrong_by_now(self, variant: int) -> str:
        """How the outputs kept of a variant differ from the reference, made since or not yet."""
        if not self._material.has_reference:
            return ""
        for key, outputs in self._kept.items():
            if key[0] == variant and key not in self._proved:
                if wrong := self._material.wrong(key[1], outputs):
                    return wrong
                self._proved.add(key)
        return ""

    def forget(self, variant: int) -> None:
        """Let go of what a variant left."""
        for key in [key for key in self._kept if key[0] == variant]:
            del self._kept[key]
            self._proved.discard(key)

    def proved(self, variant: int) -> bool:
        """All that is kept of a variant agrees with the reference."""
        return all(key in self._proved for key in self._kept if key[0] == variant)

    def _unsteady(self, outputs: Contents, kept: Contents) -> str:
        for at, (now, before) in enumerate(zip(outputs, kept, strict=True)):
            if now is not None and before is not None:
                if self._material.compare(at, now, before).count:
                    name = self._material.subject.params[at].name
                    return f"{name} differs from run to run on the same inputs."
        return ""
