#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "cuda/headers/cuda_runtime.h"
#include "cuda/headers/curand.h"
#include "host/call.h"

namespace host {
namespace {

constexpr int kCount = 20000;

double mean_of(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation_of(const std::vector<float>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const float value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

}  // namespace

TEST_CASE("cuRAND's generators have the distributions that they are named for") {
  forget_notes();
  curandGenerator_t generator = nullptr;
  REQUIRE(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT) == CURAND_STATUS_SUCCESS);
  REQUIRE(notes().size() == 1);
  CHECK(
      notes()[0].sentence ==
      "cuRAND's numbers have the right distribution here, but are others than a GPU's.");
  float* d = nullptr;
  REQUIRE(cudaMalloc(&d, kCount * sizeof(float)) == cudaSuccess);
  std::vector<float> values(kCount);
  const auto fetch = [&] {
    REQUIRE(
        cudaMemcpy(values.data(), d, kCount * sizeof(float), cudaMemcpyDeviceToHost) ==
        cudaSuccess);
  };
  CHECK(curandSetPseudoRandomGeneratorSeed(generator, 1234) == CURAND_STATUS_SUCCESS);
  CHECK(curandGenerateUniform(generator, d, kCount) == CURAND_STATUS_SUCCESS);
  fetch();
  const std::vector<float> first = values;
  CHECK(*std::min_element(values.begin(), values.end()) > 0);
  CHECK(*std::max_element(values.begin(), values.end()) <= 1);
  CHECK(mean_of(values) == doctest::Approx(0.5).epsilon(0.02));
  CHECK(deviation_of(values) == doctest::Approx(std::sqrt(1.0 / 12)).epsilon(0.02));
  CHECK(curandGenerateNormal(generator, d, kCount, 5, 2) == CURAND_STATUS_SUCCESS);
  fetch();
  CHECK(mean_of(values) == doctest::Approx(5).epsilon(0.02));
  CHECK(deviation_of(values) == doctest::Approx(2).epsilon(0.03));
  // The same seed gives the same numbers.
  CHECK(curandSetPseudoRandomGeneratorSeed(generator, 1234) == CURAND_STATUS_SUCCESS);
  CHECK(curandGenerateUniform(generator, d, kCount) == CURAND_STATUS_SUCCESS);
  fetch();
  CHECK(values == first);

  auto* const counts = reinterpret_cast<unsigned*>(d);
  CHECK(curandGeneratePoisson(generator, counts, kCount, 3) == CURAND_STATUS_SUCCESS);
  std::vector<unsigned> events(kCount);
  REQUIRE(
      cudaMemcpy(events.data(), d, kCount * sizeof(float), cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(
      std::accumulate(events.begin(), events.end(), 0.0) / kCount ==
      doctest::Approx(3).epsilon(0.03));
  CHECK(curandGeneratePoisson(generator, counts, kCount, -1) == CURAND_STATUS_OUT_OF_RANGE);

  CHECK(curandGenerateNormal(generator, d, kCount - 1, 0, 1) == CURAND_STATUS_LENGTH_NOT_MULTIPLE);
  CHECK(curandGenerateUniform(generator, d, kCount + 1) == CURAND_STATUS_LAUNCH_FAILURE);
  CHECK(curandGenerateUniform(generator, values.data(), 1) == CURAND_STATUS_LAUNCH_FAILURE);
  CHECK(curandDestroyGenerator(generator) == CURAND_STATUS_SUCCESS);
  CHECK(curandGenerateUniform(generator, d, 1) == CURAND_STATUS_NOT_INITIALIZED);
  CHECK(cudaFree(d) == cudaSuccess);
}

TEST_CASE("a generator of the host fills memory of the host") {
  curandGenerator_t generator = nullptr;
  REQUIRE(
      curandCreateGeneratorHost(&generator, CURAND_RNG_PSEUDO_MT19937) == CURAND_STATUS_SUCCESS);
  std::vector<double> values(100, -1);
  CHECK(curandGenerateUniformDouble(generator, values.data(), 100) == CURAND_STATUS_SUCCESS);
  CHECK(*std::min_element(values.begin(), values.end()) > 0);
  CHECK(curandDestroyGenerator(generator) == CURAND_STATUS_SUCCESS);
}

}  // namespace host
