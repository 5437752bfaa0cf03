// mutant dropped barrier: from = 1 - from; __syncthreads(); => from = 1 - from;
// mutant distance wrong: d <<= 1 => d += 1
// mutant exclusive by accident: s[from][t] : => s[from][t] - a[t] :
extern "C" __global__ void scan(float* __restrict__ a, float* __restrict__ b) {
  __shared__ float s[2][64];
  int t = threadIdx.x, from = 0;
  s[0][t] = a[t]; __syncthreads();
  for (int d = 1; d < 64; d <<= 1) {
    s[1 - from][t] = t >= d ? s[from][t] + s[from][t - d] : s[from][t];
    from = 1 - from; __syncthreads();
  }
  b[t] = t >= 0 ? s[from][t] : 0.0f;
}
