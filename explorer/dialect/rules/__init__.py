"""Migration rules: one small function per rewrite, in the order in which they are applied.

Importing this package registers them all; `RULES` is the list, `migrate` applies it.
"""

# The order of these imports is the order of the rules: names first, so that later rules see `T.…`.
from explorer.dialect.rules import names  # isort: skip
from explorer.dialect.rules import blocks  # isort: skip
from explorer.dialect.rules import buffers  # isort: skip
from explorer.dialect.rules import values  # isort: skip
from explorer.dialect.rules import attributes  # isort: skip
from explorer.dialect.rules import indices  # isort: skip
from explorer.dialect.rules import relax_rules  # isort: skip
from explorer.dialect.rules.base import RULES, Context, migrate

__all__ = [
    "RULES",
    "Context",
    "attributes",
    "blocks",
    "buffers",
    "indices",
    "migrate",
    "names",
    "relax_rules",
    "values",
]
