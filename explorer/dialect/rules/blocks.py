"""Rules on blocks: the block's own name, and the axes that 2021's blocks had in their head."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explorer.dialect.code import Code, dotted
from explorer.dialect.rules.base import Change, Context, call_text, parents, rule
from explorer.dialect.script import Edit
from explorer.errors import LoadError

_KINDS = {"T.reduce_axis": "reduce", "T.scan_axis": "scan", "T.opaque_axis": "opaque"}
_BLOCKS = {"T.block", "T.sblock"}


@rule(
    "block-axes",
    era="2021",
    before='with T.block([64, T.reduce_axis(0, 64)], "C") as [vi, vk]:',
    after=(
        "for i, k in T.grid(64, 64):\n"
        '    with T.block("C"):\n'
        "        vi = T.axis.spatial(64, i)\n"
        "        vk = T.axis.reduce(64, k)"
    ),
    why=(
        "Blocks had their axes in the head, and loops were made for a block that had none; "
        "today both are written out."
    ),
)
def block_axes(code: Code, context: Context) -> list[Change]:
    """Axes in the head become `T.axis` lines; `T.bind` gives their values; loops are made.

    As the parser of 2021 did: without `T.bind` the axes take the loops around the block, in
    order, or loops of their own when there are none.  One block per pass, outermost first.
    """
    up = parents(code.tree)
    for node in ast.walk(code.tree):
        if isinstance(node, ast.With) and len(node.items) == 1:
            call = node.items[0].context_expr
            if (
                isinstance(call, ast.Call)
                and dotted(call.func) in _BLOCKS
                and _axes(call) is not None
            ):
                return [_write_out(code, node, call, up)]
    return []


def _axes(call: ast.Call) -> list[ast.expr] | None:
    first = call.args[0] if call.args else None
    return first.elts if isinstance(first, ast.List | ast.Tuple) else None


def _write_out(code: Code, node: ast.With, call: ast.Call, up: dict[ast.AST, ast.AST]) -> Change:
    axes = _axes(call) or []
    names = _names(code, node.items[0].optional_vars)
    if len(names) != len(axes):
        raise LoadError(
            f"The block has {len(axes)} axes and {len(names)} names.",
            "A block of the 2021 dialect names each of its axes.",
            "Write one name per axis, or today's form: T.grid loops and T.axis.remap.",
            line=code.line(node),
        )
    binds = {
        stmt.value.args[0].id: stmt
        for stmt in node.body
        if isinstance(stmt, ast.Expr)
        and isinstance(stmt.value, ast.Call)
        and dotted(stmt.value.func) == "T.bind"
        and len(stmt.value.args) == 2
        and isinstance(stmt.value.args[0], ast.Name)
    }
    domains = [_domain(code, axis) for axis in axes]
    loops = _loops_around(node, up)
    made: list[str] = []
    if set(binds) == set(names):
        values = [code.source(binds[name].value.args[1]) for name in names]  # type: ignore[attr-defined]
    elif binds:
        missing = next(name for name in names if name not in binds)
        raise LoadError(
            f"The axis {missing} of this block has no value.",
            "Other axes of the block are bound.",
            f"Add T.bind({missing}, …), or write T.axis lines for all axes.",
            line=code.line(node),
        )
    elif len(loops) == len(names):
        values = loops
    elif not loops:
        if any(begin != "0" for _, begin, _ in domains):
            raise LoadError(
                "This block of the 2021 dialect has no loops, and an axis that starts elsewhere.",
                "Loops can only be made for axes that start at 0.",
                "Write T.grid loops around the block and T.axis lines in it.",
                line=code.line(node),
            )
        made = values = _loop_names(names, node, _function(node, up))
    else:
        raise LoadError(
            f"This block of the 2021 dialect has {len(names)} axes inside {len(loops)} loops.",
            "Which loop drives which axis is not said.",
            'Write it in the block: vi, vj = T.axis.remap("SS", [i, j]).',
            line=code.line(node),
        )
    lines = [
        f"{name} = T.axis.{kind}({end if begin == '0' else f'({begin}, {end})'}, {value})"
        for name, (kind, begin, end), value in zip(names, domains, values, strict=True)
    ]
    head = f"with {call_text(code, dotted(call.func), call.args[1:], call.keywords)}"
    return _edits(
        code,
        node,
        head,
        lines,
        made,
        [end for _, _, end in domains],
        [binds[name] for name in names if name in binds],
    )


def _edits(
    code: Code,
    node: ast.With,
    head: str,
    lines: list[str],
    made: list[str],
    extents: list[str],
    binds: list[ast.Expr],
) -> Change:
    """The head rewritten, axis lines in place of the binds or at the start, loops around."""
    step = "    " if made else ""
    item = node.items[0]
    start, end = code.start(node), code.end(item.optional_vars or item.context_expr)
    loop = ""
    if made:
        over = f"T.grid({', '.join(extents)})" if len(made) > 1 else f"range({extents[0]})"
        loop = f"for {', '.join(made)} in {over}:"
    opening = f"{loop}\n{code.indent(node)}{step}" if made else ""
    edits = [Edit(start, end, opening + head)]
    if binds:
        edits += [code.replace(stmt, line) for stmt, line in zip(binds, lines, strict=True)]
    else:
        first = node.body[0]
        at = code.start(first)
        edits.append(Edit(at, at, "".join(f"{ln}\n{code.indent(first)}{step}" for ln in lines)))
    if made:
        for number in range(node.lineno + 1, (node.end_lineno or node.lineno) + 1):
            at = code.offset(number, 0)
            if at >= end and code.text[at : at + 1] == " ":
                edits.append(Edit(at, at, step))
    shown = [loop] if made else []
    shown += [f"{step}{head}:", *(f"{step}    {line}" for line in lines)]
    return Change(tuple(edits), code.text[start:end] + ":", "\n".join(shown))


def _names(code: Code, target: ast.expr | None) -> list[str]:
    match target:
        case None:
            return []
        case ast.Name(id=name):
            return [name]
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            return [code.source(one) for one in elts]
    return []


def _domain(code: Code, axis: ast.expr) -> tuple[str, str, str]:
    """Kind, begin and end of an axis as text."""
    kind, ends = "spatial", [axis]
    match axis:
        case ast.Call(func=func, args=args) if dotted(func) in {*_KINDS, "T.range"} and args:
            kind, ends = _KINDS.get(dotted(func), "spatial"), args
        case ast.Tuple(elts=[_, _]) | ast.List(elts=[_, _]):
            ends = axis.elts
    begin = code.source(ends[0]) if len(ends) == 2 else "0"
    return kind, begin, code.source(ends[-1])


def _loops_around(node: ast.AST, up: dict[ast.AST, ast.AST]) -> list[str]:
    """Loop variables between the block and the block or function around it, outermost first."""
    found: list[str] = []
    at = up.get(node)
    while at is not None and not isinstance(at, ast.FunctionDef):
        if isinstance(at, ast.With) and any(
            isinstance(item.context_expr, ast.Call) and dotted(item.context_expr.func) in _BLOCKS
            for item in at.items
        ):
            break
        if isinstance(at, ast.For):
            names = [n.id for n in ast.walk(at.target) if isinstance(n, ast.Name)]
            found = names + found
        at = up.get(at)
    return found


def _function(node: ast.AST, up: dict[ast.AST, ast.AST]) -> ast.AST:
    while not isinstance(node, ast.FunctionDef) and node in up:
        node = up[node]
    return node


def _loop_names(axes: list[str], node: ast.With, function: ast.AST) -> list[str]:
    """Loop names after the axes' names (`vi` gives `i`), free in and around the block.

    Loops of other blocks may have the same names; no loops are around this one.
    """
    in_loops = {
        name
        for loop in ast.walk(function)
        if isinstance(loop, ast.For)
        for name in ast.walk(loop.target)
    }
    elsewhere = {
        name.id
        for name in ast.walk(function)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store) and name not in in_loops
    }
    params = {arg.arg for arg in ast.walk(function) if isinstance(arg, ast.arg)}
    inside = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
    taken = params | inside | elsewhere | {"T", "I", "R", "range"}
    names: list[str] = []
    for n, axis in enumerate(axes):
        stem = axis[1:] if axis.startswith("v") and axis[1:].isidentifier() else f"i{n}"
        name, count = stem, 0
        while name in taken:
            count += 1
            name = f"{stem}_{count}"
        taken.add(name)
        names.append(name)
    return names


@rule(
    "block",
    era="2021 to 2025",
    before='with T.block("C"):',
    after='with T.sblock("C"):',
    why="A schedulable block is called T.sblock since 0.24.",
)
def block(code: Code, context: Context) -> Iterator[Edit]:
    """`T.block`."""
    for node in ast.walk(code.tree):
        if isinstance(node, ast.Attribute) and dotted(node) == "T.block":
            yield code.replace(node, "T.sblock")


@rule(
    "access-list",
    era="2021 to 2022",
    before="T.reads([A[vi], B[vi]])",
    after="T.reads(A[vi], B[vi])",
    why="The regions are arguments of their own.",
)
def access_list(code: Code, context: Context) -> Iterator[Edit]:
    """`T.reads([…])` and `T.writes([…])`."""
    for call in code.calls("T.reads", "T.writes"):
        if len(call.args) == 1 and isinstance(call.args[0], ast.List):
            yield code.replace(call, call_text(code, dotted(call.func), call.args[0].elts, []))


@rule(
    "unused-reducer",
    era="2021 to 2022",
    before="reducer = T.comm_reducer(lambda x, y: x + y, T.float32(0))",
    after="",
    why="A reducer only named a reduction; nothing uses it here.",
)
def unused_reducer(code: Code, context: Context) -> Iterator[Edit]:
    """An assigned `T.comm_reducer` that nothing reads."""
    for func in code.functions():
        read = {
            n.id for n in ast.walk(func) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
        }
        for stmt in func.body:
            match stmt:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=made)):
                    if dotted(made) == "T.comm_reducer" and name not in read and len(func.body) > 1:
                        yield code.remove_statement(stmt)
