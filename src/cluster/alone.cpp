// Processes without MPI: there is only this one.

#include "cluster/devices.h"
#include "model/refusal.h"

namespace cluster {

bool Processes::can_be_several() {
  return false;
}

Processes::Processes() {
  if (!started_by_mpirun()) return;
  throw model::Refusal(
      "mpirun started several processes, and this program was built without MPI; install "
      "libopenmpi-dev and build it again");
}
Processes::~Processes() = default;

void Processes::wait_for_all() {}
void Processes::share(void*, int) {}
double Processes::largest(double value) {
  return value;
}
void Processes::send(const float*, std::int64_t, int) {}
void Processes::receive(float*, std::int64_t, int) {}
void Processes::abort(int) {}

}  // namespace cluster
