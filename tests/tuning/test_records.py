"""Databases of plain TVM: listed, read as steps that TVM agrees with, imported."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tvm import ir, s_tir
from tvm.s_tir import meta_schedule as ms
from tvm_ffi import structural_equal

from explorer import workbench
from explorer.engine.replay import replay
from explorer.engine.tuning.importing import import_records
from explorer.engine.tuning.records import read_record, records
from explorer.errors import ExperimentError
from explorer.model.loaded import Source
from explorer.targets import resolve
from explorer.tuning.events import Candidate
from explorer.tuning.folder import RECORDS, WORKLOADS, Folder, Reader
from tests.tuning import databases
from tests.tuning.databases import ADD, CUDA, LLVM, matmul

Made = tuple[Path, list[list[s_tir.Schedule]]]


@pytest.fixture(scope="module")
def llvm(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("llvm")
    return folder, databases.write(folder, [matmul(), ADD], LLVM)


@pytest.fixture(scope="module")
def cuda(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("cuda")
    return folder, databases.write(folder, [matmul()], CUDA, 2)


@pytest.fixture
def copy(llvm: Made, tmp_path: Path) -> Path:
    return Path(shutil.copytree(llvm[0], tmp_path / "copy"))


def after(text: str, path: Path, number: int, function: str = "main") -> ir.IRModule:
    """The module after a record's steps, replayed from plain values."""
    proposal = read_record(Source(text), (), str(path), number)
    assert proposal.manual, proposal.note
    assert proposal.refusal is None
    done = replay(Source(text), workbench.steps_of(proposal))
    assert not done.refusals
    return done.live.mod


# Listing


def test_the_list_says_what_is_in_the_files(llvm: Made) -> None:
    folder, made = llvm
    found = records(str(folder))
    first, second = found.workloads
    assert first.about() == ("main(float32[64, 32], float32[32, 64], float32[64, 64]) with C")
    assert second.about() == "main(float32[64, 48], float32[64, 48]) with B"
    assert first.hash == json.loads(databases.lines(folder / WORKLOADS)[0])[0]
    assert 'T.sblock("C")' in first.script
    assert [each.number for each in found.records] == [1, 2, 3, 4, 5, 6]
    assert [each.workload for each in found.records] == [0, 0, 0, 1, 1, 1]
    assert [each.us for each in found.records[:3]] == pytest.approx([6000, 4000, 2000])
    assert {each.runs for each in found.records} == {3}
    assert {each.target for each in found.records} == {"llvm"}
    assert found.records[0].args == ("float32[64, 32]", "float32[32, 64]", "float32[64, 64]")
    assert found.records[0].instructions == len(made[0][0].trace.insts) - 1
    assert [each.number for each in found.of(1)] == [6, 5, 4]
    assert found.skipped == ()


def test_the_target_of_a_record_can_be_built_for(cuda: Made) -> None:
    found = records(str(cuda[0]))
    target = resolve(found.records[0].target, ())
    assert (target.kind, target.arch, target.max_threads_per_block) == ("cuda", "sm_89", 1024)


@pytest.mark.parametrize("name", [WORKLOADS, RECORDS])
def test_either_file_is_enough_to_find_the_pair(llvm: Made, name: str) -> None:
    assert records(str(llvm[0] / name)) == records(str(llvm[0]))


def test_a_pair_under_other_names_is_found_by_what_is_in_it(copy: Path) -> None:
    (copy / WORKLOADS).rename(copy / "a.json")
    (copy / RECORDS).rename(copy / "b.json")
    (copy / "c.json").write_text('{"no": "database"}\n')
    assert len(records(str(copy / "b.json")).workloads) == 2
    assert len(records(str(copy)).records) == 6


def test_what_is_no_database_is_said(tmp_path: Path) -> None:
    (tmp_path / "some.json").write_text('["text"]\n{}\n')
    for path in (tmp_path, tmp_path / "some.json", tmp_path / "nowhere"):
        with pytest.raises(ExperimentError, match="holds no tuning records"):
            records(str(path))


# Steps


def test_a_record_gives_the_module_that_tvm_itself_makes(llvm: Made) -> None:
    folder, made = llvm
    for number, sch in enumerate(made[0] + made[1], start=1):
        text = matmul() if number <= 3 else ADD
        assert structural_equal(after(text, folder, number), sch.mod)


@pytest.mark.parametrize(("text", "best"), [(matmul(), 3), (ADD, 6)])
def test_the_best_record_gives_what_compile_tir_gives(llvm: Made, text: str, best: int) -> None:
    database = ms.database.JSONDatabase(work_dir=str(llvm[0]), allow_missing=False)
    own = databases.workload_of(text)
    compiled = ms.tir_integration.compile_tir(database, own, LLVM)
    queried = database.query_ir_module(own, LLVM, "main")
    mod = after(text, llvm[0], best)
    assert structural_equal(mod, compiled.mod)
    assert structural_equal(mod, queried)


def test_records_for_cuda_bind_threads_as_tvm_does(cuda: Made) -> None:
    for number, sch in enumerate(cuda[1][0], start=1):
        mod = after(matmul(), cuda[0], number)
        assert structural_equal(mod, sch.mod)
        assert 'thread="threadIdx.x"' in mod.script()


def test_the_same_function_under_other_names_takes_the_record(llvm: Made, cuda: Made) -> None:
    other = matmul("gemm").replace('"C"', '"product"').replace(" k in", " r in")
    other = other.replace("j, k]", "j, r]").replace("C[", "Out[").replace("C:", "Out:")
    other = other.replace("A[", "Left[").replace("A:", "Left:")
    for folder, made in (llvm, cuda):
        for number, sch in enumerate(made[0], start=1):
            mod = after(other, folder, number)
            assert "product" in mod.script()
            assert structural_equal(mod["gemm"].body, sch.mod["main"].body, map_free_vars=True)


def test_the_function_is_found_among_others(llvm: Made) -> None:
    add = ADD.split("class Module:\n")[1].replace("def main", "def plus")
    text = matmul("times") + add
    proposal = read_record(Source(text), (), str(llvm[0]), 4)
    assert [each.function for each in proposal.outcomes] == ["plus"]
    assert structural_equal(
        replay(Source(text), workbench.steps_of(proposal)).live.mod["times"],
        replay(Source(text), ()).live.mod["times"],
    )


def test_a_record_of_another_function_is_refused(llvm: Made) -> None:
    with pytest.raises(ExperimentError, match="for another function") as told:
        read_record(Source(matmul(m=32)), (), str(llvm[0]), 1)
    assert told.value.problem.do == "Open the record's own function as the module."
    with pytest.raises(ExperimentError, match="no record 99"):
        read_record(Source(matmul()), (), str(llvm[0]), 99)


def test_the_workload_itself_is_a_source(llvm: Made) -> None:
    folder, made = llvm
    own = records(str(folder)).workloads[0].script
    assert structural_equal(after(own, folder, 2), made[0][1].mod)


def test_steps_done_already_count(llvm: Made) -> None:
    text = matmul()
    first = workbench.steps_of(read_record(Source(text), (), str(llvm[0]), 1))
    with pytest.raises(ExperimentError, match="for another function"):
        read_record(Source(text), first, str(llvm[0]), 2)


# Damaged, old and hostile files


def test_damaged_lines_are_skipped_and_named(copy: Path) -> None:
    whole = databases.lines(copy / RECORDS)
    trace = json.loads(whole[1])[1][0]
    bad = [
        whole[0][:40],
        "",
        '{"a": 1}',
        "[1, 2]",
        json.dumps([0, [trace, ["fast"], None, None]]),
        json.dumps([0, [[[["Split"]], []], [1.0], None, None]]),
        "\ufffd\x00",
    ]
    (copy / RECORDS).write_text("\n".join([whole[0], *bad, *whole[1:]]) + "\n")
    found = records(str(copy))
    assert [(each.file, each.line) for each in found.skipped] == [
        (RECORDS, line) for line in (2, 4, 5, 6, 7, 8)
    ]
    assert all(each.reason for each in found.skipped)
    assert [each.number for each in found.records] == [1, 9, 10, 11, 12, 13]
    proposal = read_record(Source(matmul()), (), str(copy), 9)
    assert proposal.manual
    with pytest.raises(ExperimentError, match="Line 2 is no record"):
        read_record(Source(matmul()), (), str(copy), 2)


@pytest.mark.parametrize(
    "line",
    [
        "no json",
        "[]",
        '["1", "!!!"]',
        '["1", "AAAA"]',
        databases.workload_line("{}"),
        databases.workload_line("[]"),
        databases.workload_line('{"root_index": 0, "nodes": []}'),
        databases.workload_line('{"root_index": 7, "nodes": [{"type": "None"}]}'),
        databases.workload_line('{"root_index": 0, "nodes": [{"type": "int", "data": 1}]}'),
        databases.workload_line(
            '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "IRModule"}]}'
        ),
    ],
)
def test_a_workload_that_can_not_be_read_keeps_its_place(copy: Path, line: str) -> None:
    whole = databases.lines(copy / WORKLOADS)
    (copy / WORKLOADS).write_text("\n".join([line, whole[1]]) + "\n")
    first, second = records(str(copy)).workloads
    assert first.reason
    assert first.script == ""
    assert second.blocks == ("B",)
    proposal = read_record(Source(matmul()), (), str(copy), 2)
    assert proposal.steps
    assert not proposal.manual
    assert "not known whether this is the same function" in proposal.note


def test_a_record_without_its_workload_asks_which_function(copy: Path) -> None:
    (copy / WORKLOADS).unlink()
    two = matmul("one") + matmul("two").split("class Module:\n")[1]
    with pytest.raises(ExperimentError, match="not known which function"):
        read_record(Source(two), (), str(copy), 1)
    proposal = read_record(Source(two), (), str(copy), 1, "two")
    assert {each.function for each in proposal.outcomes} == {"two"}


def test_names_of_earlier_versions_are_read(copy: Path) -> None:
    text = (copy / RECORDS).read_text().replace('"GetSBlock"', '"GetBlock"')
    body = json.loads(text.splitlines()[0])
    body[1] = [*body[1][:2], "llvm -num-cores 4"]
    (copy / RECORDS).write_text(json.dumps(body) + "\n")
    (found,) = records(str(copy)).records
    assert found.target == "llvm"
    assert found.args == ()
    assert read_record(Source(matmul()), (), str(copy), 1).manual


def test_a_trace_that_stops_keeps_the_steps_before(copy: Path) -> None:
    body = json.loads(databases.lines(copy / RECORDS)[0])
    instructions = body[1][0][0]
    at = next(n for n, each in enumerate(instructions) if each[0] == "Reorder")
    instructions[at][0] = "Rearrange"
    (copy / RECORDS).write_text(json.dumps(body) + "\n")
    proposal = read_record(Source(matmul()), (), str(copy), 1)
    assert proposal.refusal is not None
    assert f"Instruction {at} (Rearrange)" in proposal.refusal.what
    assert [each["op"] for each in proposal.steps] == ["annotate", "split", "split", "split"]


def test_a_failed_run_has_no_time(copy: Path) -> None:
    body = json.loads(databases.lines(copy / RECORDS)[0])
    lines = [json.dumps([0, [body[1][0], runs, None, None]]) for runs in ([1e10], [], None)]
    (copy / RECORDS).write_text("\n".join(lines) + "\n")
    found = records(str(copy))
    assert [each.us for each in found.records] == [None, None, None]
    assert [each.target for each in found.records] == ["", "", ""]


# Import


def test_an_import_is_a_job_that_plain_tvm_reads_too(copy: Path, tmp_path: Path) -> None:
    before = {each.name: each.read_bytes() for each in copy.iterdir()}
    into = tmp_path / "job"
    into.mkdir()
    taken = import_records(str(copy), str(into))
    assert {each.name: each.read_bytes() for each in copy.iterdir()} == before
    assert taken.functions == ("main", "main_1")
    assert (taken.candidates, taken.target, taken.left_out) == (6, "llvm", ())
    events = Reader(Folder(into)).news()
    assert all(isinstance(each, Candidate) for each in events)
    assert [(each.id, each.function, each.fate, each.origin) for each in events][::5] == [
        (1, "main", "measured", "imported"), (6, "main_1", "measured", "imported"),
    ]  # fmt: skip
    assert events[2].us == pytest.approx(2000)
    assert events[2].runs_us == pytest.approx((1000, 2000, 3000))
    database = ms.database.JSONDatabase(work_dir=str(into), allow_missing=False)
    assert len(database) == 6
    own = databases.workload_of(ADD)
    assert database.query_schedule(own, LLVM, "main") is not None
    mod = replay(taken.source, ()).live.mod
    assert sorted(var.name_hint for var in mod.get_global_vars()) == ["main", "main_1"]


def test_an_import_into_a_module_keeps_its_names(copy: Path, tmp_path: Path) -> None:
    with open(copy / RECORDS, "a") as file:
        file.write("damaged\n")
    source = Source(matmul("gemm"))
    taken = import_records(str(copy), str(tmp_path), source)
    assert taken.source == source
    assert taken.functions == ("gemm",)
    assert taken.candidates == 3
    assert taken.left_out == ("Workload 1 (main) is no function of the module.",)
    database = ms.database.JSONDatabase(work_dir=str(tmp_path), allow_missing=False)
    assert len(database) == 3


def test_an_import_keeps_what_tvm_can_not_read_as_candidates(copy: Path, tmp_path: Path) -> None:
    lines = databases.lines(copy / RECORDS)
    body = json.loads(lines[0])
    body[1][0][0][5][0] = "Rearrange"
    (copy / RECORDS).write_text("\n".join([json.dumps(body), *lines[1:]]) + "\n")
    into = tmp_path / "job"
    into.mkdir()
    taken = import_records(str(copy), str(into))
    assert taken.candidates == 6
    (said,) = taken.left_out
    assert said.startswith("1 of them are kept as candidates only")
    assert len(ms.database.JSONDatabase(work_dir=str(into), allow_missing=False)) == 5


def test_nothing_to_import_is_said(copy: Path, tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="nothing to import"):
        import_records(str(copy), str(tmp_path), Source(matmul(m=16)))
