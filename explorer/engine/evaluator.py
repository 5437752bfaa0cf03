"""TensorIR → plain C++: what a module means, evaluated without any of TVM's lowering.

Blocks run in program order with their init and predicate; loops bound to threads are plain loops,
which is what TensorIR defines them to compute.  Every index is checked against its buffer.
"""

from __future__ import annotations

from typing import Any

import tvm_ffi
from tvm import ir, s_tir, tirx
from tvm.ir.prim import expr as prim

from explorer.engine.evaluator_words import (
    BINARY,
    BINARY_CALLS,
    MATH,
    PRELUDE,
    TESTS,
    TYPES,
)


class NotEvaluated(Exception):
    """The function holds something this evaluator does not know; the message names it."""


class Writer:
    """Writes one PrimFunc as a C++ function; lives for one function."""

    def __init__(self, func: tirx.PrimFunc, symbols: list[Any]) -> None:
        """`symbols` are the symbolic sizes whose values the caller passes, in order."""
        self.func = func
        self.names: dict[Any, str] = {}
        self.lines: list[str] = []
        self.symbols = symbols
        self.outputs: set[Any] = set()
        self.skips = False
        """Loops that add to one result are left out where it is not needed."""

    def text(self) -> str:
        """`evaluate(buffers, symbols, scalars, needed)`: NULL, or the name of what was left.

        `needed[n]`, where not NULL, marks the elements of buffer `n` that are wanted.
        Raises NotEvaluated.
        """
        head = []
        for at, symbol in enumerate(self.symbols):
            head.append(f"const {_type(symbol)} {self._name(symbol)} = symbols[{at}];")
        scalars = buffers = 0
        for param in self.func.params:
            if tirx.is_buffer_var(param):
                head += self._declare(param, f"buffers[{buffers}]")
                head.append(f"const uint8_t *need_{self._name(param)} = needed[{buffers}];")
                self.outputs.add(param)
                buffers += 1
            elif str(param.ty) in TYPES:
                head.append(f"const {_type(param)} {self._name(param)} = scalars[{scalars}];")
                scalars += 1
            else:
                raise NotEvaluated(f"the parameter {param.name}")
        self._stmt(self.func.body)
        return "\n".join(
            [
                PRELUDE,
                'extern "C" __attribute__((visibility("default"))) REF const char *evaluate(',
                "    void *const *buffers, const int64_t *symbols, const double *scalars,",
                "    const uint8_t *const *needed) {",
                "ref_outside = nullptr;",
                "if (__builtin_setjmp(ref_exit)) return ref_outside;",
                *head,
                *self.lines,
                "return nullptr;",
                "}",
            ]
        )

    # Names and buffers

    def _name(self, var: Any) -> str:
        if var not in self.names:
            stem = "".join(c if c.isalnum() else "_" for c in str(var.name))
            self.names[var] = f"v{len(self.names)}_{stem}"
        return self.names[var]

    def _declare(self, buffer: Any, memory: str) -> list[str]:
        """A buffer over `memory` ("" to allocate it)."""
        kind = _type(buffer)
        name = self._name(buffer)
        shape = [self._expr(_as_expr(size)) for size in buffer.shape]
        strides = [self._expr(_as_expr(size)) for size in buffer.strides]
        if not strides:
            strides = [" * ".join(["1", *(f"(int64_t){s}" for s in shape[at + 1 :])])
                       for at in range(len(shape))]  # fmt: skip
        offset = self._expr(_as_expr(buffer.elem_offset)) if memory else "0"
        if not memory:
            memory = f"ref_alloc<{kind}>({' * '.join(['1', *(f'(int64_t){s}' for s in shape)])})"
        elif _free_symbol(buffer.elem_offset, self.symbols):
            offset = "0"
        dims = ", ".join(f"(int64_t)({size})" for size in shape) or "1"
        steps = ", ".join(f"(int64_t)({size})" for size in strides) or "1"
        return [
            f"const ref_buffer<{kind}, {len(shape)}> {name} = "
            f'{{({kind}*)({memory}) + ({offset}), {{{dims}}}, {{{steps}}}, "{buffer.name}"}};'
        ]

    # Statements

    def _stmt(self, node: Any) -> None:
        match node:
            case tirx.SeqStmt():
                for part in node.seq:
                    self._stmt(part)
            case s_tir.SBlockRealize():
                self._realize(node)
            case s_tir.SBlock():
                self._block(node, first="true")
            case tirx.For():
                self._for(node)
            case tirx.While():
                self.lines.append(f"while ({self._expr(node.condition)}) {{")
                self._stmt(node.body)
                self.lines.append("}")
            case tirx.BufferStore():
                kind = _type(node.buffer)
                place = self._place(node.buffer, node.indices)
                value = self._expr(node.value)
                self.lines.append(f"{{ {kind} x = ({kind}){value}; {place} = x; }}")
            case tirx.IfThenElse():
                self.lines.append(f"if ({self._expr(node.condition)}) {{")
                self._stmt(node.then_case)
                if node.else_case is not None:
                    self.lines.append("} else {")
                    self._stmt(node.else_case)
                self.lines.append("}")
            case tirx.Bind():
                value = self._expr(node.value)
                self.lines.append(f"const {_type(node.var)} {self._name(node.var)} = {value};")
                if isinstance(getattr(node, "body", None), tirx.Stmt):
                    self._stmt(node.body)
            case tirx.AllocBuffer():
                self.lines += self._declare(node.buffer, "")
                if isinstance(getattr(node, "body", None), tirx.Stmt):
                    self._stmt(node.body)
            case tirx.AttrStmt():
                self._attr(node)
            case tirx.AssertStmt():
                if isinstance(getattr(node, "body", None), tirx.Stmt):
                    self._stmt(node.body)
            case tirx.Evaluate() if isinstance(node.value, prim.IntImm):
                pass
            case tirx.Evaluate():
                raise NotEvaluated(f"the call {_short(node.value)}")
            case _:
                raise NotEvaluated(f"a {type(node).__name__} statement")

    def _for(self, node: Any) -> None:
        kind, name = _type(node.loop_var), self._name(node.loop_var)
        low, extent = self._expr(node.min), self._expr(node.extent)
        step = getattr(node, "step", None)
        by = "1" if step is None else self._expr(step)
        skip = self._skip(node)
        self.lines.append(
            f"{skip}for ({kind} {name} = {low}, end_{name} = {low} + {extent}; "
            f"{name} < end_{name}; {name} += {by}) {{"
        )
        self._stmt(node.body)
        self.lines.append("}")

    def _skip(self, loop: Any) -> str:
        """A test before a loop that only adds to one element: whether that element is wanted."""
        inside = [loop.loop_var]
        node = loop.body
        while isinstance(node, tirx.For):
            inside.append(node.loop_var)
            node = node.body
        if not isinstance(node, s_tir.SBlockRealize):
            return ""
        block = node.block
        store = block.body
        if not isinstance(store, tirx.BufferStore) or store.buffer not in self.outputs:
            return ""
        values = {
            iter_var.var: value
            for iter_var, value in zip(block.iter_vars, node.iter_values, strict=True)
        }
        indices = []
        for index in store.indices:
            placed = tvm_ffi.structural_map(index, (ir.Var, lambda var: values.get(var, var)))
            used: list[Any] = []
            tvm_ffi.structural_walk(placed, (ir.Var, used.append))
            if any(var in inside or var not in self.names for var in used):
                return ""
            indices.append(self._expr(placed))
        name = self._name(store.buffer)
        place = f"&{name}({', '.join(indices)}) - {name}.p"
        self.skips = True
        return f"if (!need_{name} || need_{name}[{place}]) "

    def _attr(self, node: Any) -> None:
        if node.attr_key not in ("thread_extent", "virtual_thread"):
            raise NotEvaluated(f"the attribute {node.attr_key}")
        kind, name = _type(node.node.var), self._name(node.node.var)
        extent = self._expr(node.value)
        self.lines.append(f"for ({kind} {name} = 0; {name} < {extent}; ++{name}) {{")
        self._stmt(node.body)
        self.lines.append("}")

    def _realize(self, node: Any) -> None:
        block = node.block
        self.lines.append("{")
        first = []
        for iter_var, value in zip(block.iter_vars, node.iter_values, strict=True):
            name = self._name(iter_var.var)
            self.lines.append(f"const {_type(iter_var.var)} {name} = {self._expr(value)};")
            if iter_var.iter_type == iter_var.CommReduce:
                first.append(f"{name} == {self._expr(iter_var.dom.min)}")
        self.lines.append(f"if ({self._expr(node.predicate)}) {{")
        self._block(block, " && ".join(first) or "true")
        self.lines.append("}}")

    def _block(self, block: Any, first: str) -> None:
        for buffer in block.alloc_buffers:
            self.lines += self._declare(buffer, "")
        for match in block.match_buffers:
            source = match.source
            lows = [part.min for part in source.region]
            place = self._place(source.source, lows)
            steps = self.names[source.source]
            skip = len(lows) - len(match.buffer.shape)
            kind, name = _type(match.buffer), self._name(match.buffer)
            dims = ", ".join(self._expr(_as_expr(size)) for size in match.buffer.shape) or "1"
            strides = ", ".join(f"{steps}.stride[{d}]" for d in range(skip, len(lows))) or "1"
            self.lines.append(
                f"const ref_buffer<{kind}, {len(match.buffer.shape)}> {name} = "
                f'{{&{place}, {{{dims}}}, {{{strides}}}, "{match.buffer.name}"}};'
            )
        if block.init is not None:
            self.lines.append(f"if ({first}) {{")
            self._stmt(block.init)
            self.lines.append("}")
        self._stmt(block.body)
        self.lines += [f"free({self._name(buffer)}.p);" for buffer in block.alloc_buffers]

    # Expressions

    def _place(self, buffer: Any, indices: Any) -> str:
        if buffer not in self.names:
            raise NotEvaluated(f"the buffer {buffer.name}, declared outside")
        return f"{self._name(buffer)}({', '.join(self._expr(index) for index in indices)})"

    def _expr(self, node: Any) -> str:
        name = type(node).__name__
        if name == "IntImm":
            suffix = "ull" if str(node.ty).startswith("uint") else "ll"
            return f"(({_type(node)}){int(node.value)}{suffix})"
        if name == "FloatImm":
            return f"(({_type(node)}){_float(float(node.value))})"
        if name == "Var":
            if node not in self.names:
                raise NotEvaluated(f"the variable {node.name}")
            return self.names[node]
        if name in BINARY:
            a, b = self._expr(node.a), self._expr(node.b)
            return f"(({_type(node)})({a} {BINARY[name]} {b}))"
        if name in BINARY_CALLS:
            kind = _type(node)
            a, b = self._expr(node.a), self._expr(node.b)
            return f"{BINARY_CALLS[name]}<{kind}>({a}, {b})"
        if name == "Not":
            return f"(!{self._expr(node.a)})"
        if name == "Cast":
            return self._cast(node)
        if name == "Select":
            parts = (node.condition, node.true_value, node.false_value)
            c, a, b = (self._expr(part) for part in parts)
            return f"({c} ? {a} : {b})"
        if name == "TensorLoad":
            return self._place(node.source, node.indices)
        if name == "Let":
            value = self._expr(node.value)
            return (
                f"([&](const {_type(node.var)} {self._name(node.var)}) REF "
                f"{{ return {self._expr(node.body)}; }}({value}))"
            )
        if isinstance(node, ir.Call):
            return self._call(node)
        raise NotEvaluated(f"a {name} expression")

    def _cast(self, node: Any) -> str:
        value, to, of = self._expr(node.value), str(node.ty), str(node.value.ty)
        kind = _type(node)
        if to == "bool":
            return f"({value} != ({_type(node.value)})0)"
        if to.startswith("float8"):
            return f"{kind}((float){value})"
        if of.startswith(("float8", "float16", "bfloat16")) and not to.startswith("float64"):
            return f"(({kind})(float){value})"
        return f"(({kind}){value})"

    def _call(self, node: Any) -> str:
        full = getattr(node.op, "name", str(node.op))
        op = full.rpartition(".")[2]
        args = node.args
        kind = _type(node)
        if op == "if_then_else":
            c, a, b = (self._expr(arg) for arg in args)
            return f"({c} ? {a} : {b})"
        if op == "likely":
            return self._expr(args[0])
        if op in MATH:
            casts = ["(double)" if _is_real(arg) else "(double)(float)" for arg in args]
            wide = ", ".join(cast + self._expr(arg) for cast, arg in zip(casts, args, strict=True))
            return f"(({kind}){MATH[op]}({wide}))"
        if op in TESTS:
            return f"{TESTS[op]}((double)(float){self._expr(args[0])})"
        if op == "abs":
            return f"(({kind})std::abs({self._expr(args[0])}))"
        if op == "infinity":
            return f"(({kind})__builtin_inff())"
        if op == "reinterpret" and len(args) == 1:
            return f"emu_bits<{kind}>(({_type(args[0])}){self._expr(args[0])})"
        symbols = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "shift_left": "<<",
                   "shift_right": ">>"}  # fmt: skip
        if op in symbols:
            return f"(({kind})({self._expr(args[0])} {symbols[op]} {self._expr(args[1])}))"
        if op == "bitwise_not":
            return f"(({kind})~{self._expr(args[0])})"
        if op == "popcount":
            return f"(({kind})__builtin_popcountll(({_unsigned(args[0])}){self._expr(args[0])}))"
        raise NotEvaluated(f"the operation {full}")


def _type(node: Any) -> str:
    """C++ type of an expression's, variable's or buffer's elements."""
    dtype = getattr(node, "dtype", None)
    name = str(dtype if dtype is not None else node.ty)
    if name not in TYPES:
        raise NotEvaluated(f"the type {name}")
    return TYPES[name]


def _unsigned(node: Any) -> str:
    name = _type(node)
    return name if name.startswith("u") else f"u{name}"


def _is_real(node: Any) -> bool:
    return str(node.ty) in ("float32", "float64") or "int" in str(node.ty)


def _as_expr(value: Any) -> Any:
    return tirx.IntImm("int64", value) if isinstance(value, int) else value


def _free_symbol(value: Any, symbols: list[Any]) -> bool:
    """The value is a variable that nobody gives a value, as an offset may be."""
    return isinstance(value, ir.Var) and value not in symbols


def _float(value: float) -> str:
    if value != value:
        return '__builtin_nan("")'
    if value in (float("inf"), float("-inf")):
        return f"{'-' if value < 0 else ''}__builtin_inf()"
    return value.hex() if value >= 0 else f"({value.hex()})"


def _short(node: Any) -> str:
    return str(node).splitlines()[-1][:60]
