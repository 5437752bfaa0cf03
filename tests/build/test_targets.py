import json

import pytest

from explorer.engine.targets import tvm_target
from explorer.errors import TargetError
from explorer.model.target import Target
from explorer.targets import local, resolve, search


@pytest.mark.parametrize(
    ("text", "arch"),
    [
        ("nvidia/geforce-rtx-4090", "sm_89"),
        ("RTX 4090", "sm_89"),
        ("h100", "sm_90a"),
        ("sm_90", "sm_90"),
        ("90", "sm_90"),
        ("8.6", "sm_86"),
        ("compute_80", "sm_80"),
        ("cuda -arch=sm_86", "sm_86"),
        ("  sm_100a ", "sm_100a"),
        ('{"kind": "cuda", "arch": "sm_75"}', "sm_75"),
        ('{"kind": "cuda", "tag": "nvidia/nvidia-a30"}', "sm_80"),
    ],
)
def test_every_form_of_text_names_an_architecture(
    text: str, arch: str, tags: tuple[Target, ...]
) -> None:
    found = resolve(text, tags)
    assert (found.kind, found.arch) == ("cuda", arch)


def test_a_tag_is_complete_and_nothing_is_assumed(tags: tuple[Target, ...]) -> None:
    found = resolve("nvidia/geforce-rtx-4090", tags)
    assert found.assumed == ()
    assert found.l2_cache_size_bytes == 75497472
    assert found.max_dynamic_shared_memory_per_block == 99 * 1024


def test_limits_that_an_architecture_leaves_out_are_filled_in_and_said(
    tags: tuple[Target, ...],
) -> None:
    found = resolve('{"kind": "cuda", "arch": "sm_90", "registers_per_block": 32768}', tags)
    assert found.registers_per_block == 32768
    assert found.max_shared_memory_per_block == 49152
    said = " ".join(found.assumed)
    assert "max_threads_per_block = 1024 (CUDA C++ Programming Guide" in said
    assert "registers_per_block" not in said


def test_bare_cuda_says_which_architecture_was_assumed(
    tags: tuple[Target, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "detect", lambda: ())
    found = resolve("cuda", tags)
    assert found.arch == "sm_75"
    assert found.assumed[0].startswith("arch = sm_75 (none was given")


def test_tvm_gets_every_limit_metaschedule_asks_for(tags: tuple[Target, ...]) -> None:
    made = tvm_target(resolve("sm_90", tags))
    attrs = dict(made.attrs)
    assert int(attrs["max_threads_per_block"]) == 1024
    assert int(attrs["max_shared_memory_per_block"]) == 49152
    assert int(attrs["thread_warp_size"]) == 32
    assert int(attrs["registers_per_block"]) == 65536
    assert made.host.kind.name == "llvm"


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("nvidia/geforce-rtx-409", "nvidia/geforce-rtx-4090"),
        ("nvidia/rtx-a600", "nvidia/rtx-a6000"),
        ("sm_91", "sm_90"),
    ],
)
def test_an_unknown_target_names_close_ones(text: str, near: str, tags: tuple[Target, ...]) -> None:
    with pytest.raises(TargetError) as refused:
        resolve(text, tags)
    assert near in refused.value.problem.why


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"kind": "opencl"}', "kind opencl"),
        ('{"kind": "cuda"}', "no arch"),
        ('{"kind": "cuda", ', "not an object"),
        ('{"kind": "cuda", "arch": "sm_80", "max_threads_per_block": 0}', "is 0"),
        ("sm_80a", "not a CUDA architecture"),
        ("", "not a target"),
    ],
)
def test_what_is_wrong_with_a_target_is_a_sentence(
    text: str, words: str, tags: tuple[Target, ...]
) -> None:
    with pytest.raises(TargetError, match=words):
        resolve(text, tags)


def test_search_finds_tags_by_words_newest_first(tags: tuple[Target, ...]) -> None:
    found = [target.tag for target in search("rtx 30", tags)]
    assert "nvidia/geforce-rtx-3080" in found
    assert all("rtx" in tag and "30" in tag for tag in found)
    archs = [int(target.arch[3:].rstrip("a")) for target in search("", tags)]
    assert archs == sorted(archs, reverse=True)


def test_the_local_gpu_gets_its_tag_or_its_architecture(
    tags: tuple[Target, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = "NVIDIA GeForce RTX 3080, 8.6\nSome Board, 9.0\n"
    assert local.parse(listing) == (("NVIDIA GeForce RTX 3080", "sm_86"), ("Some Board", "sm_90"))
    monkeypatch.setattr(local, "detect", lambda: local.parse(listing))
    assert resolve("local", tags).tag == "nvidia/geforce-rtx-3080"
    monkeypatch.setattr(local, "detect", lambda: (("Some Board", "sm_90"),))
    assert resolve("local", tags).tag == "sm_90"
    monkeypatch.setattr(local, "detect", lambda: ())
    with pytest.raises(TargetError, match="No NVIDIA GPU"):
        resolve("local", tags)


def test_every_tag_crosses_the_process_boundary(tags: tuple[Target, ...]) -> None:
    import msgspec

    assert len(tags) > 200
    again = msgspec.json.decode(msgspec.json.encode(tags), type=tuple[Target, ...])
    assert again == tags
    assert json.loads(msgspec.json.encode(tags[0]))["kind"] == "cuda"
