// mutant guard one too far: i < n => i <= n
// mutant no guard: if (i < n) => 
// mutant neighbour's input: a[i] => a[i + 1]
// mutant one block's threads only: blockIdx.x * 128 + threadIdx.x => threadIdx.x
extern "C" __global__ void saxpy(const float* __restrict__ a, float* __restrict__ b, int n) {
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) b[i] = 2.0f * a[i] + 1.0f;
}
