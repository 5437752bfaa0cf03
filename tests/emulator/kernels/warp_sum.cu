// mutant wrong width: d, 32) => d, 16)
// mutant starts too low: d = 16 => d = 8
// mutant wrong direction: __shfl_down_sync => __shfl_up_sync
// mutant mask lacks callers: 0xffffffff => 0x0000ffff
// mutant divergent: v += __shfl => if (threadIdx.x < 16) v += __shfl
extern "C" __global__ void warp_sum(float* __restrict__ a, float* __restrict__ b) {
  float v = a[blockIdx.x * 32 + threadIdx.x];
  for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffff, v, d, 32);
  if (threadIdx.x == 0) b[blockIdx.x] = v;
}
