// mutant dropped barrier: __syncthreads(); => ;
// mutant stages another lane: % 32 == 0) => % 32 == 1)
// mutant stages half: < 8) => < 4)
// mutant starts too low: rest, total, 4, 32) => rest, total, 2, 32)
// mutant sums the first warp only: total = staging[threadIdx.x]; => total = v;
// mutant mask of a branch: rest = __activemask(); => if (threadIdx.x % 2) rest = __activemask();
extern "C" __global__ void staged_sum(float* __restrict__ a, float* __restrict__ b) {
  __shared__ float staging[8];
  float v = a[blockIdx.x * 256 + threadIdx.x];
  unsigned mask = __activemask();
  v += __shfl_down_sync(mask, v, 16, 32);
  v += __shfl_down_sync(mask, v, 8, 32);
  v += __shfl_down_sync(mask, v, 4, 32);
  v += __shfl_down_sync(mask, v, 2, 32);
  v += __shfl_down_sync(mask, v, 1, 32);
  if ((int)threadIdx.x % 32 == 0) {
    staging[threadIdx.x >> 5] = v;
  }
  __syncthreads();
  if ((int)threadIdx.x == 0) {
    b[blockIdx.x] = staging[0];
  }
  float total;
  unsigned rest = 0;
  if ((int)threadIdx.x < 8) {
    total = staging[threadIdx.x];
  }
  rest = __activemask();
  total += __shfl_down_sync(rest, total, 4, 32);
  total += __shfl_down_sync(rest, total, 2, 32);
  total += __shfl_down_sync(rest, total, 1, 32);
  if ((int)threadIdx.x == 0) {
    b[blockIdx.x] += total - staging[0];
  }
}
