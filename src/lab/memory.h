// How much memory there is, before a request takes more.
#pragma once

#include <cstdint>
#include <string>

namespace lab {

// Bytes that this process can still take: what the kernel calls available (MemAvailable), or what
// the control groups it runs in (cgroup v1 and v2: containers, batch jobs) leave it, where that is
// less. Files are read below `root`. Without any of them there is no limit: 2^64 - 1.
std::uint64_t available_memory(const std::string& root = "");

// Throws a Refusal where `needed` is more than `available`, in bytes, as in
//   --size 1000000000: 12 EB of memory is needed for A, B and C, and 21 GB is free; ...
// with "--size 1000000000" as the request and "A, B and C" as the purpose. `needed` is a double
// because three matrices of the largest sides pass 2^64 bytes.
void require_memory(
    double needed, std::uint64_t available, const std::string& request, const std::string& purpose);

}  // namespace lab
