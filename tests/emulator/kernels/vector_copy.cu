// mutant misaligned: (float4*)(a + 4 * i) => (float4*)(a + 4 * i + 1)
// mutant misaligned on both sides: (float4*)(b + 4 * i) = *(float4*)(a + 4 * i) => (float4*)(b + 4 * i + 1) = *(float4*)(a + 4 * i + 1)
// mutant tail left out: if (i == 0) => if (i == 1 << 30)
// mutant one vector too far: i < n / 4 => i <= n / 4
extern "C" __global__ void vector_copy(float* __restrict__ a, float* __restrict__ b, int n) {
  int i = blockIdx.x * 32 + threadIdx.x;
  if (i < n / 4) *(float4*)(b + 4 * i) = *(float4*)(a + 4 * i);
  if (i == 0) for (int j = n / 4 * 4; j < n; j++) b[j] = a[j];
}
