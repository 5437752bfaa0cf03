"""What loading a text gave: the modules in it, what was rewritten, and what was left alone."""

from __future__ import annotations

import msgspec

from explorer.model.nest import Nest


class Source(msgspec.Struct, frozen=True):
    """A text as the user gave it, and which module in it is meant ("" for the only or first)."""

    text: str
    module: str = ""


class Migration(msgspec.Struct, frozen=True, kw_only=True):
    """One rewrite of old or half-migrated text: the rule's name, the line (1-based), both texts."""

    rule: str
    line: int
    before: str
    after: str
    why: str = ""


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """Something the user should know about the text: ignored code, an assumption, a warning.

    `routine` notes (imports left out) are listed with the source, but never announced.
    """

    line: int | None
    message: str
    routine: bool = False


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """A module ready to be scheduled.

    `text` is the module alone in today's dialect, constants filled in: what TVM parsed, and what
    the user can take away.  `schedule` is schedule code found behind the module ("" if none).
    `modules` names every module of the text; `module` is the one loaded.
    """

    module: str
    modules: tuple[str, ...]
    text: str
    original: str
    migrations: tuple[Migration, ...]
    notes: tuple[Note, ...]
    constants: tuple[tuple[str, str], ...]
    schedule: str
    nest: Nest
    symbols: tuple[str, ...]
    """Symbolic sizes of all functions, which the user may be asked for."""
