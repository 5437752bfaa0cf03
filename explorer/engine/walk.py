"""Walks a lowered kernel with values for its variables: threads, blocks, loops.

Two walks exist: whole warps at sampled places (`explorer.engine.sample`), and whole blocks with
their loops enumerated (`explorer.engine.repeats`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import tirx

from explorer.analysis.kernel import Bools, Extents
from explorer.engine.host_code import Launch
from explorer.engine.lanes import Array, Env, evaluate
from explorer.engine.touch import Use, uses

XYZ = ("x", "y", "z")


class Walk:
    """One pass over a device function.  Subclasses say what a loop and an access are to them.

    `axes` are the values of blockIdx and threadIdx, `block_ids` and `thread_ids` the linear numbers
    they come from; all have the axes sample, thread, 1.
    """

    def __init__(self, launch: Launch, device: Any, host: Env) -> None:
        self.launch = launch
        self.device = device
        self.host = host
        self.axes: dict[str, Array] = {}
        self.block_ids: Array = np.zeros((1, 1, 1), np.int64)
        self.thread_ids: Array = np.zeros((1, 1, 1), np.int64)

    def run(
        self, grid: Extents, block: Extents, blocks: Array, threads: Array, active: Bools
    ) -> None:
        """Walk with these linear block and thread numbers."""
        env = Env(blocks.shape[0])
        for param, argument in zip(self.device.params, self.launch.arguments, strict=True):
            env.set(param, evaluate(argument, self.host))
        for name, extents, ids in (("blockIdx", grid, blocks), ("threadIdx", block, threads)):
            rest = ids
            for axis, extent in zip(XYZ, extents, strict=True):
                self.axes[f"{name}.{axis}"] = rest % (extent or 1)
                rest = rest // (extent or 1)
        self.block_ids, self.thread_ids = blocks, threads
        self.visit(self.device.body, env, active, 1.0)

    def visit(self, stmt: Any, env: Env, where: Bools, runs: float) -> None:
        """One statement; `runs` is how often a thread comes here."""
        kind = type(stmt)
        if kind is tirx.SeqStmt:
            for part in stmt.seq:
                self.visit(part, env, where, runs)
        elif kind is tirx.AttrStmt:
            if stmt.attr_key == "thread_extent":
                env.set(stmt.node.var, self.axes.get(str(stmt.node.thread_tag)))
            self.visit(stmt.body, env, where, runs)
        elif kind is tirx.For:
            self._for(stmt, env, where, runs)
        elif kind is tirx.IfThenElse:
            self._if(stmt, env, where, runs)
        elif kind is tirx.While:
            self.visit(stmt.body, env.child(), where, runs)
        else:
            if kind is tirx.Bind:
                env.set(stmt.var, evaluate(stmt.value, env))
            if self.wanted(stmt):
                self.simple(stmt, list(uses(stmt, env, where)), runs)

    def wanted(self, stmt: Any) -> bool:
        """Whether the accesses of a simple statement matter to this walk."""
        raise NotImplementedError

    def simple(self, stmt: Any, found: list[Use], runs: float) -> None:
        """A store, an evaluation or a binding, with its accesses."""
        raise NotImplementedError

    def loop(
        self, stmt: Any, start: Array, extent: Array, env: Env, where: Bools
    ) -> tuple[Env, Bools]:
        """The environment of a loop's body, with a value for its variable."""
        raise NotImplementedError

    def _for(self, stmt: Any, env: Env, where: Bools, runs: float) -> None:
        extent, start = evaluate(stmt.extent, env), evaluate(stmt.min, env)
        if extent is None or start is None:
            inner = env.child()
            inner.set(stmt.loop_var, None)
            self.visit(stmt.body, inner, where, runs)
        elif int(extent.max()) >= 1:
            inner, there = self.loop(stmt, start, extent, env, where)
            self.visit(stmt.body, inner, there, runs * float(np.mean(extent)))

    def _if(self, stmt: Any, env: Env, where: Bools, runs: float) -> None:
        if self.wanted(stmt):
            self.simple(stmt, list(uses(stmt.condition, env, where)), runs)
        condition = evaluate(stmt.condition, env)
        for branch, flip in ((stmt.then_case, False), (stmt.else_case, True)):
            if branch is not None:
                there = where if condition is None else where & (condition.astype(bool) ^ flip)
                self.visit(branch, env.child(), there, runs)
