"""Error messages that TVM, NVRTC, ptxas and the CUDA driver print, and what they mean.

One row a message: a kind, a pattern, then what, why and what to do.  Named groups of the pattern
fill the placeholders.  The first row that is found in a text counts, so causes stand before what
follows from them.
"""

from __future__ import annotations

import re

BIND = "Bind a spatial loop to blockIdx.x or threadIdx.x, or apply DefaultGPUSchedule or dlight."
_OLD_NAMES = {
    "block": "T.sblock",
    "alloc_buffer": "T.sblock_alloc_buffer",
    "block_attr": "T.sblock_attr",
    "get_block": "get_sblock",
}

Row = tuple[str, str, str, str, str]

MESSAGES: tuple[Row, ...] = (
    (
        "not_bound",
        r"Did you forget to bind\?|Memory verification failed|"
        r"is directly accessed by (?:host|device) memory",
        "Nothing is bound to the GPU: code of the host would use memory of the GPU{variables}.",
        "A GPU runs only what is inside loops bound to blockIdx or threadIdx. TVM 0.27 does not"
        " complain any more: it builds such a module without a kernel.",
        BIND,
    ),
    (
        "global_scratch",
        r"Cannot allocate global memory when targeting CUDA",
        "A kernel would make a buffer in global memory, which kernels can't allocate.",
        "That happens after compute_at, or when one bound loop holds both its writer and reader.",
        'Move it with set_scope to "shared" or "local", or make it an argument.',
    ),
    (
        "duplicated_root",
        r"Duplicated block name (?P<block>\w+)(?: in function (?P<function>\w+))?",
        "DefaultGPUSchedule gives up a function with more than one loop nest.",
        "TVM 0.27 wraps the root block a second time and finds two blocks called {block}.",
        "Use dlight, or DefaultGPUSchedule from here: it works around this.",
    ),
    (
        "root_loops",
        r"Cannot add loops on top of the root block",
        "DefaultGPUSchedule can't put a loop around a statement without loops.",
        "The function holds a block directly under its root.",
        "Give the block a loop with add_unit_loop, or bind for yourself.",
    ),
    (
        "shared_memory",
        r"uses too much shared data \(0x(?P<used>[0-9a-f]+) bytes, 0x(?P<most>[0-9a-f]+) max\)",
        "A kernel uses {used} bytes of shared memory; {most} are allowed.",
        "TVM does not check this limit; ptxas does.",
        'Make the tile smaller, or set the scope to "shared.dyn", which may have more.',
    ),
    (
        "too_many_resources",
        r"too many resources requested for launch|CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
        "The block needs more registers or shared memory than an SM has.",
        "Registers a thread times threads a block is limited to 65536.",
        "Launch fewer threads a block, or unroll and vectorize less.",
    ),
    (
        "too_many_threads",
        r"[Mm]axThreadsPerBlock|exceeds? (?:the )?max(?:imum)?[_ ]threads|"
        r"Used threads per block .* exceeds",
        "The block has more threads than the GPU allows.",
        "CUDA allows 1024 threads a block.",
        "Split the loop and bind only an inner part of up to 1024 iterations to threadIdx.",
    ),
    (
        "invalid_value",
        r"CUDA_ERROR_INVALID_VALUE|cudaErrorInvalid(?:Value|Configuration)|"
        r"invalid configuration argument",
        "The kernel was launched with a configuration that CUDA does not allow{launch}.",
        "A block has at most 1024 threads, gridDim.y and gridDim.z at most 65535, and no extent"
        " may be 0.",
        "Split the bound loops, or bind the long one to blockIdx.x.",
    ),
    (
        "illegal_address",
        r"CUDA_ERROR_ILLEGAL_ADDRESS|an illegal memory access was encountered|"
        r"cudaErrorIllegalAddress",
        "A kernel read or wrote outside its buffers.",
        "Usual causes: a tail without a guard, thread extents that differ within a kernel, or host"
        " code that uses memory of the GPU. The error sticks to the process: restart it.",
        "Open the module here: the check runs the kernel and names buffer, index and thread.",
    ),
    (
        "misaligned",
        r"CUDA_ERROR_MISALIGNED_ADDRESS|misaligned address",
        "A kernel used a vector access at an address that is no multiple of its size.",
        "Rows whose length is no multiple of the vector's break the alignment.",
        "Vectorize by less, or pad the buffer with storage_align.",
    ),
    (
        "launch_failed",
        r"CUDA_ERROR_LAUNCH_FAILED|unspecified launch failure|CUDA_ERROR_LAUNCH_TIMEOUT",
        "A kernel broke off while it ran.",
        "Most often it left its buffers, or ran too long for a GPU that drives a screen.",
        "Open the module here: the check runs the kernel and says what goes wrong.",
    ),
    (
        "wrong_architecture",
        r"CUDA_ERROR_(?:NO_BINARY_FOR_GPU|INVALID_PTX|UNSUPPORTED_PTX_VERSION)|"
        r"no kernel image is available",
        "The kernel was compiled for another GPU than the one it runs on, or not accepted by it.",
        "A binary for one architecture does not run on another.",
        'Give the target the GPU\'s own arch, e.g. "sm_89".',
    ),
    (
        "out_of_memory",
        r"CUDA_ERROR_OUT_OF_MEMORY|CUDA: out of memory",
        "The GPU has no memory left.",
        "",
        "Use smaller sizes, or free what other programs hold.",
    ),
    (
        "no_device",
        r"CUDA_ERROR_NO_DEVICE|no CUDA-capable device|Device API cuda is not enabled|"
        r"Cannot detect local CUDA GPU|No CUDA device",
        "There is no GPU that TVM could use.",
        "Either the machine has none, its driver is missing, or TVM was built without CUDA.",
        "Building, checking and exporting need no GPU here; only timing does.",
    ),
    (
        "c_type",
        r"does not have a corresponding C Type",
        "Code was made for a function that can't be called from outside.",
        "A module of private functions only has no entry: TVM has no C type for it.",
        "Give the function a global_symbol (drop private=True).",
    ),
    (
        "no_candidates",
        r"(?:[Nn]o|0) valid (?:candidates?|schedules?|tuning records?)|"
        r"[Cc]ould not find any valid schedule",
        "MetaSchedule found no schedule that builds and runs.",
        "The builders may have run out of time (a busy machine), the target may lack its limits,"
        " or no rule fits the shapes (tensor cores want multiples of 16).",
        "Raise the builder's time limit, name a full target tag, or use dlight.",
    ),
    (
        "target_limits",
        r"(?P<name>max_threads_per_block|max_shared_memory_per_block|thread_warp_size)"
        r"(?:\.(?:defined|has_value)\(\)|.{0,40}(?:missing|not defined|is not set|required))|"
        r"missing attribute .?(?P<other>max_\w+)",
        "The target does not say its limits ({name}).",
        "A target of kind and arch alone has none; rules that size a block need them.",
        'Use a tag such as "nvidia/geforce-rtx-4090".',
    ),
    (
        "integer_types",
        r"\((?:int64 vs\. int32|int32 vs\. int64)\)",
        "64-bit and 32-bit integers meet in one expression.",
        "Symbolic sizes are int64, loops made by a rule int32.",
        "Make all sizes and loop variables of one type, e.g. T.int64.",
    ),
    (
        "bfloat16_host",
        r"dtype mismatch on BufferStore.*bfloat16",
        "Host code would compute in bfloat16, which the host can't.",
        "The block is not bound, so it became host code.",
        BIND,
    ),
    (
        "vector_types",
        r"source_buffer->dtype\.WithLanes|Unsupported vector|cannot be vectorized",
        "A vector of this type or length has no counterpart in CUDA.",
        "Vectorized bool, int64 and 8-bit casts are the usual ones.",
        "Vectorize by less, or not at all.",
    ),
    (
        "free_variable",
        r"Not all Vars are passed in api_args|variable \w+ has been used, but",
        "The kernel uses a size or index that nobody gives it.",
        "Usually a symbolic size that no argument's shape names.",
        "Name the size in the shape of an argument, or make it an argument.",
    ),
    (
        "argument_shape",
        r"unsatisfied constraint|Argument \S+ (?:shape|ndim|dtype)|Mismatched \S+ on argument",
        "The kernel was called with arguments of another shape or type than the module says.",
        "",
        "Compare the arrays with the buffers in the function's signature.",
    ),
    (
        "old_module_path",
        r"[Mm]odule 'tvm' has no attribute '(?P<name>tir|te|relay|nd|script)'|"
        r"No module named 'tvm\.(?P<other>[\w.]+)'",
        "tvm.{name} is not there in TVM 0.27.",
        "tir became tvm.tirx and tvm.s_tir; relay is gone.",
        "Paste the module: old names in it are rewritten here.",
    ),
    (
        "old_name",
        r"module '[^']*' has no attribute '(?P<name>block|alloc_buffer|block_attr)'|"
        r"'Schedule' object has no attribute '(?P<other>get_block)'",
        "{name} has another name in TVM 0.27: {new_name}.",
        "",
        "Paste the module: old names in it are rewritten here.",
    ),
    (
        "dlight_fault",
        r"'(?P<name>FloorDiv|FloorMod|NoneType)' object (?:has no attribute 'value'"
        r"|is not iterable|is not subscriptable)",
        "A dlight rule met an expression it does not expect ({name}) and gave up the module.",
        "One rule that fails stops the whole pass in TVM 0.27.",
        "Use dlight from here: each rule is tried by itself, and the others still apply.",
    ),
    (
        "unknown_attribute",
        r"AttributeError: module '(?P<module>[^']*)' has no attribute '(?P<name>\w+)'",
        "{name} does not exist in {module} of this TVM.",
        "Names moved between TVM's versions.",
        "Paste the module itself: what was renamed is rewritten here.",
    ),
    (
        "cuda_text",
        r"kernel\.cu\((?P<line>\d+)\): (?:catastrophic )?error: (?P<said>[^\n]+)"
        r"|\.cu\(\d+\): error: (?P<other>[^\n]+)|ptxas (?:error|fatal)\s*: (?P<ptxas>[^\n]+)",
        "NVIDIA's compiler refuses the kernel that TVM wrote: {name}.",
        "TVM does not compile what it writes.",
        "Open the module with its schedule here: the step that caused it is named.",
    ),
    (
        "crash",
        r"[Ss]egmentation fault|SIGSEGV|core dumped",
        "TVM or a kernel crashed.",
        "tvm-ffi 0.1.15 crashes in tensorize; a kernel run on the CPU may leave its buffers.",
        "Use the versions of requirements.txt; open the module here, where a crash costs nothing.",
    ),
)  # fmt: skip


def new_name(old: str) -> str:
    """What TVM 0.27 calls it."""
    return _OLD_NAMES.get(old, old)


def variables(text: str) -> list[str]:
    """The buffers that a memory verification complains about."""
    return list(dict.fromkeys(re.findall(r"Variable [`'\"](\w+)[`'\"] is directly", text)))


_LAUNCH = re.compile(
    r"grid=\((\d+),\s*(\d+),\s*(\d+)\),?\s*block=\((\d+),\s*(\d+),\s*(\d+)\)", re.IGNORECASE
)


def launch(text: str) -> str:
    """What is wrong with a launch configuration printed in `text`, as ": …", or ""."""
    found = _LAUNCH.search(text)
    if found is None:
        return ""
    gx, gy, gz, bx, by, bz = map(int, found.groups())
    wrong = []
    if bx * by * bz > 1024:
        wrong.append(f"{bx * by * bz} threads a block")
    wrong += [f"blockDim.z is {bz}"] if bz > 64 else []
    wrong += [f"gridDim.{axis} is {n}" for axis, n in (("y", gy), ("z", gz)) if n > 65535]
    wrong += ["an extent is 0"] if 0 in (gx, gy, gz, bx, by, bz) else []
    return f": {', '.join(wrong)}" if wrong else f": grid {gx}×{gy}×{gz}, block {bx}×{by}×{bz}"
