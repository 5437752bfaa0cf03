"""The program's own table: every verb that is asked for exists and says what its arguments are."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from explorer import workbench
from explorer.worker.child import ANSWERS


def test_every_verb_of_the_workbench_is_answered():
    tree = ast.parse(Path(workbench.__file__).read_text(encoding="utf-8"))
    asked = {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("client.ask", "client.submit")
        and isinstance(node.args[0], ast.Constant)
    }
    assert asked
    assert asked <= set(ANSWERS)


def test_every_answer_is_there_with_its_types():
    code = """
import inspect
from explorer.worker.child import ANSWERS, _function
for verb, target in ANSWERS.items():
    function, types = _function(target)
    for (name, parameter), kind in zip(inspect.signature(function).parameters.items(), types):
        assert parameter.annotation is not parameter.empty, (verb, name)
print("all", len(ANSWERS))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == f"all {len(ANSWERS)}", done.stderr[-2000:]
