#include "lab/threads.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <semaphore>
#include <string>
#include <vector>

#include "model/refusal.h"
#include "text/echoed.h"

namespace lab {

namespace {

constexpr std::size_t kStackBytes = std::size_t{8} << 20;
constexpr std::size_t kLeastStackBytes = std::size_t{2} << 20;

// The value of OMP_STACKSIZE: a number, in kilobytes unless B, K, M or G follows. OpenMP ignores
// any other text, and so does this.
void refuse_small_stacks(const char* name) {
  const char* asked = std::getenv(name);
  if (asked == nullptr) return;
  char* end = nullptr;
  double bytes = std::strtod(asked, &end);
  while (*end == ' ') ++end;
  switch (std::toupper(static_cast<unsigned char>(*end))) {
    case 'B':
      break;
    case '\0':
    case 'K':
      bytes *= 1 << 10;
      break;
    case 'M':
      bytes *= 1 << 20;
      break;
    default:
      return;
  }
  if (end == asked || bytes >= kLeastStackBytes) return;
  throw model::Refusal(
      std::string(name) + "=" + text::echoed(asked) +
      ": the threads need a stack of at least 2 MB; unset this variable");
}

// How many threads besides this one the system can create, up to `most`.
int threads_to_be_had(int most) {
  std::counting_semaphore<> go(0);
  const auto wait = [](void* until) -> void* {
    static_cast<std::counting_semaphore<>*>(until)->acquire();
    return nullptr;
  };
  std::vector<pthread_t> threads;
  for (pthread_t thread; static_cast<int>(threads.size()) < most;) {
    if (pthread_create(&thread, nullptr, wait, &go) != 0) break;
    threads.push_back(thread);
  }
  go.release(static_cast<std::ptrdiff_t>(threads.size()));
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  return static_cast<int>(threads.size());
}

}  // namespace

void prepare_threads() {
  for (const char* name : {"OMP_STACKSIZE", "GOMP_STACKSIZE"}) refuse_small_stacks(name);
  pthread_attr_t attributes;
  std::size_t bytes = 0;
  if (pthread_getattr_default_np(&attributes) == 0) {
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_setstacksize(&attributes, std::max(bytes, kStackBytes));
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
  }
  constexpr int kMostOfAProcessor = 8;
  const int most = std::min(omp_get_max_threads(), kMostOfAProcessor * omp_get_num_procs());
  omp_set_num_threads(1 + threads_to_be_had(most - 1));
}

}  // namespace lab
