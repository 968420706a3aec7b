#include "cluster/processes.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "model/refusal.h"
#include "text/fingerprint.h"

namespace cluster {

namespace {

std::uint64_t fingerprint(std::uint64_t hash, const char* bytes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    hash = text::fingerprint(hash, static_cast<unsigned char>(bytes[i]));
  }
  return hash;
}

std::uint64_t fingerprint_of_this_program() {
  std::ifstream program("/proc/self/exe", std::ios::binary);
  std::uint64_t hash = text::kNoFingerprint;
  std::vector<char> piece(1 << 20);
  while (program.read(piece.data(), static_cast<std::streamsize>(piece.size())),
         program.gcount() > 0) {
    hash = fingerprint(hash, piece.data(), static_cast<std::size_t>(program.gcount()));
  }
  return hash;
}

// The first process whose value is not the first's; 0 if there is none.
int first_that_differs(Processes& processes, std::uint64_t hash) {
  constexpr int kExact = 11;  // a double holds the other 53 bits
  const std::vector<double> all = processes.collect(static_cast<double>(hash >> kExact));
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] != all[0]) return static_cast<int>(rank);
  }
  return 0;
}

}  // namespace

Processes& Processes::all() {
  static Processes processes;
  return processes;
}

bool started_by_mpirun() {
  // Open MPI, and what MPICH and Slurm set.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* const size = std::getenv(name);
    if (size != nullptr && std::atoi(size) > 1) return true;
  }
  return false;
}

void require_equal(Processes& processes, const std::string& command) {
  if (processes.size() == 1) return;
  if (const int rank = first_that_differs(processes, fingerprint_of_this_program()); rank != 0) {
    throw model::Refusal(
        "process " + std::to_string(rank) +
        " runs another build of gemm_steps than process 0; give all of them the same program");
  }
  // The program may have another path on another machine.
  const std::size_t begin = std::min(command.find(' '), command.size());
  const std::uint64_t hash =
      fingerprint(text::kNoFingerprint, command.data() + begin, command.size() - begin);
  if (const int rank = first_that_differs(processes, hash); rank != 0) {
    throw model::Refusal(
        "process " + std::to_string(rank) +
        " was started with other flags than process 0; give all of them the same");
  }
}

}  // namespace cluster
