// mutant not transposed: x2.trans.shared => x2.shared
// mutant rows swapped: {ra[0], ra[1], => {ra[1], ra[0],
// mutant dropped barrier: __syncthreads(); => 
// mutant wrong result row: (g + 8) * 8 => g * 8
// mutant wrong row address: (lane % 16) * 16 + lane / 16 * 8 => (lane % 16) * 16
#include <cuda_fp16.h>
extern "C" __global__ void mma_sync(half* __restrict__ a, half* __restrict__ b, float* __restrict__ c) {
  __shared__ alignas(16) half sa[256];
  __shared__ alignas(16) half sb[128];
  int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  for (int i = threadIdx.x; i < 256; i += 64) sa[i] = a[i];
  for (int i = threadIdx.x; i < 128; i += 64) sb[i] = b[i];
  __syncthreads();
  if (threadIdx.x < 32) {
    unsigned ra[4], rb[2];
    float d[4] = {0, 0, 0, 0};
    unsigned pa = (unsigned)__cvta_generic_to_shared(&sa[(lane % 16) * 16 + lane / 16 * 8]);
    unsigned pb = (unsigned)__cvta_generic_to_shared(&sb[(lane % 16) * 8]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                 : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(pa));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];\n"
                 : "=r"(rb[0]), "=r"(rb[1]) : "r"(pb));
    unsigned q[4] = {ra[0], ra[1], ra[2], ra[3]};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};\n"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "r"(q[0]), "r"(q[1]), "r"(q[2]), "r"(q[3]), "r"(rb[0]), "r"(rb[1]),
                   "f"(d[0]), "f"(d[1]), "f"(d[2]), "f"(d[3]));
    c[g * 8 + t * 2] = d[0];
    c[g * 8 + t * 2 + 1] = d[1];
    c[(g + 8) * 8 + t * 2] = d[2];
    c[(g + 8) * 8 + t * 2 + 1] = d[3];
  }
}
