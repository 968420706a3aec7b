// Loads and stores with a cache hint. A hint changes no count.
#pragma once

#include <type_traits>

#include "simulator/cuda/runtime.h"
#include "simulator/cuda/vector_types.h"

// The launch must not store what __ldg loads, so this reports the load to the tracer. (A user's
// file is preprocessed once for both of its copies, so no macro tells them apart.)
template <class T>
inline SIMT_ALWAYS_INLINE T __ldg(const T* p) {
  simt::read_only_load(p, sizeof(T));
  return *p;
}

#define SIMT_LOAD(name)                          \
  template <class T>                             \
  inline SIMT_ALWAYS_INLINE T name(const T* p) { \
    return *p;                                   \
  }
#define SIMT_STORE(name)                                                            \
  template <class T>                                                                \
  inline SIMT_ALWAYS_INLINE void name(T* p, const std::type_identity_t<T>& value) { \
    *p = value;                                                                     \
  }
SIMT_LOAD(__ldca)
SIMT_LOAD(__ldcg)
SIMT_LOAD(__ldcs)
SIMT_LOAD(__ldlu)
SIMT_LOAD(__ldcv)
SIMT_STORE(__stwb)
SIMT_STORE(__stcg)
SIMT_STORE(__stcs)
SIMT_STORE(__stwt)
#undef SIMT_LOAD
#undef SIMT_STORE
