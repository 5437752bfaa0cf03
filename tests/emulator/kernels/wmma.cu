// mutant missing fill: nvcuda::wmma::fill_fragment(acc, 0.0f); => 
// mutant wrong layout: nvcuda::wmma::row_major> fb => nvcuda::wmma::col_major> fb
// mutant wrong leading dimension: fa, a + k * 16, 32 => fa, a + k * 16, 16
// mutant half the depth: k < 2 => k < 1
// mutant stored transposed: nvcuda::wmma::mem_row_major => nvcuda::wmma::mem_col_major
#include <cuda_fp16.h>
#include <mma.h>
extern "C" __global__ void wmma(half* __restrict__ a, half* __restrict__ b, float* __restrict__ c) {
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major> fa;
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, half, nvcuda::wmma::row_major> fb;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> acc;
  nvcuda::wmma::fill_fragment(acc, 0.0f);
  for (int k = 0; k < 2; k++) {
    nvcuda::wmma::load_matrix_sync(fa, a + k * 16, 32);
    nvcuda::wmma::load_matrix_sync(fb, b + k * 256, 16);
    nvcuda::wmma::mma_sync(acc, fa, fb, acc);
  }
  nvcuda::wmma::store_matrix_sync(c, acc, 16, nvcuda::wmma::mem_row_major);
}
