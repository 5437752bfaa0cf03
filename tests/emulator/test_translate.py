"""What changes in a CUDA text, and what the emulator refuses by name."""

from __future__ import annotations

import pytest

from explorer.emulator.ptx import translate_asm
from explorer.emulator.text import Unsupported, blank_comments, split_top
from explorer.emulator.translate import translate

KERNEL = 'extern "C" __global__ void __launch_bounds__(32) k(float* a) {{ {} }}'


def body(text: str) -> str:
    return translate(KERNEL.format(text)).cpp


def test_shared_arrays_come_from_the_runtime() -> None:
    cpp = body("__shared__ alignas(64) float s[16][17]; s[0][0] = a[0];")
    assert "auto& s = *(float(*)[16][17])emu_static_shared(" in cpp
    assert 'emu_static_shared("s", sizeof(float[16][17]), sizeof(float))' in cpp


def test_dynamic_shared_memory() -> None:
    cpp = body("extern __shared__ alignas(64) uchar buf_dyn_shmem[];")
    assert 'uchar* buf_dyn_shmem = (uchar*)emu_dynamic_shared("buf_dyn_shmem"' in cpp


def test_each_kernel_gets_an_entry_once() -> None:
    declared = 'extern "C" __global__ void k(int* a);\n' + KERNEL.format("")
    program = translate(declared)
    assert program.kernels == ("k",)
    assert program.cpp.count("EMU_KERNEL(k)") == 1


def test_the_architecture_reaches_the_text() -> None:
    assert translate(KERNEL.format(""), "sm_90a").cpp.startswith("#define __CUDA_ARCH__ 900\n")


def test_lines_stay_where_they_are() -> None:
    text = "\n\n" + KERNEL.format('\nasm volatile("cp.async.wait_all;"\n  ::);\n int last;')
    out = translate_asm(text)
    assert out.splitlines().index(" int last; }") == text.splitlines().index(" int last; }")


@pytest.mark.parametrize(
    ("ptx", "call"),
    [
        ('asm volatile("cp.async.commit_group;");', "emu_cp_commit();"),
        ('__asm__ __volatile__("cp.async.wait_group 2;");', "emu_cp_wait(2);"),
        (
            'asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2;" '
            ':: "r"(to), "l"((void*)(p + 1)), "n"(16));',
            "emu_cp_async(emu_shared_pointer((unsigned)((to))), (const void*)(((void*)(p + 1))), "
            "(int)((16)), (int)((16)));",
        ),
        (
            'asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16" "{%0}, [%1];\\n" '
            ': "=r"(r[0]) : "r"(addr));',
            "emu_ldmatrix<1, true>(emu_r, (addr), __LINE__);",
        ),
        (
            'asm volatile("{ .reg .u64 addr; cvta.to.shared.u64 addr, %1; '
            'cvt.u32.u64 %0, addr; }\\n" : "=r"(addr) : "l"((void *)(s)));',
            "(addr) = emu_shared_address(((void *)(s)));",
        ),
    ],
)
def test_ptx_becomes_calls(ptx: str, call: str) -> None:
    assert call in translate_asm(ptx)


def test_a_guarded_copy_keeps_its_guard_and_its_zeros() -> None:
    ptx = (
        '__asm__ __volatile__("{  .reg .pred p;" "  setp.ne.b32 p, %0, 0;"\n'
        "#if TVM_ENABLE_L2_PREFETCH\n"
        '" @p cp.async.cg.shared.global.L2::128B [%1], [%2], %3;"\n'
        "#else\n"
        '" @p cp.async.cg.shared.global [%1], [%2], %3;"\n'
        "#endif\n"
        '"  @!p st.shared.v4.u32 [%1], {%4, %5, %6, %7};}"\n'
        ':: "r"(guard), "r"(addr), "l"(p), "n"(16), "r"(0), "r"(0), "r"(0), "r"(0));'
    )
    out = translate_asm(ptx)
    assert out.startswith("if ((guard)) { emu_cp_async(")
    assert "else emu_zero_shared((unsigned)((addr)), 16);" in out


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('asm volatile("bar.sync 1, 64;");', "bar.sync"),
        ('asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(x));', "mbarrier.init"),
        (
            'asm volatile("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0}, {%1}, {%2}, {%3};"'
            ' : "=f"(d) : "r"(x), "r"(x), "f"(d));',
            "mma.sync m8n8k4",
        ),
        ("cooperative_groups::this_grid().sync();", "cooperative groups"),
        ("__shared__ float a[4], b[4];", "__shared__ float a[4], b[4]"),
    ],
)
def test_the_unknown_is_named(text: str, named: str) -> None:
    with pytest.raises(Unsupported, match=named.replace("[", r"\[")):
        translate(KERNEL.format(text))


def test_comments_are_blanked_and_strings_are_not() -> None:
    assert blank_comments('a /* b\nc */ "//" // d') == 'a     \n     "//"     '


def test_splitting_respects_brackets_and_strings() -> None:
    assert split_top('f(a, b), "x,y", {c, d}', ",") == ["f(a, b)", ' "x,y"', " {c, d}"]
