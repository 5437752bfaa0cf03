"""What a scheduled module becomes: kernels, launches, shared memory, host code."""

from __future__ import annotations

from collections.abc import Callable

from explorer.model.cuda_text import kernel_texts, preamble
from explorer.model.result import Build

Builder = Callable[..., Build]

DYNAMIC = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def rows(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 96), "float32")
        B = T.match_buffer(b, (n, 96), "float32")
        for i, j in T.grid(n, T.int64(96)):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
"""
TILED = """
def apply(sch):
    b = sch.get_sblock("B", func_name="rows")
    i, j = sch.get_loops(b)
    sch.bind(i, "blockIdx.y")
    jo, ji = sch.split(j, [None, 32])
    c = sch.cache_read(b, 0, "SCOPE")
    sch.compute_at(c, jo)
    sch.bind(sch.get_loops(c)[-1], "threadIdx.x")
    sch.bind(ji, "threadIdx.x")
"""


def test_a_bound_loop_is_a_kernel_with_its_launch_and_its_own_text(built: Builder) -> None:
    found = built("10", 'def apply(sch):\n    i, j, k = sch.get_loops(sch.get_sblock("C"))\n'
                  '    sch.bind(j, "blockIdx.z")\n    sch.bind(i, "threadIdx.y")\n')  # fmt: skip
    assert (found.status, found.reason) == ("built", "")
    (function,) = found.functions
    (kernel,) = function.kernels
    assert (kernel.name, kernel.grid, kernel.block) == (
        "main_kernel", ("1", "1", "128"), ("1", "128", "1"),
    )  # fmt: skip
    assert (kernel.shared_bytes, kernel.dynamic_shared_bytes, kernel.launches) == (0, 0, "1")
    head = 'extern "C" __global__ void __launch_bounds__(128) main_kernel('
    assert kernel.source.startswith(head)
    assert kernel.source.endswith("}")
    assert kernel.source.count("__global__") == 1
    assert kernel.source in found.source
    assert "call_ffi_kernel" in found.host
    assert "main_kernel" in found.host


def test_two_nests_are_two_kernels_each_with_its_text(built: Builder) -> None:
    found = built("15")
    kernels = found.functions[0].kernels
    assert [kernel.name for kernel in kernels] == ["main_kernel", "main_kernel_1"]
    assert "C_ptr[" in kernels[1].source
    assert "C_ptr[" not in kernels[0].source
    assert "__global__" not in preamble(found.source)
    assert list(kernel_texts(found.source)) == ["main_kernel", "main_kernel_1"]


def test_sizes_make_numbers_of_launch_expressions(built: Builder) -> None:
    open_sizes = built(DYNAMIC, TILED.replace("SCOPE", "shared"))
    kernel = open_sizes.functions[0].kernels[0]
    assert kernel.grid == ("1", "n", "1")
    assert kernel.block == ("32", "1", "1")
    assert kernel.shared_bytes == 128
    given = built(DYNAMIC, TILED.replace("SCOPE", "shared"), {"n": 7})
    assert given.functions[0].kernels[0].grid == ("1", "7", "1")


def test_dynamic_shared_memory_is_told_apart_from_static(built: Builder) -> None:
    kernel = built(DYNAMIC, TILED.replace("SCOPE", "shared.dyn")).functions[0].kernels[0]
    assert (kernel.shared_bytes, kernel.dynamic_shared_bytes) == (0, 128)


def test_a_dynamic_tail_is_an_expression_until_its_size_is_known(built: Builder) -> None:
    found = built("61", "sched", {})
    kernel = found.functions[0].kernels[0]
    assert kernel.grid == ("(n + 31) // 32", "1", "1")
    assert built("61", "sched", {"n": 101}).functions[0].kernels[0].grid == ("4", "1", "1")


def test_shared_memory_over_the_limit_is_counted(built: Builder) -> None:
    assert built("60", "sched").functions[0].kernels[0].shared_bytes == 65536
    unbounded = built("61", "sched")
    assert unbounded.functions[0].kernels[0].shared_bytes > 1 << 32
    assert any(each.severity == "error" for each in unbounded.findings)


def test_functions_not_called_main_and_private_ones_are_built(built: Builder) -> None:
    found = built("09", "default_gpu")
    scale = next(function for function in found.functions if function.name == "scale")
    assert scale.status == "built"
    assert scale.kernels[0].name == "scale_kernel"


def test_all_functions_share_one_text_and_keep_their_kernels(built: Builder) -> None:
    found = built("79", "sched")
    assert found.status == "built"
    names = [kernel.name for function in found.functions for kernel in function.kernels]
    assert sorted(names) == sorted(kernel_texts(found.source))
    assert all(k.source for function in found.functions for k in function.kernels)
    assert found.source.count("#ifdef __CUDACC_RTC__") == 1


def test_bfloat16_is_built_once_it_is_bound(built: Builder) -> None:
    found = built("70", "default_gpu")
    assert found.status == "built"
    assert "nv_bfloat16" in found.functions[0].kernels[0].source


def test_llvm_shows_its_own_code(built: Builder) -> None:
    from explorer.targets.host import LLVM

    found = built("10", target=LLVM)
    assert found.status == "built"
    assert "define" in found.source
    bound = built("15", target=LLVM)
    assert bound.status == "failed"
    assert "threadIdx.x: a CPU has no such axes" in bound.reason
