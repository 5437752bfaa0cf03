"""Every name of TVMScript that a text may use.

TVM evaluates what it reads, so this is a list of what is allowed, not of what is forbidden:
functions that only build IR.  Left out on purpose: modules (`T.utils`, `T.parser`), macros and
`T.inline` (they compile Python), `T.cuda.func_call` (it carries CUDA source), printing, and what
calls functions of the running program by name (`CALLS_BY_NAME`, checked one by one).
"""

from __future__ import annotations

import re

DTYPE = re.compile(
    r"^(?:u?int(?:1|2|4|8|16|32|64)|float(?:16|32|64)|bfloat16|float8_(?:e3m4|e4m3|e4m3b11fnuz|e4m3fn|"
    r"e4m3fnuz|e5m2|e5m2fnuz|e8m0fnu)|float6_(?:e2m3fn|e3m2fn)|float4_e2m1fn)(?:x(?:2|4|8|16|32|64))?$"
)
SHORT_DTYPES = set("bf16 f16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool boolean void".split())

TIR = set(
    """
    Buffer handle match_buffer decl_buffer alloc_buffer sblock_alloc_buffer alloc_local alloc_shared
    buffer buffer_store BufferLoad ptr address_of tvm_access_ptr
    sblock init reads writes where sblock_attr func_attr attr axis.spatial axis.reduce axis.scan
    axis.opaque axis.remap axis.S axis.R let Let Bind bind
    grid serial parallel vectorized unroll thread_binding launch_thread env_thread iter_var Range
    evaluate If Then Else While Assert Return Break Continue break_loop continue_loop
    thread_return seq_scope assume likely var Var target constexpr
    Add And BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Broadcast Cast Div EQ FloatImm FloorDiv
    FloorMod GE GT IntImm LE LShift LT Max Min Mod Mul NE Not Or RShift Ramp Select Shuffle Sub
    Tuple abs acos acosh asin asinh atan atan2 atanh bitwise_and bitwise_not bitwise_or bitwise_xor
    broadcast cast ceil ceildiv clz comm_reducer copysign cos cosh dp4a erf exp exp10 exp2 fabs
    floor floordiv floormod fma fmod hypot if_then_else infinity isfinite isinf isnan isnullptr
    ldexp
    log log10 log1p log2 max max_value min min_value nearbyint nextafter popcount pow
    q_multiply_shift
    q_multiply_shift_per_axis ramp reinterpret round rsqrt selector shift_left shift_right sigmoid
    sin sinh sqrt tan tanh trunc truncdiv truncmod type_annotation undef vectorcombine vectorhigh
    vectorlow vscale get_active_lane_mask ignore_loop_partition masked_load masked_store
    tvm_tuple tvm_thread_allreduce tvm_thread_invariant tvm_storage_sync tvm_warp_activemask
    tvm_warp_shuffle tvm_warp_shuffle_down tvm_warp_shuffle_up tvm_warp_shuffle_xor
    tvm_fill_fragment tvm_load_matrix_sync tvm_store_matrix_sync tvm_mma_sync tvm_bmma_sync
    tvm_global_barrier_kinit cooperative_tensor_fill cooperative_tensor_load
    cooperative_tensor_multiply_accumulate cooperative_tensor_store
    s_tir.cp_async_raw s_tir.ldg32 ptx_legacy.ldmatrix ptx_legacy.mma
    metal.make_filled_simdgroup_matrix metal.simd_shuffle metal.simd_shuffle_down
    metal.simd_shuffle_up metal.simdgroup_load metal.simdgroup_multiply_accumulate
    metal.simdgroup_store webgpu.subgroup_shuffle webgpu.subgroup_shuffle_down
    webgpu.subgroup_shuffle_up
    cuda.any_sync cuda.atomic_add cuda.atomic_cas cuda.ballot_sync cuda.bfloat1622float2
    cuda.bfloat162float cuda.cta_max cuda.cta_min cuda.cta_reduce cuda.cta_sum cuda.cta_sync
    cuda.elect_sync cuda.fdividef cuda.ffs_u32 cuda.float22half2 cuda.float8tohalf8
    cuda.float_as_uint cuda.half2float cuda.half8tofloat8 cuda.hmax2 cuda.hmin2 cuda.ldg
    cuda.make_float2 cuda.mma_fill
    cuda.mma_fill_legacy cuda.mma_store cuda.mma_store_legacy cuda.reduce_add_sync_u32
    cuda.reduce_min_sync_u32 cuda.syncthreads_and cuda.syncthreads_or cuda.thread_fence
    cuda.thread_rank cuda.uint_as_float cuda.warp_max cuda.warp_min cuda.warp_reduce cuda.warp_sum
    cuda.warp_sync
    """.split()
)
PTX = set(
    """
    abs activemask add and bar barrier bfe bfi bfind bmsk brev clz cnot copysign cos cp cvt div dp2a
    dp4a elect_sync ex2 fence fma fns ld ldmatrix ldu lg2 lop3 mad mad24 match max mbarrier min mma
    mov movmatrix mul mul24 neg not or popc prefetch prmt rcp redux_sync rem rsqrt sad selp set setp
    shf shfl_sync shl shr sin sqrt st stmatrix sub szext tanh vote_sync xor
    """.split()
)
"""First names behind `T.ptx`; more names may follow (`T.ptx.cp.async.commit_group`)."""

CALLS_BY_NAME = set(
    """
    call_extern call_pure_extern call_llvm_intrin call_llvm_pure_intrin call_intrin
    call_packed call_cpacked call_ffi_kernel tvm_call_packed tvm_call_cpacked
    """.split()
)
"""Calls of something named by a string: allowed for names that are known to be harmless."""

IR = {"ir_module", "module_attrs", "module_global_infos", "vdevice", "dummy_global_info", "Range"}

RELAX = set(
    """
    Any Callable DTensor ExternFunc Object Prim Shape Tensor Tuple TupleGetItem abs acos acosh add
    arange argmax argmin argsort asin asinh assert_op astype atan atanh bitwise_and bitwise_not
    bitwise_or bitwise_xor broadcast_to bucketize builtin.alloc_tensor builtin.stop_lift_params
    call_dps_packed call_inplace_packed call_packed call_pure_packed call_tir call_tir_inplace
    call_tir_with_grad ceil clip collapse_sum_like collapse_sum_to concat const cos cosh cpu cuda
    cumprod cumsum dataflow dequantize device divide dtype dynamic_strided_slice einsum equal erf
    ewise_fma exp expand_dims eye eye_like flatten flip floor floor_divide floor_mod full full_like
    func_attr func_name function gather_elements gather_nd greater greater_equal hamming_window
    hint_on_device image.affine_grid image.grid_sample image.resize2d image.resize3d index_put
    index_tensor invoke_closure invoke_pure_closure isfinite isinf isnan layout_transform left_shift
    less less_equal linear log log_add_exp logical_and logical_not logical_or logical_xor
    make_closure match_cast matmul max maximum mean median memory.alloc_storage memory.alloc_tensor
    memory.ensure_zero_offset memory.kill_storage memory.kill_tensor memory.view meshgrid min
    minimum mod multinomial_from_uniform multiply negative nn.adaptive_avg_pool1d
    nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d nn.attention nn.attention_bias
    nn.attention_var_len nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d nn.batch_flatten nn.batch_norm
    nn.conv1d nn.conv1d_transpose nn.conv2d nn.conv2d_transpose nn.conv3d nn.conv3d_transpose
    nn.cross_entropy_with_logits nn.dropout nn.gelu nn.gelu_tanh nn.group_norm nn.instance_norm
    nn.layer_norm nn.leakyrelu nn.log_softmax nn.max_pool1d nn.max_pool2d nn.max_pool3d nn.nll_loss
    nn.pad nn.pixel_shuffle nn.prelu nn.relu nn.relu6 nn.rms_norm nn.selu nn.silu nn.softmax
    nn.softplus nonzero not_equal null_value one_hot ones ones_like outer output permute_dims power
    prim_value prod quantize repeat reshape reverse_sequence right_shift round rsqrt
    scatter_elements scatter_nd shape shape_of shape_to_tensor sigmoid sign sin sinh size
    slice_scatter sort split sqrt square squeeze stack std str strided_slice subtract sum take tan
    tanh tensor_to_shape tile to_vdevice topk tril triu trunc tuple unique variance
    vision.all_class_non_max_suppression vision.get_valid_counts vision.multibox_transform_loc
    vision.non_max_suppression vision.roi_align vision.roi_pool vm.alloc_storage vm.alloc_tensor
    vm.call_tir_dyn vm.kill_object where wrap_param zeros zeros_like
    """.split()
)

MEMBERS = set("data shape strides elem_offset astype access_ptr vload vstore view local".split())
"""Attributes and methods of buffers and expressions (`dtype` only as an argument)."""

EXTERN = re.compile(
    r"^(?:a?(?:sin|cos|tan)h?|atan2|exp|exp2|exp10|expm1|log|log2|log10|log1p|sqrt|rsqrt|cbrt|pow|"
    r"fabs|fmin|fmax|fma|fmod|floor|ceil|round|trunc|rint|nearbyint|erf|erfc|tgamma|lgamma|hypot|"
    r"copysign|ldexp|isnan|isinf|isfinite|normcdf)[fl]?$"
    r"|^__nv_[a-z0-9_]+$"
    r"|^__(?:expf|exp10f|logf|log2f|log10f|sinf|cosf|tanf|powf|fdividef|saturatef|frcp_rn|fsqrt_rn|"
    r"frsqrt_rn|fmaf_rn|ldg|popc|clz|ffs|brev|dp4a|byte_perm|mul24|umul24|mulhi|syncthreads|"
    r"syncwarp|threadfence|threadfence_block|activemask|shfl_sync|shfl_up_sync|shfl_down_sync|"
    r"shfl_xor_sync|all_sync|any_sync|ballot_sync|float2half|half2float|float2half_rn|hadd|hsub|"
    r"hmul|hfma|hmax|hmin|hadd2|hmul2|hfma2|float2int_rn|int2float_rn|float_as_int|int_as_float)$"
    r"|^atomic(?:Add|Sub|Min|Max|And|Or|Xor|CAS|Exch|Inc|Dec)$"
    r"|^h(?:exp|log|sqrt|rsqrt|sin|cos|tanh|rcp|floor|ceil|trunc|rint)2?$"
    r"|^(?:min|max|abs)$"
)
"""Functions that `T.call_extern` may name: mathematics and CUDA's own device functions."""

LLVM = re.compile(
    r"^llvm\.(?!mem|init\.|adjust|eh\.|gc|stack|frame|return|sponentry|va_|read_|write_|thread\.pointer|"
    r"localrecover|localescape|coro|asan|hwasan|experimental\.(?:gc|deopt|patchpoint|stackmap)|donothing)"
    r"[a-z0-9_.]+$"
)

HINTS = {
    "allocate": "Write B = T.alloc_buffer(shape, dtype, scope=…).",
    "load": "T.load read from a flat pointer until 2022: declare a buffer and write A[i].",
    "store": "T.store wrote to a flat pointer until 2022: declare a buffer and write A[i] = value.",
    "realize": "T.realize is of lowered programs of 2021; load the module from before lowering.",
    "inline": "Write the statements in place of the call: T.inline compiles Python.",
    "macro": "Write the statements in place of the call: T.macro compiles Python.",
    "meta_var": "Write the value in place of the name.",
    "index_map": "Layouts are given by the transform_layout step of a schedule.",
    "print_buffer": "Remove it; values can be seen where the kernel is checked.",
    "bind": "Write vi = T.axis.spatial(extent, i) in the block.",
    "reduce_axis": "Write vk = T.axis.reduce(extent, k) in the block.",
    "import_module": "A module of this text can call its own functions only.",
    "tvm_call_packed_lowered": "Load the module from before lowering to the host.",
    "tvm_struct_set": "Load the module from before lowering to the host.",
    "tvm_struct_get": "Load the module from before lowering to the host.",
    "tvm_stack_alloca": "Load the module from before lowering to the host.",
}
"""What to write instead of names that are not (or no longer) there."""
