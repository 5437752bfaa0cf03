// mutant missing init: float acc = 0.0f; => float acc;
// mutant dropped first barrier: b[(k0 + ty) * n + x]; __syncthreads(); => b[(k0 + ty) * n + x];
// mutant dropped second barrier: tb[k][tx]; __syncthreads(); => tb[k][tx];
// mutant loop one short: k < 8 => k < 7
// mutant swapped index: ta[ty][k] => ta[k][ty]
// mutant last tile left out: k0 < n; => k0 < n - 8;
extern "C" __global__ void matmul_tiled(float* __restrict__ a, float* __restrict__ b, float* __restrict__ c, int n) {
  __shared__ float ta[8][8];
  __shared__ float tb[8][8];
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 8 + tx, y = blockIdx.y * 8 + ty;
  float acc = 0.0f;
  for (int k0 = 0; k0 < n; k0 += 8) {
    ta[ty][tx] = a[y * n + k0 + tx];
    tb[ty][tx] = b[(k0 + ty) * n + x]; __syncthreads();
    for (int k = 0; k < 8; k++) acc += ta[ty][k] * tb[k][tx]; __syncthreads();
  }
  c[y * n + x] = acc;
}
