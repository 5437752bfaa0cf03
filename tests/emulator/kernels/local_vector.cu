// mutant local array too short: float r[8] => float r[6]
// mutant vector past the local array: r + 4 * k => r + 4 * k + 4
// mutant index past the local array: r[7 - j] => r[8 - j]
extern "C" __global__ void local_vector(float* __restrict__ a, float* __restrict__ b) {
  float r[8];
  int t = threadIdx.x;
  for (int k = 0; k < 2; k++) *(float4*)(r + 4 * k) = *(float4*)(a + t * 8 + 4 * k);
  for (int j = 0; j < 8; j++) b[t * 8 + j] = r[7 - j];
}
