"""The list of samples: files, titles, what they teach.  No TVM."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from explorer import samples

ALL = samples.samples()
KINDS = (
    "vector add", "elementwise", "float32", "tensor core", "gemv", "batched", "softmax", "rms norm",
    "layer norm", "sum of every row", "sum of everything", "transpose", "convolution", "int4",
    "dynamic", "2022",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_one(kind):
    assert len([one for one in ALL if kind in one.title.lower()]) == 1


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_it_is_one_module_with_a_title_and_something_to_try(one):
    tree = ast.parse(one.text)
    assert len([node for node in tree.body if isinstance(node, ast.ClassDef)]) == 1
    assert 5 <= len(one.title) <= 60
    assert not one.title.endswith(".")
    assert one.about.endswith(".")
    assert len(one.about.split()) >= 15


def test_names_are_unique_and_found_again():
    assert len({one.title for one in ALL}) == len(ALL)
    assert [samples.sample(one.name) for one in ALL] == list(ALL)
    with pytest.raises(KeyError):
        samples.sample("no such sample")


def test_listing_them_loads_no_tvm():
    code = (
        "import sys; from explorer import samples; samples.samples(); print('tvm' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
