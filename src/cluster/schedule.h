// SUMMA, the schedule of a product on several devices: which device owns which parts, and which
// panels travel when. Pure functions. (R. van de Geijn and J. Watts, "SUMMA: Scalable Universal
// Matrix Multiplication Algorithm", Concurrency 9, 1997.)
//
// The devices form a grid of P x Q, numbered row by row. C is cut into P x Q parts, and each device
// computes the part at its place. A is cut in the same way: P parts of M, Q parts of K. So is B: P
// parts of K, Q parts of N. In each step, the devices in one column of the grid hold a panel of
// columns of A, and those in one row hold the panel of rows of B that belongs to it. They send them
// along their row and their column, and every device multiplies the two panels that it has
// received.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cluster {

struct Shape {
  int M, N, K;
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

// One panel: this part of K. A's lies in one column of the grid, B's in one row.
struct Step {
  Part k;
  int from_column, from_row;
};

struct Schedule {
  Shape shape;
  Grid grid;
  int panel;  // the most columns of A and rows of B in a panel; the first is a quarter of that
  std::vector<Step> steps;  // by k; one empty step if K is 0, so that C is still multiplied by beta

  int row_of(int device) const { return device / grid.columns; }
  int column_of(int device) const { return device % grid.columns; }
  int device_at(int row, int column) const { return row * grid.columns + column; }
  // A device's part of C, of K in A, and of K in B.
  Part M_of(int device) const { return part_of(shape.M, grid.rows, row_of(device)); }
  Part N_of(int device) const { return part_of(shape.N, grid.columns, column_of(device)); }
  Part K_of_A(int device) const { return part_of(shape.K, grid.columns, column_of(device)); }
  Part K_of_B(int device) const { return part_of(shape.K, grid.rows, row_of(device)); }
  // Whether a panel travels to this device in this step.
  bool receives_A(int device, const Step& step) const {
    return step.from_column != column_of(device);
  }
  bool receives_B(int device, const Step& step) const { return step.from_row != row_of(device); }
};

// The width of a panel if none is requested: an equal part of K, but at least 1024, since each step
// loads and stores all of C once, and at most 4096, since two of them must fit beside the matrices.
int usual_panel(int K, int panels = 4);
// From the host there are more: the first must arrive before anything is multiplied.
inline constexpr int kStreamPanels = 8;

// Throws a Refusal if there would be too many steps to list.
Schedule schedule(Shape shape, Grid grid, int panel);
void refuse_many_steps(double steps);  // of all devices

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

// The most that a device sends, receives and holds. A broadcast is a ring: each device of a row or
// column that has the panel sends it to the next, up to the one before the panel's owner.
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

// One multiplication: a block of C's rows, in a pass's columns, and a panel of K.
struct StreamStep {
  Part columns, rows, k;
  int block;         // counted over all passes
  bool B_arrives;    // in a pass's first block
  bool first, last;  // panel of the block: C may arrive before it, and leaves after it
};

// The steps of each device.
struct Streams {
  Shape shape;
  Grid grid;
  bool reads_C;     // beta is not 0
  int rows, panel;  // the most of a block
  int columns;      // the most of a pass
  std::vector<std::vector<StreamStep>> steps;
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
  double gb_per_s;       // into one device, while it also sends
  double host_gb_per_s;  // from the host's memory to a device, and back at the same time
  const char* source;    // of these rates
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
  double ms() const;  // until the last span's end
  // Of the time in which panels or results travel on some device, the part in which that device
  // also multiplies; 1 if nothing travels.
  double hidden() const;
};

// A device multiplies with `tflops`: 2 floating-point operations per multiply-add.
Timeline predict(const Schedule& schedule, const Link& link, double tflops);
Timeline predict(const Streams& streams, const Link& link, double tflops);

}  // namespace cluster
