// The processes that share the work: this one alone, or those that mpirun started, one per device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cluster {

class Processes {
 public:
  // Of this program's processes. Throws a Refusal if mpirun started them and the program was built
  // without MPI.
  static Processes& all();
  static bool can_be_several();  // whether it was built with MPI

  int rank() const { return rank_; }
  int size() const { return size_; }
  int rank_on_machine() const { return rank_on_machine_; }  // among those of the same machine
  bool is_first() const { return rank_ == 0; }

  // Every process must call these in the same order.
  void wait_for_all();
  void share(void* data, std::int64_t bytes);  // the first process's, with all others
  std::vector<double> collect(double value);   // every process's, for every process

  // From this process to that one, which calls receive; in the order of the calls.
  void send(const void* data, std::int64_t bytes, int to);
  void receive(void* data, std::int64_t bytes, int from);

  // Ends all other processes. Does nothing if there are none.
  void abort(int exit_code);

 private:
  Processes();
  ~Processes();

  int rank_ = 0, size_ = 1, rank_on_machine_ = 0;
};

// Whether mpirun, or what some other MPI calls it, started this process.
bool started_by_mpirun();

// Throws a Refusal in every process unless all of them run the same program with the same
// command.
void require_equal(Processes& processes, const std::string& command);

}  // namespace cluster
