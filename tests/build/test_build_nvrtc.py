"""NVRTC has the last word: text that it refuses is no kernel, and its line is shown."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable

import pytest
from cuda.bindings import nvrtc as nvrtc_bindings
from tvm.support import nvcc

from explorer.comparison import with_compiled
from explorer.engine import compile_check as checker
from explorer.engine import disk_cache, nvrtc
from explorer.engine.build import build
from explorer.engine.compile_check import compile_check, compiled
from explorer.errors import ToolMissing
from explorer.model.loaded import Source
from explorer.model.target import Target
from explorer.primitives import Step
from explorer.targets import resolve

Made = Callable[..., tuple[Source, tuple[Step, ...]]]
KERNEL = 'extern "C" __global__ void f(float* a) {\n  a[0] = 1.0f;\n  BODY\n}\n'


def test_good_text_compiles_to_a_cubin_and_to_ptx() -> None:
    text = KERNEL.replace("BODY", "")
    made = nvrtc.compile_text(text, "sm_80")
    assert made.cubin[:4] == b"\x7fELF"
    assert ".target sm_80" in made.ptx
    assert len(_registers(made.log)) == 1


def test_nvrtc_is_given_the_options_that_tvm_gives_it(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[set[str]] = []
    text = KERNEL.replace("BODY", "")
    real = nvrtc_bindings.nvrtcCompileProgram

    def noted(program: object, count: int, options: list[bytes]) -> object:
        given.append({option.decode() for option in options})
        return real(program, count, options)

    monkeypatch.setattr(nvrtc_bindings, "nvrtcCompileProgram", noted)
    monkeypatch.setenv("CUDA_PATH", str(nvrtc.include_folders()[0].parent))
    with contextlib.suppress(RuntimeError):  # it looks for headers elsewhere
        nvcc.compile_cuda(text, target_format="cubin", arch="sm_80", compiler="nvrtc")
    nvrtc.compile_text(text, "sm_80", lines=False, keep=False)
    theirs, ours = (
        {option for option in options if not option.startswith("-I")} for options in given
    )
    # Only this one has ptxas say more, and it is no part of what it makes.
    assert theirs - ours == {"--ptxas-options=--warn-on-local-memory-usage"}
    assert not ours - theirs


def test_noting_lines_changes_no_instruction() -> None:
    text = KERNEL.replace("BODY", "for (int i = 0; i < 9; ++i) a[i] = a[i + 1] * 2.0f + a[0];")
    plain = nvrtc.compile_text(text, "sm_80", lines=False)
    noted = nvrtc.compile_text(text, "sm_80")
    assert ".loc" in noted.ptx
    assert _instructions(noted.ptx) == _instructions(plain.ptx)
    assert [_registers(each.log) for each in (noted, plain)] == [["24"], ["24"]]


def _registers(log: str) -> list[str]:
    return re.findall(r"Used (\d+) registers", log)


def _instructions(ptx: str) -> list[str]:
    body = ptx[ptx.index(".entry") :].split(".section")[0].split(".file")[0]
    lines = (line.strip() for line in body.splitlines())
    return [line for line in lines if line.endswith(";") and not line.startswith("//")]


def test_a_refusal_has_the_line_of_the_text() -> None:
    found = compiled("f", KERNEL.replace("BODY", "a[1] = missing;"), "sm_80")
    assert (found.status, found.line, found.text) == ("refused", 3, "a[1] = missing;")
    assert 'identifier "missing" is undefined' in found.detail


def test_what_tvm_accepts_and_nvrtc_refuses_is_failed(made: Made, target: Target) -> None:
    source, steps = made("60", "sched")
    (word,) = compile_check(source, steps, target)
    assert word.status == "refused"
    assert "too much shared data" in word.detail
    after = with_compiled(build(source, steps, target, {}), (word,))
    assert after.status == "failed"
    assert after.functions[0].status == "no_kernel"
    assert any(each.code == "nvrtc_error" for each in after.findings)


def test_an_older_architecture_is_checked_as_the_oldest_known(tags: tuple[Target, ...]) -> None:
    pascal = resolve("nvidia/tesla-p100", tags)
    found = compiled("f", KERNEL.replace("BODY", ""), pascal.arch)
    assert (found.status, found.arch) == ("compiled", nvrtc.architectures()[0])
    assert "can't compile for sm_60" in found.detail


def test_missing_nvrtc_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*args: object) -> None:
        raise ToolMissing("NVRTC is not installed.", do="Install it.")

    monkeypatch.setattr(nvrtc, "architectures", missing)
    found = checker.compiled("f", KERNEL, "sm_80")
    assert found.status == "not_compiled"
    assert found.detail == "NVRTC is not installed. Install it."


def test_results_are_kept_and_the_oldest_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    first, second = disk_cache.key("test", "1"), disk_cache.key("test", "2")
    assert first != disk_cache.key("test1", "")
    disk_cache.store(first, "a" * 1000)
    assert disk_cache.load(first, str) == "a" * 1000
    assert disk_cache.load(first, int) is None
    os.utime(disk_cache.folder() / first, (1, 1))
    monkeypatch.setattr(disk_cache, "LIMIT_BYTES", 1500)
    disk_cache.store(second, "b" * 1000)
    assert disk_cache.load(first, str) is None
    assert disk_cache.load(second, str) == "b" * 1000


def test_text_for_tensor_cores_compiles() -> None:
    text = "#include <mma.h>\n" + KERNEL.replace(
        "BODY", "nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> c;"
    )
    assert nvrtc.compile_text(text, "sm_80").cubin


def test_a_header_that_is_not_installed_is_no_refusal_of_the_text() -> None:
    text = '#include "crt/no_such_header.h"\n' + KERNEL.replace("BODY", "")
    found = compiled("f", text, "sm_80")
    assert found.status == "not_compiled"
    assert "crt/no_such_header.h is not installed" in found.detail
