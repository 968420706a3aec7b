#include "pictures/first_wave.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "lab/problem.h"
#include "trace/recorder.h"
#include "trace/trace.h"

namespace pictures {

void add_block(FirstWave& wave, const BlockRequests& block, const model::Variant& variant) {
  bool stores_C = false;
  for (const Request& request : block.requests) {
    if (request.shared) continue;
    for (int lane = 0; lane < block.warp.lanes; ++lane) {
      if (!is_active(request.access, lane)) continue;
      const int words = std::max(request.access.bytes, model::kWordBytes) / model::kWordBytes;
      const Element e = element_at(block, request.array[0], request.access.address[lane]);
      if (e.matrix == 'A') wave.rows_of_A.insert(e.row);
      for (int w = 0; w < words && e.matrix == 'B'; ++w) wave.columns_of_B.insert(e.col + w);
      if (e.matrix == 'C' && !std::exchange(stores_C, true)) {
        wave.tiles.push_back({e.row / variant.BM, e.col / variant.BN});
      }
    }
  }
}

FirstWave first_wave(
    const model::StageTable& table, const model::Variant& variant, const model::Gpu& gpu, int M,
    int N) {
  const int K = variant.BK;
  const lab::Floats A(static_cast<std::size_t>(M) * K), B(static_cast<std::size_t>(K) * N);
  // Only the pages that these blocks store to take memory, so C is not a vector, which is filled.
  const std::size_t bytes = static_cast<std::size_t>(M) * N * sizeof(float);
  const std::unique_ptr<void, void (*)(void*)> C(lab::allocate_guarded(bytes), lab::free_guarded);
  const machine::GlobalArray arrays[] = {
      {"A", A.data(), A.size() * sizeof(float)},
      {"B", B.data(), B.size() * sizeof(float)},
      {"C", C.get(), bytes, true}};

  std::vector<std::int64_t> blocks(gpu.sms);
  std::iota(blocks.begin(), blocks.end(), 0);
  trace::Recorder recorder{.blocks = blocks};
  machine::Machine machine{&gpu, machine::Blocks::kSample, false};
  machine.recorder = &recorder;
  machine.sample = [&](machine::Extent grid) {
    auto those = blocks;
    those.resize(std::min<std::int64_t>(gpu.sms, grid.volume()));
    return those;
  };
  machine.arrays = arrays;
  trace::trace(machine, arrays, [&] {
    table.run(variant, gpu.sms, M, N, K, 1, A.data(), B.data(), 0, static_cast<float*>(C.get()));
  });
  FirstWave wave;
  for (const std::int64_t block : blocks) {
    add_block(wave, requests_of_block(recorder.launches.at(0), block, M, N, K), variant);
  }
  return wave;
}

int lines_read(const FirstWave& wave) {
  return static_cast<int>(wave.rows_of_A.size() + wave.columns_of_B.size());
}

}  // namespace pictures
