// How much memory is free, checked before a request uses it.
#pragma once

#include <cstdint>
#include <string>

namespace lab {

// The number of bytes that this process can still allocate: what the kernel reports as available
// (MemAvailable), or less if its control groups (cgroup v1 and v2: containers, batch jobs) limit
// it. Files are read below `root`. If there are no such files, there is no limit: 2^64 - 1.
std::uint64_t available_memory(const std::string& root = "");

// Throws a Refusal if `needed` is more than `available`, in bytes: "--size 1000000000: 12 EB of
// memory is needed for A, B and C, and 21 GB is free; ...". Here "--size 1000000000" is the request
// and "A, B and C" the purpose. `needed` is a double because three matrices with the largest sides
// exceed 2^64 bytes.
void require_memory(
    double needed, std::uint64_t available, const std::string& request, const std::string& purpose);

}  // namespace lab
