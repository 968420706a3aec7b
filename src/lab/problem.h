// The product to compute: its sizes, factors and matrices. The correct result, and the error of a
// computed one.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lab/request.h"
#include "model/error.h"
#include "model/stage.h"
#include "simulator/simulator.h"

namespace lab {

// Host matrices, row-major, 256-byte aligned like cudaMalloc's, so that sectors begin where they do
// on the GPU. The memory before and after each matrix is inaccessible, so an access outside of it
// stops the program.

// Memory that ends at the end of its last page, up to the alignment. On both sides it reserves as
// many bytes as an int can count floats, or fewer if the system has no room for that (ulimit -v).
// Throws std::bad_alloc.
void* allocate_guarded(std::size_t bytes);
void free_guarded(void* memory);

template <class T>
struct Guarded {
  using value_type = T;
  Guarded() = default;
  template <class U>
  Guarded(const Guarded<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(allocate_guarded(n * sizeof(T))); }
  void deallocate(T* p, std::size_t) { free_guarded(p); }
  // Fresh memory is 0, and takes no time before it is used.
  void construct(T*) {}
  void construct(T* p, const T& value) { *p = value; }
  friend bool operator==(Guarded, Guarded) { return true; }
};

using Floats = std::vector<float, Guarded<float>>;

// `count` values, uniform in [-1, 1). The same seed gives the same values on every machine.
Floats random_floats(std::size_t count, std::uint64_t seed);

// The Frobenius norm of a - b divided by that of b; 0/0 is 0. Both have the same length. Elements
// that overflow in both are ignored.
double relative_difference(std::span<const float> a, std::span<const float> b);

// A NaN that no computation produces, unless its input already contains it.
inline const float kCanary = std::bit_cast<float>(0x7fc0c0deu);

// A function that computes a product: a stage's variant, a user's sgemm, cuBLAS.
using Gemm = std::function<model::Kernel>;

// The kernel of `variant` in that copy of the table, launched as for a GPU with `sms` SMs; with 0,
// no tile is cut. Table and variant must outlive it.
Gemm gemm_of(
    const model::StageTable& table, const model::Variant& variant, int sms = 0,
    model::Makes makes = model::Makes::product);
// The same as `gemm`, which is one of that table. `stood_in` must outlive it, and says which of the
// variant's stand-ins computed the last product (model::that_ran).
Gemm noting_stand_in(Gemm gemm, const model::StageTable& table, int& stood_in);

// What a product launches that was asked for from one variant (model::launched).
struct Launched {
  const model::KernelRef& kernel;
  bool aligned;  // rows of the matrices that it reads or stores itself are 16-byte aligned
};

struct Problem {
  int M, N, K;
  float alpha, beta;
  Floats A, B;
  // C before the product. All elements are kCanary if beta is 0, so that a kernel's read of C
  // becomes visible.
  Floats C;
  // The number of floats before each matrix's first element, used to misalign the matrices.
  std::size_t lead = 0;

  std::size_t results() const { return static_cast<std::size_t>(M) * N; }
  // A product that does not change C need not write it.
  bool must_be_written() const { return beta != 1 || (alpha != 0 && K > 0); }

  // The matrices that a traced kernel receives. It computes into `result`, which has the size of C.
  std::vector<machine::GlobalArray> arrays(const Floats& result) const;
  // A function that computes the product into `result`; the problem and `result` must outlive it.
  std::function<void()> product_by(Gemm gemm, Floats& result) const;
  // Which of the variant's kernels computes the product.
  Launched launched(const model::Variant& variant) const;
};

// Random A and B, and a random old C if it is read.
Problem random_problem(
    ProblemSize sides, float alpha, float beta, std::uint64_t seed, std::size_t lead = 0);

// Gives it another K, with random A and B.
void change_K(Problem& problem, int K, std::uint64_t seed);

// What needs memory besides A, B and C.
enum class Kept {
  results,  // more C, an fp64 reference, and with a GPU also A, B and C on it
  matrices  // nothing
};

// Gives A and B, which are uniform in [-1, 1), that distribution. The same seed gives the same
// values on every machine, up to the last bits of its logarithms and cosines.
void distribute(Data data, std::uint64_t seed, Problem& problem);

// A and B as requested, random or from files, and the old C. Throws a Refusal if there is not
// enough memory, or if the shapes in the files do not match.
Problem load_problem(const Request& request, bool on_gpu, Kept kept = Kept::results);

// What model/error.h compares with, M x N. The magnitudes are those of the first `terms` products
// of each element, which is a lower bound: it makes the check stricter and takes much less time.
// When a result fails, the other products are added, so that no result fails for this reason. If
// the code that computed it has overwritten A or B since, they are not, and it fails.
struct Reference {
  std::vector<double> exact;
  mutable std::vector<double> magnitude;
  mutable int terms = 0;
  std::uint64_t factors = 0;  // a fingerprint of A and B
  double largest = 0;         // magnitude in A and B; infinite, also if there is a NaN
};

Reference compute_reference(const Problem& p);

// Compares the first `rows` rows of a computed C with the reference.
model::Error compare(
    const Problem& p, const Reference& reference, const Floats& result, int rows,
    model::Precision precision = model::kFp32);

// Gives the tracer the text of gemm_steps.cu as it was compiled (lab/lesson_source.cpp).
void embed_lesson();

}  // namespace lab

// The copies of gemm_steps.cu for the CPU: one with the tracer's hooks and one without (Makefile).
extern const model::StageTable stage_table_traced;
extern const model::StageTable stage_table_plain;
