// mutant missing wait: asm volatile("cp.async.wait_group 0;"); => 
// mutant waits for too little: wait_group 0 => wait_group 1
// mutant dropped barrier: __syncthreads(); => 
extern "C" __global__ void cp_async(float* __restrict__ a, float* __restrict__ b) {
  __shared__ alignas(16) float s[128];
  int t = threadIdx.x;
  unsigned to = (unsigned)__cvta_generic_to_shared(s + 4 * t);
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" :: "r"(to), "l"((void*)(a + blockIdx.x * 128 + 4 * t)), "n"(16));
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.wait_group 0;");
  __syncthreads();
  for (int i = 0; i < 4; i++) b[blockIdx.x * 128 + i * 32 + t] = s[127 - (i * 32 + t)];
}
