// The schedule of a product on several devices: which device owns which parts, and which panels
// travel when. Pure functions. It is SUMMA (R. van de Geijn and J. Watts, "SUMMA: Scalable
// Universal Matrix Multiplication Algorithm", Concurrency 9, 1997), begun as in L. E. Cannon's
// algorithm (1969).
//
// The devices form a grid of P x Q, numbered row by row. C is cut into P x Q parts, and each device
// computes the part at its place. K is cut into panels. A device owns the panels of its rows of A
// and of its columns of B that it multiplies first, and goes around K from there. So nobody waits
// for a first panel, and each one after that travels, from the device that owns it, while the one
// before it is multiplied.
//
// If the matrices stay in the host's memory, they pass through the devices. B's columns stay on a
// device while the rows of A and C pass: per block of rows, each panel of A is multiplied with its
// rows of B, which arrive with the first block. If the columns do not fit, the part is computed in
// several passes over fewer columns, and A passes in each of them.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "lab/request.h"

namespace cluster {

using lab::ProblemSize;

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// Of M, N or K: [begin, begin + size).
struct Interval {
  int begin, size;
  int end() const { return begin + size; }
  bool operator==(const Interval&) const = default;
};

// Part `index` of `extent` in `parts` parts. They differ by at most 4: all but the last are
// multiples of 4 if the extent is large enough, so that rows stay aligned for loads of 16 bytes.
Interval part_of(int extent, int parts, int index);

struct DeviceGrid {
  int rows, columns;  // P, Q
  int devices() const { return rows * columns; }
  int row_of(int device) const { return device / columns; }
  int column_of(int device) const { return device % columns; }
  int device_at(int row, int column) const { return row * columns + column; }
  bool are_in_line(int a, int b) const {
    return row_of(a) == row_of(b) || column_of(a) == column_of(b);
  }
  // A device's part of C.
  Interval M_of(ProblemSize size, int device) const {
    return part_of(size.M, rows, row_of(device));
  }
  Interval N_of(ProblemSize size, int device) const {
    return part_of(size.N, columns, column_of(device));
  }
  bool operator==(const DeviceGrid&) const = default;
};

// One multiplication of a device, of a block of C with a panel of K, and what arrives before it and
// leaves after it. A panel of A, and a block of C, has two places; so has a panel of B that comes
// from another device.
struct PanelStep {
  Interval rows, columns, k;
  bool first;  // of its block
  bool A_arrives, B_arrives, C_arrives = false, C_leaves = false;
  // If the matrices stay on the devices: which panel it is, and the devices that own it.
  int panel = 0, owner_of_A = 0, owner_of_B = 0;

  bool arrives() const { return A_arrives || B_arrives || C_arrives; }
};

struct Schedule {
  ProblemSize size;
  DeviceGrid grid;
  bool from_host;
  int panel = 0;                      // the most columns of A and rows of B in a panel
  std::vector<Interval> panels = {};  // of K, by k; some are empty if K is small
  // From the host: the most rows of a block and columns of a pass, and whether beta is not 0.
  int rows = 0, columns = 0;
  bool reads_C = false;
  std::vector<std::vector<PanelStep>> steps = {};  // of each device

  Interval M_of(int device) const { return grid.M_of(size, device); }
  Interval N_of(int device) const { return grid.N_of(size, device); }
  int turns() const { return static_cast<int>(panels.size()); }  // steps of a block

  // How much of K a device owns, where matrices stay on the devices.
  int K_of_A(int device) const { return K_owned(device, &PanelStep::A_arrives); }
  int K_of_B(int device) const { return K_owned(device, &PanelStep::B_arrives); }
  int K_owned(int device, bool PanelStep::*arrives) const;
};

// Of matrices that stay on the devices. Throws a Refusal if there would be too many steps to list.
Schedule schedule(ProblemSize size, DeviceGrid grid, int panel);

// Those among which the model chooses: with the widest panels that the grid allows, then with half
// as wide ones, and so on, down to 1024.
std::vector<Schedule> schedules(ProblemSize size, DeviceGrid grid);

// Of matrices that stay in the host's memory, for devices with this much of their own, in bytes.
// Throws a Refusal if it is too little for even the narrowest pass, or if there would be too many
// steps to list.
Schedule from_host(ProblemSize size, DeviceGrid grid, int panel, bool reads_C, double memory);

// The width of a panel from the host if none is requested: an equal part of K, but at least 1024,
// since each step loads and stores all of C once, and at most 4096, since two of them must fit
// beside the matrices.
int usual_panel(int K);

// The total number of floats that travel: each of A's to the Q - 1 other columns of the grid, each
// of B's to the P - 1 other rows.
double floats_that_travel(ProblemSize size, DeviceGrid grid);

// Of the grids that give each of so many devices a part of C, the one that is typed as "2x3". If
// none is, the one in which the fewest floats travel; of equal ones, that with the fewest rows.
// Throws a Refusal if there is none.
DeviceGrid choose_grid(ProblemSize size, int devices, const std::string& typed = "");
std::string in_words(DeviceGrid grid);  // "2 x 3"

// What a device sends, receives and holds. From the host, messages are copies.
struct Load {
  std::int64_t bytes_sent = 0, bytes_received = 0, messages_sent = 0, messages_received = 0;
  std::int64_t bytes_held = 0;  // its parts of A, B and C, and places for what arrives
  bool operator==(const Load&) const = default;
};

// Computed by formulas from the parts' sizes, without going through the steps, except for messages
// between devices.
Load predicted_load(const Schedule& schedule, int device);

// When each device copies and when it multiplies: modelled and measured times in the same form.

// The connection between devices. A transfer takes the latency plus its bytes divided by the rate.
struct Link {
  const char* name;
  double latency_us;
  double gb_per_s;            // into one device, while it also sends
  double host_gb_per_s;       // from the host's memory to a device, and back at the same time
  double host_pair_gb_per_s;  // the most of two devices, which share a port of the host
  const char* source;         // of these rates
};

const Link& find_link(std::string_view name);  // nvlink, pcie4 or 100GbE

enum class Lane { arrive, multiply, leave };  // panels come, are multiplied, results go

struct BusyTime {
  int device;
  Lane lane;
  int step;  // counted from 0, over all of the device's steps
  double begin_ms, end_ms;
};

struct Timeline {
  std::vector<BusyTime> times;  // device after device, and of each of its lanes in order
  double overhead_ms = 0;       // of the first device: what its launches take beside their work

  double ms() const;  // until the last of them ends
  int devices() const { return times.empty() ? 0 : times.back().device + 1; }
  // Of the time in which panels or results travel on some device, the part in which that device
  // also multiplies; 1 if nothing travels.
  double hidden() const;
  // Whether a model's time is worth printing: not if launches are more than 15 % of it.
  bool is_told() const { return overhead_ms <= 0.15 * ms(); }
};

// How fast a device multiplies: 2 floating-point operations per multiply-add.
struct Rate {
  double tflops;
  // A step takes so much more, since it is a launch of its own, and for each element of C if it is
  // not the first, since it loads C: if its rows begin at multiples of 16 bytes, and if not.
  double step_ms = 0, aligned_C_ms = 0, other_C_ms = 0;
  // One thread issues the steps of all devices of a process, which they wait for.
  double issue_ms = 0;
};
// With what else was measured, for that many devices in each process.
Rate measured_rate(double tflops, int devices_of_a_process);

}  // namespace cluster
