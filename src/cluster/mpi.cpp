// Processes that mpirun started, by MPI.
#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "cluster/devices.h"

namespace cluster {

namespace {

char last_words[64];

// mpirun ends the processes that are left by this signal when one has died or given up.
void say_and_end(int) {
  const ssize_t written = write(STDERR_FILENO, last_words, std::strlen(last_words));
  _exit(written < 0 ? 3 : 2);
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

void Processes::share(void* data, int bytes) {
  if (size_ > 1) MPI_Bcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

double Processes::largest(double value) {
  if (size_ > 1) MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return value;
}

// MPI counts in ints. Products that the CPU plays have no larger panels.
void Processes::send(const float* data, std::int64_t floats, int to) {
  MPI_Send(data, static_cast<int>(floats), MPI_FLOAT, to, 0, MPI_COMM_WORLD);
}

void Processes::receive(float* data, std::int64_t floats, int from) {
  MPI_Recv(data, static_cast<int>(floats), MPI_FLOAT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void Processes::abort(int exit_code) {
  if (size_ > 1) MPI_Abort(MPI_COMM_WORLD, exit_code);
}

}  // namespace cluster
