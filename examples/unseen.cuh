// A kernel that unseen.cu launches if beta is not 0.
__global__ void bytes_of_next(int count, const float* A, float* C) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) C[i] = strlen(reinterpret_cast<const char*>(A + 1));
}
