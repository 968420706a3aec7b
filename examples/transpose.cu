// A whole program: transposes a matrix by tiles in shared memory, first with rows of 32 floats, and
// then with one unused float behind each row. make try KERNEL=examples/transpose.cu runs it on any
// machine; nvcc compiles it unchanged.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

constexpr int kTile = 32;  // the rows and columns of a tile
constexpr int kRows = 8;   // the rows that a block copies at a time

template <int kUnused>
__global__ void transpose(const float* in, float* out, int rows, int columns) {
  __shared__ float tile[kTile][kTile + kUnused];
  const int left = blockIdx.x * kTile, top = blockIdx.y * kTile;

  for (int i = threadIdx.y; i < kTile; i += kRows) {
    const int row = top + i, column = left + threadIdx.x;
    if (row < rows && column < columns) tile[i][threadIdx.x] = in[row * columns + column];
  }
  __syncthreads();
  for (int i = threadIdx.y; i < kTile; i += kRows) {
    const int row = left + i, column = top + threadIdx.x;  // of the result
    if (row < columns && column < rows) out[row * rows + column] = tile[threadIdx.x][i];
  }
}

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

int main() {
  const int rows = 250, columns = 380;
  std::vector<float> matrix(rows * columns), result(rows * columns);
  for (int i = 0; i < rows * columns; ++i) matrix[i] = static_cast<float>(i);

  float *in, *out;
  check(cudaMalloc(&in, matrix.size() * sizeof(float)));
  check(cudaMalloc(&out, matrix.size() * sizeof(float)));
  check(cudaMemcpy(in, matrix.data(), matrix.size() * sizeof(float), cudaMemcpyHostToDevice));
  const dim3 grid((columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile), block(kTile, kRows);

  int wrong = 0;
  for (const bool padded : {false, true}) {
    check(cudaMemset(out, 0, matrix.size() * sizeof(float)));
    if (padded) {
      transpose<1><<<grid, block>>>(in, out, rows, columns);
    } else {
      transpose<0><<<grid, block>>>(in, out, rows, columns);
    }
    check(cudaGetLastError());
    check(cudaMemcpy(result.data(), out, result.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < columns; ++j) wrong += result[j * rows + i] != matrix[i * columns + j];
    }
  }
  std::printf("%d of %d elements are wrong\n", wrong, 2 * rows * columns);
  check(cudaFree(in));
  check(cudaFree(out));
  return wrong == 0 ? 0 : 1;
}
