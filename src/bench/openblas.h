// OpenBLAS, found at run time: the program also runs where it is missing.
#pragma once

#include <string>

namespace bench {

class OpenBlas {
 public:
  explicit OpenBlas(const std::string& library = "libopenblas.so.0");
  ~OpenBlas();
  OpenBlas(const OpenBlas&) = delete;
  OpenBlas& operator=(const OpenBlas&) = delete;

  // A sentence if it cannot be used; else empty.
  const std::string& why_not() const { return why_not_; }
  std::string kernels() const;  // its name of the CPU for which it chose them; empty: not known

  // C = A * B on that many threads, size x size, row-major.
  void multiply(int threads, int size, const float* A, const float* B, float* C) const;

 private:
  void* library_;  // null: missing
  std::string why_not_;
};

}  // namespace bench
