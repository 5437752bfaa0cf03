// mutant no atomic: atomicAdd(&bins[a[i]], 1) => bins[a[i]] += 1
// mutant bin outside: bins[a[i]] => bins[a[i] + 1]
// mutant counts twice: , 1) => , 2)
extern "C" __global__ void histogram(int* __restrict__ a, int* __restrict__ bins, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) atomicAdd(&bins[a[i]], 1);
}
