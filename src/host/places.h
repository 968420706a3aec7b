// Whose memory a pointer of the program points to.
#pragma once

#include <cstddef>
#include <string>

namespace host {

struct Place {
  bool for_host, for_gpu;                            // who may access it
  std::string name;                                  // empty: unknown
  std::size_t bytes = static_cast<std::size_t>(-1);  // from the pointer to the end, if known
  bool freed = false;
};

Place place_of(const void* pointer);

// A __device__ or __constant__ variable is the GPU's. Host code that was given its address is
// remembered here.
void know_symbol(const void* data, std::size_t bytes);

// Memory that the program's host code has allocated, and freed.
void know_heap(const void* memory, std::size_t bytes);
void forget_heap(const void* memory);

// Why this pointer cannot be freed as it was asked for.
std::string why_not_free(const void* pointer);

}  // namespace host
