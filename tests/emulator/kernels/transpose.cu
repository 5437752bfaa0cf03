// mutant dropped barrier: __syncthreads(); => 
// mutant swapped axis: tile[threadIdx.x][threadIdx.y] => tile[threadIdx.y][threadIdx.x]
// mutant tile too narrow: tile[16][17] => tile[16][15]
// mutant wrong store column: blockIdx.y * 16 + threadIdx.x => blockIdx.x * 16 + threadIdx.x
extern "C" __global__ void transpose(float* __restrict__ a, float* __restrict__ b, int h, int w) {
  __shared__ float tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < w && y < h) tile[threadIdx.y][threadIdx.x] = a[y * w + x];
  __syncthreads();
  int column = blockIdx.y * 16 + threadIdx.x, row = blockIdx.x * 16 + threadIdx.y;
  if (column < h && row < w) b[row * h + column] = tile[threadIdx.x][threadIdx.y];
}
