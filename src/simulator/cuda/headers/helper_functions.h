// The functions of the CUDA samples' helper_functions.h, for builds without the samples: arguments,
// stop watch and comparisons. Those that read and write images are not here.
// A program with its own version keeps that.
#pragma once

#if __has_include_next(<helper_functions.h>)
#include_next <helper_functions.h>
#else

#include <cmath>
#include <cstdio>
#include <cstdlib>

#if __has_include(<helper_string.h>)
#include <helper_string.h>
#else
#include "simulator/cuda/headers/helper_string.h"
#endif
#include "simulator/cuda/headers/helper_timer.h"

#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif

// Whether the norm of the difference is less than `epsilon` times the norm of the reference.
inline bool sdkCompareL2fe(
    const float* reference, const float* data, const unsigned count, const float epsilon) {
  double difference = 0, norm = 0;
  for (unsigned i = 0; i < count; ++i) {
    const double d = static_cast<double>(reference[i]) - data[i];
    difference += d * d;
    norm += static_cast<double>(reference[i]) * reference[i];
  }
  return norm > 0 && std::sqrt(difference) < epsilon * std::sqrt(norm);
}

// Whether at most the part `threshold` of the elements differ by more than `epsilon`.
template <class T, class S>
bool compareData(
    const T* reference, const T* data, const unsigned count, const S epsilon,
    const float threshold) {
  unsigned wrong = 0;
  for (unsigned i = 0; i < count; ++i) {
    const double difference = static_cast<double>(reference[i]) - static_cast<double>(data[i]);
    if (!(std::fabs(difference) <= static_cast<double>(epsilon))) ++wrong;
  }
  return threshold == 0 ? wrong == 0 : wrong <= threshold * count;
}

#endif
