// Functions and a kernel that examples/races.cu includes.
__device__ float left(const float* s) {
  return s[(threadIdx.x + 1) % blockDim.x];
}
__global__ void of_header(float* out) {
  __shared__ float s[64];
  s[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = left(s);
}
