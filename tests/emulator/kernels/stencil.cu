// mutant missing halo: if (t < 1) => if (t < 0)
// mutant dropped barrier: __syncthreads(); => 
// mutant halo one off: s[t + 129] => s[t + 128]
// mutant reads before the buffer: i > 0 ? a[i - 1] : 0.0f => a[i - 1]
extern "C" __global__ void stencil(float* __restrict__ a, float* __restrict__ b, int n) {
  __shared__ float s[130];
  int t = threadIdx.x, i = blockIdx.x * 128 + t;
  s[t + 1] = i < n ? a[i] : 0.0f;
  if (t < 1) { s[t] = i > 0 ? a[i - 1] : 0.0f; s[t + 129] = i + 128 < n ? a[i + 128] : 0.0f; }
  __syncthreads();
  if (i < n) b[i] = s[t] + 2.0f * s[t + 1] + s[t + 2];
}
