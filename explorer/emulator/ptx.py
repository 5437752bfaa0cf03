"""Inline PTX → calls of the emulator.

Each `asm` statement is taken apart into its instructions and operands; an instruction that is not
known makes the text unsupported, by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from explorer.emulator.text import Unsupported, blank_comments, closing, split_top

_ASM = re.compile(r"\b(?:__asm__|asm)\b\s*(?:__volatile__|volatile)?\s*(?=\()")


class Statement(msgspec.Struct, frozen=True):
    """One asm statement: its PTX without line breaks, and its operands as C++ expressions."""

    ptx: str
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]

    def operand(self, reference: str) -> str:
        """The C++ expression of `%n`, or a literal as it is.  Raises Unsupported."""
        found = re.fullmatch(r"%(\d+)", reference.strip())
        if not found:
            return reference.strip()
        operands = self.outputs + self.inputs
        if int(found.group(1)) >= len(operands):
            raise Unsupported(f"inline PTX with a missing operand {reference}")
        return operands[int(found.group(1))]

    def operands(self, group: str) -> list[str]:
        """The expressions of `{%0, %1, …}` or of a single register."""
        return [self.operand(each) for each in group.strip(" {}").split(",")]


def translate_asm(cuda: str) -> str:
    """The text with every asm statement replaced.  Raises Unsupported, naming the instruction."""
    plain = blank_comments(cuda)
    out, last = [], 0
    for found in _ASM.finditer(plain):
        if found.start() < last or plain[: found.start()].endswith(("#ifndef ", "#define ")):
            continue
        end = closing(cuda, found.end())
        statement = _parse(cuda[found.end() + 1 : end])
        after = plain.find(";", end)
        lines = "\n" * cuda.count("\n", found.start(), after)
        out += [cuda[last : found.start()], _call(statement), lines]
        last = after + 1
    out.append(cuda[last:])
    return "".join(out)


def _parse(body: str) -> Statement:
    # A choice between two spellings of one copy, made by the preprocessor inside the statement.
    body = re.sub(r"#else.*?#endif", "", body, flags=re.S)
    body = re.sub(r"^\s*#\w.*$", "", body, flags=re.M)
    parts = split_top(body, ":")
    strings = re.findall(r'"((?:\\.|[^"\\])*)"', parts[0])
    ptx = " ".join("".join(strings).replace("\\n", " ").replace("\\t", " ").split())
    return Statement(
        ptx,
        _operands(parts[1] if len(parts) > 1 else ""),
        _operands(parts[2] if len(parts) > 2 else ""),
    )


def _operands(part: str) -> tuple[str, ...]:
    found = []
    for each in split_top(part, ","):
        match = re.match(r'\s*"[^"]*"\s*(\(.*\))\s*$', each, re.S)
        if match:
            found.append(match.group(1))
    return tuple(found)


def _call(statement: Statement) -> str:
    for pattern, write in _KNOWN:
        found = pattern.fullmatch(statement.ptx.strip().rstrip(";").strip())
        if found:
            return write(statement, found)
    name = re.search(r"[a-z][\w]*(?:\.[\w:]+)+", statement.ptx)
    raise Unsupported(f"the PTX instruction {name.group(0) if name else statement.ptx[:60]!r}")


# Instructions

_TYPES = {"f16": "emu_f16", "bf16": "emu_bf16", "tf32": "emu_tf32", "s8": "emu_s8",
          "u8": "emu_u8", "e4m3": "emu_e4m3", "e5m2": "emu_e5m2"}  # fmt: skip
_ACC = {"f32": ("float", "float"), "f16": ("float", "half"), "s32": ("int", "int")}
_SHAPES = {
    (16, 8, 4), (16, 8, 8), (16, 8, 16), (16, 8, 32), (8, 8, 16),
}  # fmt: skip


def _mma(statement: Statement, found: re.Match[str]) -> str:
    m, n, k = (int(found[axis]) for axis in "mnk")
    name = f"mma.sync m{m}n{n}k{k} {found['d']}.{found['a']}.{found['b']}.{found['c']}"
    if (m, n, k) not in _SHAPES or found["d"] != found["c"] or found["c"] not in _ACC:
        raise Unsupported(f"the PTX instruction {name}")
    if found["a"] not in _TYPES or found["b"] not in _TYPES:
        raise Unsupported(f"the PTX instruction {name}")
    d, a, b, c = (statement.operands(found[part]) for part in ("D", "A", "B", "C"))
    acc, kind = _ACC[found["c"]]
    count = {"f16": 2, "bf16": 2, "tf32": 1}.get(found["a"], 4)
    expected = (m * k // (32 * count), n * k // (32 * count))
    if (len(a), len(b)) != expected or len(d) != len(c):
        raise Unsupported(f"{name} with {len(a)}, {len(b)} and {len(c)} registers")
    lines = [f"emu_mma_regs<{len(a)}, {len(b)}, {len(c)}> emu_r;"]
    for part, values in (("a", a), ("b", b), ("c", c)):
        lines += [f"emu_r.{part}[{i}] = emu_bits<unsigned>({v});" for i, v in enumerate(values)]
    lines.append(
        f"emu_mma<{m}, {n}, {k}, {_TYPES[found['a']]}, {_TYPES[found['b']]}, {acc}, {kind}>"
        "(emu_r, __LINE__);"
    )
    lines += [
        f"{v} = emu_bits<std::remove_reference<decltype({v})>::type>(emu_r.d[{i}]);"
        for i, v in enumerate(d)
    ]
    return "{ " + " ".join(lines) + " }"


def _ldmatrix(statement: Statement, found: re.Match[str]) -> str:
    out = statement.operands(found["D"])
    if len(out) != int(found["x"]):
        raise Unsupported(f"ldmatrix.x{found['x']} with {len(out)} registers")
    trans = "true" if found["trans"] else "false"
    copies = " ".join(f"{v} = emu_r[{i}];" for i, v in enumerate(out))
    address = statement.operand(found["A"])
    return (
        f"{{ unsigned emu_r[{len(out)}]; "
        f"emu_ldmatrix<{len(out)}, {trans}>(emu_r, {address}, __LINE__); {copies} }}"
    )


def _cp_async(statement: Statement, found: re.Match[str]) -> str:
    to, source = statement.operand(found["to"]), statement.operand(found["source"])
    size = statement.operand(found["size"])
    taken = statement.operand(found["taken"]) if found["taken"] else size
    return (
        f"emu_cp_async(emu_shared_pointer((unsigned)({to})), (const void*)({source}), "
        f"(int)({size}), (int)({taken}));"
    )


def _guarded_cp_async(statement: Statement, found: re.Match[str]) -> str:
    guard = statement.operand(found["guard"])
    copy = _cp_async(statement, found)
    address = statement.operand(found["to"])
    zero = ""
    if found["zero"]:
        width = {"v4.u32": 16, "v2.u32": 8, "u32": 4, "u64": 8, "u16": 2, "u8": 1}
        if found["zero"] not in width:
            raise Unsupported(f"the PTX instruction st.shared.{found['zero']}")
        zero = f" else emu_zero_shared((unsigned)({address}), {width[found['zero']]});"
    return f"if ({guard}) {{ {copy} }}{zero}"


def _dp4a(statement: Statement, found: re.Match[str]) -> str:
    signs = ", ".join("signed char" if found[x] == "s" else "unsigned char" for x in "ab")
    out, a, b, c = (statement.operand(f"%{n}") for n in range(4))
    return f"{out} = emu_dp4a<{signs}>((unsigned){a}, (unsigned){b}, (int){c});"


def _rule(
    pattern: str, write: Callable[[Statement, re.Match[str]], str]
) -> tuple[re.Pattern[str], Callable[[Statement, re.Match[str]], str]]:
    return re.compile(pattern.replace("REG", r"(?:\{[^}]*\}|%\d+)").replace(" ", r"\s*")), write


_COPY = (
    r"cp\.async\.c[ag]\.shared(?:::cta)?\.global(?:\.L2::\w+)? "
    r"\[ (?P<to>%\d+) \] , \[ (?P<source>%\d+) \] , (?P<size>%\d+|\d+)( , (?P<taken>%\d+))? ;? "
)
_KNOWN = (
    _rule(
        r"mma\.sync\.aligned\.m(?P<m>\d+)n(?P<n>\d+)k(?P<k>\d+)\.row\.col(?:\.satfinite)?"
        r"\.(?P<d>\w+)\.(?P<a>\w+)\.(?P<b>\w+)\.(?P<c>\w+) "
        r"(?P<D>REG) , (?P<A>REG) , (?P<B>REG) , (?P<C>REG) ",
        _mma,
    ),
    _rule(
        r"ldmatrix\.sync\.aligned\.m8n8\.x(?P<x>[124])(?P<trans>\.trans)?\.shared(?:::cta)?\.b16 "
        r"(?P<D>REG) , \[ (?P<A>%\d+) \] ",
        _ldmatrix,
    ),
    _rule(_COPY, _cp_async),
    _rule(
        r"\{ \.reg \.pred p ; setp\.ne\.b32 p , (?P<guard>%\d+) , 0 ; @p " + _COPY
        + r"(@!p st\.shared\.(?P<zero>[\w.]+) \[ %\d+ \] , (\{[^}]*\}|%\d+|0) ; )?\}",
        _guarded_cp_async,
    ),
    _rule(r"dp4a\.(?P<a>[us])32\.(?P<b>[us])32 %0 , %1 , %2 , %3 ", _dp4a),
    _rule(r"cp\.async\.commit_group ", lambda s, f: "emu_cp_commit();"),
    _rule(
        r"cp\.async\.wait_group (?P<n>%\d+|\d+) ",
        lambda s, f: f"emu_cp_wait({s.operand(f['n'])});",
    ),
    _rule(r"cp\.async\.wait_all ", lambda s, f: "emu_cp_wait(-1);"),
    _rule(
        r"\{ \.reg \.u64 (?P<v>\w+) ; cvta\.to\.shared\.u64 (?P=v) , (?P<from>%\d+) ; "
        r"cvt\.u32\.u64 (?P<to>%\d+) , (?P=v) ; \}",
        lambda s, f: f"{s.operand(f['to'])} = emu_shared_address({s.operand(f['from'])});",
    ),
)  # fmt: skip
