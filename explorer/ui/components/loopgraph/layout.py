"""DOT in, SVG out: Graphviz runs on the server, `dot` where installed, else graphviz-pure."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from functools import cache, lru_cache
from pathlib import Path

from explorer.errors import ToolMissing

TIMEOUT_S = 20.0


@cache
def renderer() -> str:
    """The layout program's path.  Raises ToolMissing when there is neither."""
    pure = Path(sysconfig.get_path("scripts")) / "graphviz-pure"
    found = shutil.which("dot") or (str(pure) if pure.exists() else shutil.which("graphviz-pure"))
    if found is None:
        raise ToolMissing(
            "The loop nest can't be drawn: no Graphviz is on this machine.",
            do="Install it with: pip install graphviz-pure",
        )
    return found


@lru_cache(maxsize=128)
def render_svg(dot: str) -> str:
    """The `<svg>` element for a DOT text.  Raises ToolMissing when the layout fails."""
    try:
        done = subprocess.run(
            [renderer(), "-Tsvg"], input=dot.encode(), capture_output=True, timeout=TIMEOUT_S
        )
    except subprocess.TimeoutExpired as error:
        raise ToolMissing(
            f"Graphviz needed more than {TIMEOUT_S:.0f} s to draw this nest.",
            do="Pick one function above the graph.",
        ) from error
    if done.returncode:
        details = done.stderr.decode(errors="replace")[:2000]
        raise ToolMissing("Graphviz could not draw this nest.", details=details)
    svg = done.stdout.decode()
    return svg[svg.index("<svg") :]
