#include "cluster/devices.h"

namespace cluster {

float* Devices::allocate(int device, std::int64_t floats) {
  float* const memory = new_memory(device, floats);
  loads_[device].bytes_held += floats * std::int64_t{sizeof(float)};
  return memory;
}

void Devices::copy_in(int device, Lane lane, float* to, HostBlock from) {
  if (from.rows == 0 || from.columns == 0) return;
  start_copy(
      device, lane, to, from.columns, from.first, from.pitch, from.rows, from.columns,
      /*into_device=*/true);
  loads_[device].bytes_received += std::int64_t{sizeof(float)} * from.rows * from.columns;
  ++loads_[device].messages_received;
}

void Devices::copy_out(int device, Lane lane, HostBlock to, const float* from) {
  if (to.rows == 0 || to.columns == 0) return;
  start_copy(
      device, lane, to.first, to.pitch, from, to.columns, to.rows, to.columns,
      /*into_device=*/false);
  loads_[device].bytes_sent += std::int64_t{sizeof(float)} * to.rows * to.columns;
  ++loads_[device].messages_sent;
}

void Devices::broadcast(const std::vector<Broadcast>& broadcasts) {
  if (broadcasts.empty()) return;
  start_broadcasts(broadcasts);
  for (const Broadcast& b : broadcasts) {
    const std::int64_t bytes = b.floats * std::int64_t{sizeof(float)};
    for (const int sender : senders(b)) {
      const int receiver = (sender + 1) % static_cast<int>(b.devices.size());
      if (b.places[sender] != nullptr) {
        loads_[b.devices[sender]].bytes_sent += bytes;
        ++loads_[b.devices[sender]].messages_sent;
      }
      if (b.places[receiver] != nullptr) {
        loads_[b.devices[receiver]].bytes_received += bytes;
        ++loads_[b.devices[receiver]].messages_received;
      }
    }
  }
}

void Devices::reset_counters() {
  for (Load& load : loads_) {
    Load reset;
    reset.bytes_held = load.bytes_held;
    load = reset;
  }
}

std::vector<int> senders(const Broadcast& broadcast) {
  const int size = static_cast<int>(broadcast.devices.size());
  std::vector<int> positions;
  for (int hop = 0; hop + 1 < size; ++hop) positions.push_back((broadcast.owner + hop) % size);
  return positions;
}

}  // namespace cluster
