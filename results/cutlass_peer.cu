// A program of its own: kernels of CUTLASS beside cuBLAS of the same precision and layout: square
// products, C in fp32 and row-major, uniform numbers between -1 and 1, the median of 20 launches
// after 3. The error is the relative one of 256 elements of C. With the include folders of CUTLASS
// and of its tools/util:
//   nvcc -std=c++17 -O3 -DNDEBUG --expt-relaxed-constexpr -gencode=arch=compute_90a,code=sm_90a
//     cutlass_peer.cu -lcublas
#include <cublas_v2.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "cute/tensor.hpp"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/device/gemm.h"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
#include "cutlass/util/GPU_Clock.hpp"
#include "cutlass/util/device_memory.h"
#include "cutlass/util/packed_stride.hpp"
#include "cutlass/util/reference/device/tensor_fill.h"
#include "cutlass/version.h"

using namespace cute;
using namespace cutlass;
using namespace cutlass::gemm;
using Row = layout::RowMajor;
using Column = layout::ColumnMajor;

void check(bool fine, const char* what) {
  if (fine) return;
  std::printf("%s failed: %s\n", what, cudaGetErrorString(cudaGetLastError()));
  std::exit(1);
}

template <class Launch>
double median_ms(const Launch& launch) {
  GPU_Clock clock;
  float ms[20];
  for (int i = -3; i < 20; ++i) clock.start(), launch(), ms[std::max(i, 0)] = clock.milliseconds();
  check(!cudaDeviceSynchronize(), "a launch");
  std::sort(ms, ms + 20);
  return (ms[9] + ms[10]) / 2;
}

template <class T>
struct Problem {
  int n;
  bool by_columns;  // B, whose columns are contiguous then
  size_t count = size_t(n) * n;
  DeviceAllocation<T> A{count}, B{count};
  DeviceAllocation<float> C{count};
  Problem(int n, bool by_columns) : n(n), by_columns(by_columns) {
    reference::device::BlockFillRandomUniform(A.get(), count, 1, T(1), T(-1));
    reference::device::BlockFillRandomUniform(B.get(), count, 2, T(1), T(-1));
    cudaMemset(C.get(), 0xff, C.bytes());
  }
  void cublas(cublasComputeType_t precision) {  // it is column-major and computes C's transpose
    static cublasHandle_t handle = nullptr;
    if (!handle) cublasCreate(&handle);
    const auto type = sizeof(T) == 4 ? CUDA_R_32F : CUDA_R_16BF;
    const float one = 1, zero = 0;
    const auto status = cublasGemmEx(
        handle, by_columns ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, B.get(), type,
        n, A.get(), type, n, &zero, C.get(), CUDA_R_32F, n, precision, CUBLAS_GEMM_DEFAULT);
    check(status == CUBLAS_STATUS_SUCCESS, "cuBLAS");
  }
  double error() const {
    std::vector<T> a(count), b(count);
    std::vector<float> c(count);
    A.copy_to_host(a.data()), B.copy_to_host(b.data()), C.copy_to_host(c.data());
    double off = 0, all = 0;
    for (size_t i = 0; i < 256; ++i) {
      const size_t row = i * 7919 % n, column = i * 104729 % n;
      double exact = 0;
      for (size_t k = 0; k < size_t(n); ++k) {
        const T factor = b[by_columns ? column * n + k : k * n + column];
        exact += double(float(a[row * n + k])) * double(float(factor));
      }
      off += std::pow(c[row * n + column] - exact, 2), all += exact * exact;
    }
    return std::sqrt(off / all);
  }
};

// For sm_80 and later, on the FP32 lanes or as 3xTF32: the tiles of a block and of a warp.
template <bool kOnLanes, int BM, int BN, int WM, int WN>
struct Ampere {
  using T = float;
  static constexpr int kOrders = 1, kWide = kOnLanes ? 1 : 4, BK = kOnLanes ? 8 : 16;
  static constexpr bool kByColumns = false;
  template <class Lanes, class Cores>
  using Either = std::conditional_t<kOnLanes, Lanes, Cores>;
  using Gemm = device::Gemm<
      T, Row, T, Row, float, Row, float, Either<arch::OpClassSimt, arch::OpClassTensorOp>,
      arch::Sm80, GemmShape<BM, BN, BK>, GemmShape<WM, WN, BK>,
      Either<GemmShape<1, 1, 1>, GemmShape<16, 8, 8>>,
      epilogue::thread::LinearCombination<float, kWide, float, float>,
      threadblock::GemmIdentityThreadblockSwizzle<8>, kOnLanes ? 5 : 4, kWide, kWide, false,
      Either<arch::OpMultiplyAdd, arch::OpMultiplyAddFastF32>>;
  static typename Gemm::Arguments arguments(const Problem<T>& p, int) {
    const int n = p.n;
    return {{n, n, n}, {p.A.get(), n}, {p.B.get(), n}, {p.C.get(), n}, {p.C.get(), n}, {1, 0}};
  }
};

// For sm_90a, from the collective builder: TMA, wgmma and specialized warps in clusters of two
// blocks. Of the orders of blocks, 1 to 8 rows or columns together, the fastest counts.
template <class Element, class LayoutB, int BM, int BK>
struct Hopper {
  using T = Element;
  static constexpr int kOrders = 4, kWide = 16 / sizeof(T), BN = 256;
  static constexpr bool kByColumns = std::is_same_v<LayoutB, Column>, kTurns = BM == 64;
  using Sm = arch::Sm90;
  using Unit = arch::OpClassTensorOp;
  using Tile = Shape<Int<BM>, Int<BN>, Int<BK>>;
  using Two = Shape<_2, _1, _1>;
  template <class Turns, class Both>
  using By = std::conditional_t<kTurns, Turns, Both>;
  using End = typename epilogue::collective::CollectiveBuilder<
      Sm, Unit, Tile, Two, epilogue::collective::EpilogueTileAuto, float, float, float, Row, 4,
      float, Row, 4,
      By<epilogue::TmaWarpSpecialized, epilogue::TmaWarpSpecializedCooperative>>::CollectiveOp;
  using Loop = typename collective::CollectiveBuilder<
      Sm, Unit, T, Row, kWide, T, LayoutB, kWide, float, Tile, Two,
      collective::StageCountAutoCarveout<int(sizeof(typename End::SharedStorage))>,
      By<KernelTmaWarpSpecializedPingpong, KernelTmaWarpSpecializedCooperative>>::CollectiveOp;
  using Kernel = kernel::GemmUniversal<Shape<int, int, int, int>, Loop, End>;
  using Gemm = device::GemmUniversalAdapter<Kernel>;
  static typename Gemm::Arguments arguments(const Problem<T>& p, int order) {
    const auto strides = [&](auto of) { return make_cute_packed_stride(of, {p.n, p.n, 1}); };
    const auto a = strides(typename Kernel::StrideA{});
    const auto b = strides(typename Kernel::StrideB{});
    const auto c = strides(typename Kernel::StrideC{});
    typename Gemm::Arguments all{
        GemmUniversalMode::kGemm,
        {p.n, p.n, p.n, 1},
        {p.A.get(), a, p.B.get(), b},
        {{1, 0}, p.C.get(), c, p.C.get(), c}};
    all.scheduler.max_swizzle_size = 1 << order;
    return all;
  }
};

template <class Peer>
void compare(const char* name, cublasComputeType_t precision) {
  for (const int n : {2048, 4096, 8192}) {
    Problem<typename Peer::T> p(n, Peer::kByColumns);
    const double cublas_ms = median_ms([&] { p.cublas(precision); }), cublas_error = p.error();
    cudaMemset(p.C.get(), 0xff, p.C.bytes());
    double ms = 1e9;
    for (int order = 0; order < Peer::kOrders; ++order) {
      typename Peer::Gemm gemm;
      const auto arguments = Peer::arguments(p, order);
      DeviceAllocation<char> workspace(Peer::Gemm::get_workspace_size(arguments));
      check(gemm.initialize(arguments, workspace.get()) == Status::kSuccess, name);
      ms = std::min(ms, median_ms([&] { gemm.run(); }));
    }
    const double tflop = 2e-9 * n * n * n;
    std::printf(
        "%-42s %4d  %6.3f ms %6.1f TFLOP/s, cuBLAS %6.1f, ratio %.3f; error %.1e, cuBLAS %.1e\n",
        name, n, ms, tflop / ms, tflop / cublas_ms, cublas_ms / ms, p.error(), cublas_error);
  }
}

int main() {
  cudaDeviceProp gpu{};
  check(!cudaGetDeviceProperties(&gpu, 0), "a GPU");
  std::printf("CUTLASS %d.%d.%d, ", CUTLASS_MAJOR, CUTLASS_MINOR, CUTLASS_PATCH);
  std::printf("cuBLAS %d, CUDA %d, %s\n", CUBLAS_VERSION, CUDART_VERSION, gpu.name);
  const auto fp32 = CUBLAS_COMPUTE_32F, tf32 = CUBLAS_COMPUTE_32F_FAST_TF32;
  compare<Ampere<true, 128, 128, 32, 64>>("fp32 128x128x8", fp32);
  compare<Ampere<true, 128, 256, 64, 64>>("fp32 128x256x8", fp32);
  compare<Ampere<false, 128, 128, 32, 64>>("fp32 as 3xTF32 128x128x16", fp32);
  compare<Ampere<false, 128, 64, 64, 32>>("fp32 as 3xTF32 128x64x16", fp32);
  compare<Hopper<float, Column, 128, 32>>("tf32 128x256x32 cooperative, B by columns", tf32);
  compare<Hopper<float, Column, 64, 32>>("tf32 64x256x32 pingpong, B by columns", tf32);
  compare<Hopper<bfloat16_t, Row, 128, 64>>("bf16 128x256x64 cooperative", fp32);
  compare<Hopper<bfloat16_t, Row, 64, 64>>("bf16 64x256x64 pingpong", fp32);
}
