// mutant dropped barrier in the loop: s[t] += s[t + d]; __syncthreads(); => s[t] += s[t + d];
// mutant dropped first barrier: a[i]; __syncthreads(); => a[i];
// mutant starts too low: d = 128 => d = 64
// mutant ends too early: d > 0 => d > 1
// mutant missing init: s[t] = a[i]; => if (t < 200) s[t] = a[i];
// mutant barrier for some threads: s[t] += s[t + d]; __syncthreads(); => { s[t] += s[t + d]; __syncthreads(); }
extern "C" __global__ void block_sum(float* __restrict__ a, float* __restrict__ b) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = a[i]; __syncthreads();
  for (int d = 128; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d]; __syncthreads();
  }
  if (t == 0) b[blockIdx.x] = s[0];
}
