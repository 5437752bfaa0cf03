// mutant missing init: int acc = 0; => int acc;
// mutant wrong word: pb[k] => pb[k ^ 1]
// mutant unsigned by accident: __dp4a(pa[k], pb[k], acc) => (int)__dp4a((unsigned)pa[k], (unsigned)pb[k], (unsigned)acc)
extern "C" __global__ void dot_int8(signed char* __restrict__ a, signed char* __restrict__ b, int* __restrict__ c) {
  int *pa = (int*)(a + threadIdx.x * 32), *pb = (int*)b;
  int acc = 0;
  for (int k = 0; k < 8; k++) acc = __dp4a(pa[k], pb[k], acc);
  c[threadIdx.x] = acc;
}
