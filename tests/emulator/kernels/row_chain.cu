// mutant blocks share a row: c[blockIdx.x * 32 + t] = acc => c[blockIdx.x / 2 * 32 + t] = acc
// mutant reads another block's result: acc + c[blockIdx.x * 32 + t] => acc + c[(blockIdx.x + 3) % 4 * 32 + t]
// mutant never ends: k < 8; k++ => k < 8; k += (a[0] == 12345.0f)
// mutant too much shared memory: pad[8] => pad[16384]
extern "C" __global__ void row_chain(float* __restrict__ a, float* __restrict__ c) {
  __shared__ float pad[8];
  int t = threadIdx.x;
  float acc = 0.0f;
  if (t < 8) pad[t] = 1.0f;
  __syncthreads();
  c[blockIdx.x * 32 + t] = a[blockIdx.x * 32 + t];
  for (int k = 0; k < 8; k++) acc += pad[k];
  c[blockIdx.x * 32 + t] = acc + c[blockIdx.x * 32 + t];
}
