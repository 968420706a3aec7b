// The loop of a helper goes one element too far, into the variable that follows the array. That is
// then the index of another array.
struct Tile {
  float values[8];
  int step;
};

__device__ void fill(float* values, int count, float value) {
  for (int i = 0; i < count; ++i) values[i] = value;
}

__global__ void smashed_index(float* C) {
  float sums[8] = {};
  Tile tile;
  for (tile.step = 0; tile.step < 4; ++tile.step) {
    fill(tile.values, 9, -1e30f);
    sums[tile.step] = tile.values[0];
  }
  C[threadIdx.x] = sums[0];
}

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  launch(smashed_index, 1, 32, 0, C);
}
