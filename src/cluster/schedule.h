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
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cluster {

struct Shape {
  int M, N, K;
  bool operator==(const Shape&) const = default;
};

struct Grid {
  int rows, columns;  // P, Q
  int devices() const { return rows * columns; }
  bool operator==(const Grid&) const = default;
};

// A part of M, N or K: [begin, begin + size).
struct Part {
  int begin, size;
  int end() const { return begin + size; }
  bool operator==(const Part&) const = default;
};

// Part `index` of `extent` in `parts` parts. They differ by at most 4: all but the last are
// multiples of 4 if the extent is large enough, so that rows stay aligned for loads of 16 bytes.
Part part_of(int extent, int parts, int index);

struct Schedule {
  Shape shape;
  Grid grid;
  int panel;                 // the most columns of A and rows of B in a panel
  std::vector<Part> panels;  // of K, by k; some are empty if K is small

  int row_of(int device) const { return device / grid.columns; }
  int column_of(int device) const { return device % grid.columns; }
  int device_at(int row, int column) const { return row * grid.columns + column; }
  bool are_in_line(int a, int b) const {
    return row_of(a) == row_of(b) || column_of(a) == column_of(b);
  }
  // A device's part of C.
  Part M_of(int device) const { return part_of(shape.M, grid.rows, row_of(device)); }
  Part N_of(int device) const { return part_of(shape.N, grid.columns, column_of(device)); }

  int steps() const { return static_cast<int>(panels.size()); }
  // The panel that a device multiplies in a step. Those of its first steps are its own: as many of
  // A as its row has columns to share them, and as many of B as its column has rows.
  int panel_at(int device, int step) const;
  const Part& k_at(int device, int step) const { return panels[panel_at(device, step)]; }
  int own_of_A() const { return steps() / grid.columns; }
  int own_of_B() const { return steps() / grid.rows; }
  int K_of_A(int device) const;
  int K_of_B(int device) const;
  // Whether a panel travels to each device in that step, and the device that sends it.
  bool receives_A(int step) const { return step >= own_of_A(); }
  bool receives_B(int step) const { return step >= own_of_B(); }
  bool receives(int step) const { return receives_A(step) || receives_B(step); }
  int owner_of_A(int device, int step) const;
  int owner_of_B(int device, int step) const;
};

// One multiplication of a device, of a block of C with a panel of K, and what arrives before it and
// leaves after it. A panel of A, and a block of C, has two places; so has a panel of B of a
// Schedule.
struct Step {
  Part rows, columns, k;
  bool first;  // of its block
  bool A_arrives, B_arrives, C_arrives = false, C_leaves = false;
  int block = 0;  // counted over all passes (Streams)

  bool arrives() const { return A_arrives || B_arrives || C_arrives; }
};
using Steps = std::vector<std::vector<Step>>;  // of each device
Steps steps_of(const Schedule& schedule);

// The width of a panel from the host if none is requested: an equal part of K, but at least 1024,
// since each step loads and stores all of C once, and at most 4096, since two of them must fit
// beside the matrices.
int usual_panel(int K);

// Throws a Refusal if there would be too many steps to list.
Schedule schedule(Shape shape, Grid grid, int panel);
void refuse_many_steps(double steps);  // of all devices

// Those among which the model chooses: with the widest panels that the grid allows, then with half
// as wide ones, and so on, down to 1024.
std::vector<Schedule> schedules(Shape shape, Grid grid);

// The total number of floats that travel: each of A's to the Q - 1 other columns of the grid, each
// of B's to the P - 1 other rows.
double floats_that_travel(Shape shape, Grid grid);

// The grid of that many devices in which the fewest floats travel; of equal ones, the one with the
// fewest rows. Throws a Refusal if C has too few rows and columns to give every device a part.
Grid choose_grid(Shape shape, int devices);

// "2x3". Throws a Refusal unless it is two whole numbers whose product is `devices` and C has that
// many rows and columns.
Grid read_grid(std::string_view typed, Shape shape, int devices);
std::string in_words(Grid grid);  // "2 x 3"

// The most that a device sends, receives and holds.
struct Load {
  std::int64_t bytes_sent = 0, bytes_received = 0, messages_sent = 0, messages_received = 0;
  std::int64_t bytes_held = 0;  // its parts of A, B and C, and two panels of each that arrives
  bool operator==(const Load&) const = default;
};

// Computed by formulas from the parts' sizes, without going through the steps, except for
// messages_*.
Load predicted_load(const Schedule& schedule, int device);

// The schedule of a product whose matrices stay in the host's memory and pass through the devices.
//
// Each device computes its part of C. B's columns stay on it while the rows of A and C pass: per
// block of rows, each panel of A is multiplied with its rows of B, which arrive with the first
// block. If the columns do not fit, the part is computed in several passes over fewer columns, and
// A passes in each of them.

struct Streams {
  Shape shape;
  Grid grid;
  int rows, panel;  // the most of a block
  int columns;      // the most of a pass
  bool reads_C;     // beta is not 0
  Steps steps = {};
};

// For devices with this much memory, in bytes. Throws a Refusal if it is too little for even the
// narrowest pass, or if there would be too many steps to list.
Streams streams(Shape shape, Grid grid, int panel, bool reads_C, double memory);

// The most that a device copies from and to the host, and holds. Messages are copies.
Load predicted_load(const Streams& streams, int device);

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

// nvlink, pcie4 or 100GbE. Throws a Refusal that lists them for any other name.
const Link& find_link(std::string_view name);

enum class Lane { arrive, multiply, leave };  // panels come, are multiplied, results go

struct Span {
  int device;
  Lane lane;
  int step;  // counted from 0, over all of the device's steps
  double begin_ms, end_ms;
};

struct Timeline {
  std::vector<Span> spans;
  double overhead_ms = 0;  // of the first device: what its launches take beside their work

  double ms() const;  // until the last span's end
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

  double overhead_ms(bool is_first) const { return issue_ms + (is_first ? 0 : step_ms); }
};
// With what else was measured, for that many devices in each process.
Rate measured_rate(double tflops, int devices_of_a_process);

Timeline predict(const Schedule& schedule, const Link& link, const Rate& rate);
Timeline predict(const Streams& streams, const Link& link, const Rate& rate);

}  // namespace cluster
