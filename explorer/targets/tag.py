"""TVM's own names of NVIDIA devices, e.g. `nvidia/geforce-rtx-4090`, whole or the last part."""

from __future__ import annotations

import re

from explorer.model.target import Target


def plain(name: str) -> str:
    """A device's name without maker, case and punctuation: "rtx4090" of "GeForce RTX 4090"."""
    words = re.split(r"[\s/_\-()]+", name.lower())
    return "".join(word for word in words if word not in ("nvidia", "geforce", "gpu", "tesla"))


def read(text: str, tags: tuple[Target, ...]) -> Target | None:
    """The tag of that name; a short name counts when exactly one tag has it."""
    for target in tags:
        if target.tag == text.lower():
            return target
    same = [target for target in tags if plain(target.tag) == plain(text)] if plain(text) else []
    return same[0] if len(same) == 1 else None


def search(text: str, tags: tuple[Target, ...]) -> list[Target]:
    """The tags that hold every word of `text`, newest architecture first; all for an empty text."""
    words = re.split(r"[\s/_\-]+", text.lower().strip())
    hits = [target for target in tags if all(word in _words(target) for word in words)]
    return sorted(hits, key=lambda target: (-_number(target.arch), target.tag))


def _words(target: Target) -> str:
    return f"{target.tag} {target.arch}"


def _number(arch: str) -> int:
    return int(re.sub(r"\D", "", arch) or 0)
