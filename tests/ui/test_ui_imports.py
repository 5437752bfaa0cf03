"""The page's process never loads TVM."""

from __future__ import annotations

import subprocess
import sys


def test_importing_the_page_does_not_load_tvm() -> None:
    code = (
        "import sys, explorer.ui.page; "
        "print([m for m in sys.modules if m.split('.')[0] in ('tvm', 'tvm_ffi')"
        " or m.startswith('explorer.engine')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr
