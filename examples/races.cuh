// Functions and a kernel that examples/races.cu includes.
__device__ float left(const float* s) {
  return s[(threadIdx.x + 1) % blockDim.x];
}
__global__ void of_header(float* out) {
  __shared__ float s[64];
  s[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = left(s);
}
__device__ float opposite(const float* s) {
  return s[blockDim.x - 1 - threadIdx.x];
}
