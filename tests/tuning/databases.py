"""Databases as plain TVM writes them, made of a few random schedules."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from tvm import ir, s_tir
from tvm.s_tir import meta_schedule as ms
from tvm.target import Target

from explorer.engine.load import module
from explorer.engine.warm import warm
from explorer.model.loaded import Source

LLVM = Target({"kind": "llvm", "num-cores": 2})
CUDA = Target("nvidia/geforce-rtx-4090")

MATMUL = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def NAME(A: T.Buffer((M, 32), "float32"), B: T.Buffer((32, 64), "float32"),
             C: T.Buffer((M, 64), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i, j, k in T.grid(M, 64, 32):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""

ADD = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64, 48), "float32"), B: T.Buffer((64, 48), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(64, 48):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)
"""


def matmul(name: str = "main", m: int = 64) -> str:
    return MATMUL.replace("NAME", name).replace("M,", f"{m},")


def workload_of(text: str) -> ir.IRModule:
    """The only function of a text, as TVM's tuner knows it."""
    (func,) = module(Source(text)).functions.values()
    return ir.IRModule({"main": func.with_attr("global_symbol", "main")})


def schedules(workload: ir.IRModule, target: Target, count: int) -> list[s_tir.Schedule]:
    """Random schedules of TVM's own design space that its postprocessors accept."""
    warm()
    space = ms.space_generator.PostOrderApply()
    context = ms.TuneContext(
        workload, target=target, space_generator=space, num_threads=1, rand_state=1
    )
    designs = context.generate_design_space()
    found: list[s_tir.Schedule] = []
    seed = 0
    while len(found) < count and seed < 200:
        seed += 1
        sch = s_tir.Schedule(workload, seed=seed)
        trace = s_tir.Trace(designs[seed % len(designs)].trace.insts, {})
        trace.apply_to_schedule(sch, remove_postproc=True)
        sch.enter_postproc()
        if all(each.apply(sch) for each in space.postprocs):
            found.append(sch)
    assert len(found) == count
    return found


def write(
    folder: Path, texts: list[str], target: Target, count: int = 3
) -> list[list[s_tir.Schedule]]:
    """A database with `count` records of each text's function, the last one the fastest."""
    folder.mkdir(parents=True, exist_ok=True)
    database = ms.database.JSONDatabase(work_dir=str(folder))
    written = []
    for text in texts:
        mod = workload_of(text)
        workload = database.commit_workload(mod)
        made = schedules(mod, target, count)
        args = ms.arg_info.ArgInfo.from_prim_func(mod["main"])
        for at, sch in enumerate(made):
            seconds = [1e-3 * (count - at), 2e-3 * (count - at), 3e-3 * (count - at)]
            database.commit_tuning_record(
                ms.database.TuningRecord(sch.trace, workload, seconds, target, args)
            )
        written.append(made)
    return written


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def packed(text: str) -> str:
    """A workload's text as TVM packs it."""
    data = text.encode()
    return base64.b64encode(len(data).to_bytes(8, "little") + data).decode()


def workload_line(text: str, digest: str = "1") -> str:
    return json.dumps([digest, packed(text)])
