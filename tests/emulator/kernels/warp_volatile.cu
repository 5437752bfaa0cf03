// mutant not volatile: volatile float* v => float* v
// mutant dropped barrier: __syncthreads(); => 
// mutant another warp's partner: v[t] + v[t + 16] => v[t] + v[t + 17]
extern "C" __global__ void warp_volatile(float* __restrict__ a, float* __restrict__ b) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = a[blockIdx.x * 64 + t];
  __syncthreads();
  if (t < 32) {
    volatile float* v = s;
    float x = v[t] + v[t + 32]; v[t] = x;
    if (t < 16) {
      x = v[t] + v[t + 16]; v[t] = x;
      x = v[t] + v[t + 8]; v[t] = x;
      x = v[t] + v[t + 4]; v[t] = x;
      x = v[t] + v[t + 2]; v[t] = x;
      x = v[t] + v[t + 1]; v[t] = x;
    }
  }
  if (t == 0) b[blockIdx.x] = s[0];
}
