"""What is installed on this machine, as `doctor` reports it."""

from __future__ import annotations

import msgspec

CPP = "C++ compiler"
"""The tool without which no kernel is checked."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """One program or package: what it is for, and how to get it where it is missing.

    `required` tools are needed to work at all; the others add something.
    """

    name: str
    found: bool
    version: str = ""
    purpose: str = ""
    repair: str = ""
    required: bool = False
