"""What a variant can be saved as: one file per format, found by folder; nothing else lists them."""

from __future__ import annotations

import importlib
import pkgutil
from typing import cast

from explorer.exporters.base import Format, Material

FORMATS: dict[str, Format] = {
    module.NAME: cast(Format, module)
    for info in pkgutil.iter_modules(__path__)
    if hasattr(module := importlib.import_module(f"{__name__}.{info.name}"), "NAME")
}
"""Every format by its name."""

__all__ = ["FORMATS", "Format", "Material"]
