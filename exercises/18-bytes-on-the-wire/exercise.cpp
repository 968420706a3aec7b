#include "school/grade/exercise.h"

#include <algorithm>

#include "school/grade/complaint.h"

namespace {

// Layers of rows x columns devices each. 1D is one layer of one row, 2D is one layer.
struct Grid {
  int layers, rows, columns;
};

struct Device {
  int layer, row, column;
  double bytes_held = 0;      // its parts of A, B and C
  double bytes_received = 0;  // of A and B
  double bytes_summed = 0;    // parts of C that it receives from other layers
  double multiply_adds = 0;
};

// What happens to the devices, panel by panel. The grid must divide the shape evenly. This is a
// schedule and not a formula: the students' formulas are compared with it.
std::vector<Device> played(Shape shape, Grid grid) {
  const auto [M, N, K, variant, large] = shape;
  const int height = M / grid.rows, width = N / grid.columns;  // of a part of C
  const int K_of_A = K / grid.columns, K_of_B = K / grid.rows;
  constexpr double kBytes = sizeof(float);
  std::vector<Device> devices;
  for (int layer = 0; layer < grid.layers; ++layer) {
    for (int row = 0; row < grid.rows; ++row) {
      for (int column = 0; column < grid.columns; ++column) {
        devices.push_back({layer, row, column});
      }
    }
  }

  // So narrow that a panel lies on one column of the grid, on one row, and in one layer's share.
  const int panel = K / (grid.layers * grid.rows * grid.columns);
  for (int k = 0; k < K; k += panel) {
    const int from_column = k / K_of_A, from_row = k / K_of_B;
    const int layer = k % K_of_A / (K_of_A / grid.layers);
    for (Device& device : devices) {
      if (device.layer != layer) continue;
      if (device.column != from_column) device.bytes_received += kBytes * height * panel;
      if (device.row != from_row) device.bytes_received += kBytes * panel * width;
      device.multiply_adds += 1.0 * height * width * panel;
    }
  }
  for (Device& device : devices) {
    device.bytes_held = kBytes * (1.0 * height * K_of_A + 1.0 * K_of_B * width + height * width);
    if (device.layer == 0) continue;
    for (Device& first : devices) {
      if (first.layer == 0 && first.row == device.row && first.column == device.column) {
        first.bytes_summed += kBytes * height * width;
      }
    }
  }
  return devices;
}

double most(const std::vector<Device>& devices, double Device::*what) {
  double value = 0;
  for (const Device& device : devices) value = std::max(value, device.*what);
  return value;
}

double sum(const std::vector<Device>& devices, double Device::*what) {
  double value = 0;
  for (const Device& device : devices) value += device.*what;
  return value;
}

// A shape and grids, with the truth about them as measures.
grade::Case drawn(grade::Random& random) {
  int P = 0, Q = 0, L = 0, m = 0, n = 0, k = 0;
  // If two were equal, a formula that mixes them up could be right.
  while (P == Q || Q == L || L == P) {
    P = random.between(2, 6);
    Q = random.between(3, 6);
    L = random.between(2, Q);
  }
  while (m == n || n == k || k == m) {
    m = random.between(1, 5);
    n = random.between(1, 5);
    k = random.between(1, 5);
  }
  const int even = P * Q * Q * L;
  grade::Case c;
  c.shape = {even * m, even * n, even * k};
  const int M = c.shape.M;
  const std::vector<Device> one = played(c.shape, {1, 1, Q}), two = played(c.shape, {1, P, Q}),
                            layers = played(c.shape, {L, Q, Q}),
                            square = played(c.shape, {1, Q, Q}),
                            cube_1d = played({M, M, M}, {1, 1, Q * Q}),
                            cube_2d = played({M, M, M}, {1, Q, Q});
  c.measures = {
      {"M", M},
      {"N", c.shape.N},
      {"K", c.shape.K},
      {"P", P},
      {"Q", Q},
      {"L", L},
      {"counted_1d", most(one, &Device::bytes_received)},
      {"counted_2d", most(two, &Device::bytes_received)},
      {"counted_all_2d", sum(two, &Device::bytes_received)},
      {"counted_held_2d", most(two, &Device::bytes_held)},
      {"counted_layers", most(layers, &Device::bytes_received)},
      {"counted_summed", most(layers, &Device::bytes_summed)},
      {"counted_work_per_byte",
       most(square, &Device::multiply_adds) / most(square, &Device::bytes_received)},
      {"counted_times_1d",
       most(cube_1d, &Device::bytes_received) / most(cube_2d, &Device::bytes_received)}};
  return c;
}

constexpr const char* kFloats = "that is the number of floats; a float has 4 bytes";
constexpr const char* kAllDevices = "that is the number for all devices together; count one";

const std::vector<grade::Question> kQuestions = {
    {"received_1d",
     "1D: how many bytes does one device receive?",
     "counted_1d",
     {{"4*M*K", "a device has K/Q columns of A from the start, and nobody sends them to it"},
      {"M*(K - K/Q)", kFloats},
      {"4*M*K*(Q - 1)", kAllDevices},
      {"4*M*K/Q", "that is what a device owns of A; the parts of all others travel to it"},
      {"4*K*(N - N/Q)", "here A travels; a device needs no columns of B but its own"},
      {"4*(M*(K - K/Q) + K*(N - N/Q))",
       "here only A travels; a device needs no columns of B but its own"}}},
    {"received_2d",
     "2D: how many bytes of A and B does one device receive?",
     "counted_2d",
     {{"4*K*(M/P + N/Q)",
       "a device owns some of the panels of A and of B, and nobody sends them to it"},
      {"M/P*(K - K/Q) + N/Q*(K - K/P)", kFloats},
      {"4*(M*K*(Q - 1) + K*N*(P - 1))", kAllDevices},
      {"4*(M/P*(K - K/P) + N/Q*(K - K/Q))",
       "A travels along a row of the grid, which has Q devices with K/Q columns each; B travels "
       "along a column, which has P devices"},
      {"4*(M/Q*(K - K/P) + N/P*(K - K/Q))",
       "the grid has P rows, which share M, and Q columns, which share N"},
      {"4*M/P*(K - K/Q)", "that is A alone; panels of B arrive, too"},
      {"4*N/Q*(K - K/P)", "that is B alone; panels of A arrive, too"},
      {"4*(M/P + N/Q)*(K - K/(P*Q))",
       "a device owns K/Q columns of its rows of A, and K/P rows of its columns of B"}}},
    {"all_2d",
     "2D: how many bytes travel in all, counted where they arrive?",
     "counted_all_2d",
     {{"4*(M*K*Q + K*N*P)",
       "an element of A travels to the other Q - 1 devices of its row of the grid, and not to its "
       "owner; B likewise"},
      {"M*K*(Q - 1) + K*N*(P - 1)", kFloats},
      {"4*(M/P*(K - K/Q) + N/Q*(K - K/P))",
       "that is the number for one device; how many devices are there?"},
      {"4*(M*K*(P - 1) + K*N*(Q - 1))",
       "A travels along a row of the grid, which has Q devices; B travels along a column, which "
       "has "
       "P devices"},
      {"4*(M*K + K*N)*(P*Q - 1)",
       "an element of A travels along its row of the grid, and not to every device; B likewise"},
      {"4*(M*K + K*N)",
       "that counts each element once, but it travels to several devices, each with a copy of its "
       "own"}}},
    {"held_2d",
     "2D: how many bytes do one device's parts of A, B and C take?",
     "counted_held_2d",
     {{"(M*K + K*N + M*N)/(P*Q)", kFloats},
      {"4*(M*K + K*N + M*N)", kAllDevices},
      {"4*(M*K + K*N)/(P*Q)", "it has a part of C, too"},
      {"4*(M*K/P + K*N/Q + M*N/(P*Q))",
       "panels pass by, and need only a buffer, which does not count; it owns M/P x K/Q of A and "
       "K/P x N/Q of B"}}},
    {"received_25d",
     "2.5D: how many bytes of A and B does one device receive?",
     "counted_layers",
     {{"4*(M + N)/Q*(K - K/Q)",
       "that is 2D on a grid of Q x Q; a layer takes only one L-th of the panels"},
      {"4*(M + N)/Q*K/L",
       "a device owns one Q-th of the panels that its layer takes, and nobody sends them to it"},
      {"(M + N)/Q*(K - K/Q)/L", kFloats},
      {"4*(M + N)/Q*(K/L - K/Q)",
       "of the K/L columns of A that its layer takes, a device owns one Q-th: the layer takes one "
       "L-th of every device's part"},
      {"4*(M + N)*K*(Q - 1)/L", "that is the number for all devices of a layer; count one"},
      {"4*(M + N)*K*(Q - 1)", kAllDevices}}},
    {"summed_25d",
     "2.5D: how many bytes does one device of the first layer receive when C is summed?",
     "counted_summed",
     {{"4*L*M*N/(Q*Q)",
       "a device has its own layer's part of C, and nobody sends that to it; L - 1 parts arrive"},
      {"(L - 1)*M*N/(Q*Q)", kFloats},
      {"4*(L - 1)*M*N", kAllDevices},
      {"4*M*N/(Q*Q)", "that is what one device sends; how many send their parts to this one?"},
      {"4*(L - 1)*M*N/(L*Q*Q)",
       "a layer has computed a part of every sum, so it sends all of C, and not one L-th"}}},
    {"work_per_byte",
     "2D on Q x Q devices: how many multiply-adds does a device make per byte that it receives?",
     "counted_work_per_byte",
     {{"M*N/((M + N)*(Q - 1))", "that is per float; a float has 4 bytes"},
      {"M*N/(4*(M + N)*Q)", "of the bytes, leave out those that a device owns from the start"},
      {"M*N/(2*(M + N)*(Q - 1))", "a multiply-add counts once, not as two operations"},
      {"4*(M + N)*(Q - 1)/(M*N)", "that is bytes per multiply-add; turn it over"},
      {"M*N*Q*Q/(4*(M + N)*(Q - 1))",
       "that is the work of all devices by the bytes of one; a device makes M*N*K/(Q*Q) "
       "multiply-adds"},
      {"M*N/(4*(M + N)*(Q - 1)*Q*Q)", "that is the work of one device by the bytes of all"}}},
    {"times_1d",
     "M = N = K and Q*Q devices: how many times as many bytes does a device receive in 1D as in "
     "2D?",
     "counted_times_1d",
     {{"Q/2",
       "put Q*Q devices, and not Q, into the 1D formula, and leave out of both numbers what a "
       "device owns from the start"},
      {"Q", "in 1D only A travels, in 2D both A and B do"},
      {"Q + 1", "in 1D only A travels, in 2D both A and B do"},
      {"M*(Q + 1)/(M + N)", "here M, N and K are equal: write the formula in Q alone"},
      {"2/(Q + 1)", "that is 2D by 1D; turn it over"}}},
};

std::optional<grade::Complaint> check_answers(const grade::Submission& submission) {
  constexpr int kDraws = 5;
  grade::Random random(submission.seed);
  std::vector<grade::Case> cases;
  for (int i = 0; i < kDraws; ++i) cases.push_back(drawn(random));
  return grade::complaint_about(kQuestions, submission.answers, cases, "the schedule");
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "count the bytes that travel between GPUs",
    .check_answers = check_answers,
};
