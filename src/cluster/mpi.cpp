// Processes that mpirun started, by MPI.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "cluster/devices.h"

namespace cluster {

namespace {

constexpr std::int64_t kMostBytes = 1 << 30;  // of a message: MPI counts in ints

char last_words[64];

// mpirun ends the processes that are left by this signal when one has died or given up.
void say_and_end(int) {
  const ssize_t written = write(STDERR_FILENO, last_words, std::strlen(last_words));
  _exit(written < 0 ? 3 : 2);
}

template <class Data, class Transfer>
void in_pieces(Data* data, std::int64_t bytes, Transfer transfer) {
  for (std::int64_t done = 0; done < bytes; done += kMostBytes) {
    transfer(data + done, static_cast<int>(std::min(kMostBytes, bytes - done)));
  }
}

}  // namespace

bool Processes::can_be_several() {
  return true;
}

Processes::Processes() {
  // Without mpirun there are no other processes, and MPI takes long to start.
  if (!started_by_mpirun()) return;
  MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm machine;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine);
  MPI_Comm_rank(machine, &rank_on_machine_);
  MPI_Comm_free(&machine);
  std::snprintf(
      last_words, sizeof last_words, "gemm_steps: process %d ends, since another has ended\n",
      rank_);
  std::signal(SIGTERM, say_and_end);
}

Processes::~Processes() {
  if (started_by_mpirun()) MPI_Finalize();
}

void Processes::wait_for_all() {
  if (size_ > 1) MPI_Barrier(MPI_COMM_WORLD);
}

void Processes::share(void* data, std::int64_t bytes) {
  if (size_ == 1) return;
  in_pieces(static_cast<char*>(data), bytes, [](char* piece, int size) {
    MPI_Bcast(piece, size, MPI_BYTE, 0, MPI_COMM_WORLD);
  });
}

std::vector<double> Processes::collect(double value) {
  std::vector<double> all(size_, value);
  if (size_ > 1) {
    MPI_Allgather(&value, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, MPI_COMM_WORLD);
  }
  return all;
}

void Processes::send(const void* data, std::int64_t bytes, int to) {
  in_pieces(static_cast<const char*>(data), bytes, [&](const char* piece, int size) {
    MPI_Send(piece, size, MPI_BYTE, to, 0, MPI_COMM_WORLD);
  });
}

void Processes::receive(void* data, std::int64_t bytes, int from) {
  in_pieces(static_cast<char*>(data), bytes, [&](char* piece, int size) {
    MPI_Recv(piece, size, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
}

void Processes::abort(int exit_code) {
  if (size_ > 1) MPI_Abort(MPI_COMM_WORLD, exit_code);
}

}  // namespace cluster
