"""Run a script as if it were alone: `python -m explorer.engine.run_alone SCRIPT [arguments]`.

Only one thing differs from `python SCRIPT`: the import of TVM's intrinsics does not search all
loaded modules for frames that have none, which takes 15 s (see `explorer.engine.warm`).
"""

from __future__ import annotations

import runpy
import sys

from explorer.engine.warm import quick_inspect

if __name__ == "__main__":
    del sys.argv[0]
    with quick_inspect():
        runpy.run_path(sys.argv[0], run_name="__main__")
