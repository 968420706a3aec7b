// A condition on a word in the GPU's memory, for kernels of which one is to run: the GPU decides.
#pragma once

// It holds if these bits of the word are so, or, with `otherwise`, if they are not. Without a word
// it holds.
struct OnlyIf {
  const unsigned* word = nullptr;
  unsigned mask = 0, is = 0;
  bool otherwise = false;
};

// For a kernel that is launched early (launch_if), behind the one that writes the word: it waits
// for that one to end. (On a CPU it has ended.)
#if defined(__NVCC__) && !defined(SIMT_REWRITTEN)
__device__
#endif
    inline bool
    is_to_run(const OnlyIf& condition) {
  if (condition.word == nullptr) return true;
#if defined(__CUDA_ARCH__) && !defined(SIMT_REWRITTEN)
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");  // by no name that a user may have
#else
  __trap();
#endif
#endif
  return ((*condition.word & condition.mask) == condition.is) != condition.otherwise;
}
