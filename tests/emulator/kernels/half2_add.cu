// mutant swapped halves: x.x + y.x, x.y + y.y => x.y + y.y, x.x + y.x
// mutant wrong operand: b2[i] => a2[i]
#include <cuda_fp16.h>
extern "C" __global__ void half2_add(half* __restrict__ a, half* __restrict__ b, half* __restrict__ c) {
  half2 *a2 = (half2*)a, *b2 = (half2*)b, *c2 = (half2*)c;
  int i = threadIdx.x;
  half2 x = a2[i], y = b2[i];
  c2[i] = make_half2(x.x + y.x, x.y + y.y);
}
