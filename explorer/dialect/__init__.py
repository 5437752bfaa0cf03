"""From any text to one module in today's dialect.  Pure Python; nothing of the text is executed.

`prepare` cleans the text, finds its modules, fills in constants, migrates old dialects and checks
the result against the allow-list.  TVM sees only what it returns.
"""

from explorer.dialect.prepare import Prepared, prepare, relax_note, without_relax

__all__ = ["Prepared", "prepare", "relax_note", "without_relax"]
