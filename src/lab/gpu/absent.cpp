// The GPU interface without nvcc. There is never a GPU, so only find() is ever called.
#include "lab/gpu/gpu.h"
#include "model/refusal.h"

namespace gpu {
namespace {

[[noreturn]] void refuse() {
  throw model::Refusal(find().why_not);
}

}  // namespace

const Search& find() {
  static const Search none{{}, "this program was built without nvcc"};
  return none;
}
std::string driver_and_runtime() {
  refuse();
}
std::size_t free_bytes() {
  refuse();
}
Matrix::Matrix(std::size_t floats) : bytes_(floats * sizeof(float)) {
  refuse();
}
Matrix::~Matrix() = default;
void Matrix::upload(const float*) {
  refuse();
}
void Matrix::download(float*) const {
  refuse();
}
Resources resources(const void*) {
  refuse();
}
void allow_shared_bytes(const void*, int) {
  refuse();
}
Times time_ms(int, const std::function<void()>&) {
  refuse();
}
void synchronize() {
  refuse();
}
void cublas_sgemm(bool, int, int, int, float, const float*, const float*, float, float*) {
  refuse();
}
void cublas_bf16(bool, int, int, int, float, const float*, const float*, float, float*) {
  refuse();
}

}  // namespace gpu
