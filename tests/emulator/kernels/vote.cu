// mutant wrong mask of lower lanes: (1u << lane) - 1 => (2u << lane) - 1
// mutant wrong predicate: v > 0 => v >= 0
// mutant all for any: __any_sync => __all_sync
extern "C" __global__ void vote(int* __restrict__ a, int* __restrict__ b, int* __restrict__ any) {
  int lane = threadIdx.x, v = a[blockIdx.x * 32 + lane];
  unsigned m = __ballot_sync(0xffffffff, v > 0);
  if (v > 0) b[blockIdx.x * 32 + __popc(m & ((1u << lane) - 1))] = v;
  int found = __any_sync(0xffffffff, v == 3);
  if (lane == 0) any[blockIdx.x] = found;
}
