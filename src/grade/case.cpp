#include "grade/case.h"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "cpu_reference.h"
#include "lab/measure.h"
#include "machine/symbols.h"
#include "model/formula.h"
#include "model/refusal.h"
#include "trace/trace.h"

// The skeleton's host function, with the student's region in the kernel that it launches; null in
// an exercise without a kernel.
[[gnu::weak]] void run(Shape shape, const float* A, const float* B, float* C);

namespace grade {

namespace {

constexpr std::uint32_t kUntouched = 0x7fc0dead;  // a NaN that no computation yields

std::size_t index(
    Order order, std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns) {
  return order == Order::rows ? row * columns + column : column * rows + row;
}

bool is_result(const Multiplication& product, std::int64_t row, std::int64_t column) {
  return !product.lower_triangle_of_AAt || column <= row;
}

std::vector<float> in_rows(Order order, const lab::Floats& matrix, int rows, int columns) {
  std::vector<float> copy(matrix.size());
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      copy[index(Order::rows, row, column, rows, columns)] =
          matrix[index(order, row, column, rows, columns)];
    }
  }
  return copy;
}

struct Expected {
  std::vector<double> exact, magnitude;  // row-major
};

Expected expected(const Multiplication& product, const Case& c) {
  const auto [M, N, K, variant] = c.shape;
  const std::vector<float> A = in_rows(product.A, c.A, M, K);
  // A's transpose in rows is A in columns.
  const Order opposite = product.A == Order::rows ? Order::columns : Order::rows;
  const std::vector<float> B =
      product.lower_triangle_of_AAt ? in_rows(opposite, c.A, K, N) : in_rows(product.B, c.B, K, N);
  const std::size_t results = static_cast<std::size_t>(M) * N;
  Expected e{std::vector<double>(results), std::vector<double>(results)};
  reference_gemm(M, N, K, 1, A.data(), B.data(), 0, nullptr, e.exact.data(), e.magnitude.data());
  return e;
}

bool element_is_right(const Case& c, const Expected& e, std::size_t at, float value) {
  return model::compare(
             1, 1, c.shape.K, &value, &e.exact[at], &e.magnitude[at], 0, nullptr, model::kFp32)
      .bound_ok;
}

// A matrix between two stretches of memory that nobody may touch. They are traced like it, under
// names of their own, so that an access beside the matrix has a line; and they are NaN.
class Fenced {
 public:
  Fenced(const std::string& name, const lab::Floats& matrix)
      : before_(kOutside + name),
        behind_(kOutside + name),
        name_(name),
        floats_(matrix.size()),
        memory_(2 * kFence + floats_, std::nanf("")) {
    std::copy(matrix.begin(), matrix.end(), data());
  }
  float* data() const { return const_cast<float*>(memory_.data()) + kFence; }
  machine::GlobalArray array(bool result = false) const {
    return {name_.c_str(), data(), floats_ * sizeof(float), result};
  }
  bool untouched() const {
    const auto is_nan = [](float value) { return std::isnan(value); };
    return std::all_of(memory_.begin(), memory_.begin() + kFence, is_nan) &&
           std::all_of(memory_.end() - kFence, memory_.end(), is_nan);
  }
  machine::GlobalArray before() const {
    return {before_.c_str(), memory_.data(), kFence * sizeof(float)};
  }
  machine::GlobalArray behind() const {
    return {behind_.c_str(), data() + floats_, kFence * sizeof(float)};
  }

 private:
  static constexpr std::size_t kFence = 1 << 18;  // floats on either side
  std::string before_, behind_, name_;
  std::size_t floats_;
  lab::Floats memory_;
};

// What a child tells, as bytes.
struct Writer {
  std::string bytes;
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void put_all(const T* values, std::size_t count) {
    put(count);
    bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
  }
};

struct Reader {
  const std::string& bytes;
  std::size_t at = 0;
  const char* take(std::size_t count) {
    if (count > bytes.size() - at) throw std::runtime_error("a child's report is cut off");
    at += count;
    return bytes.data() + at - count;
  }
  template <class T>
  T get() {
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  template <class Vector>
  Vector get_all() {
    const auto count = get<std::size_t>();
    Vector values;
    if (count > bytes.size()) throw std::runtime_error("a child's report is cut off");
    values.resize(count);
    std::memcpy(values.data(), take(count * sizeof values[0]), count * sizeof values[0]);
    return values;
  }
};

constexpr model::Traffic model::Counts::*kTraffics[] = {
    &model::Counts::gmem_loads,  &model::Counts::gmem_stores, &model::Counts::smem_loads,
    &model::Counts::smem_stores, &model::Counts::async_gmem,  &model::Counts::async_smem};

void put(Writer& to, const model::Hazard::Actor& actor) {
  to.put(actor.thread);
  to.put(actor.stores);
  to.put_all(actor.places.data(), actor.places.size());
}

model::Hazard::Actor get_actor(Reader& from) {
  model::Hazard::Actor actor;
  actor.thread = from.get<std::int64_t>();
  actor.stores = from.get<bool>();
  actor.places = from.get_all<std::vector<std::uint32_t>>();
  return actor;
}

void put(Writer& to, const model::Counts& counts) {
  to.put(counts.blocks);
  to.put(counts.blocks_traced);
  to.put(counts.threads_traced);
  to.put(counts.barriers);
  for (const auto traffic : kTraffics) to.put(counts.*traffic);
  to.put(counts.lines.size());
  for (const model::LineCounts& line : counts.lines) {
    to.put_all(line.array.data(), line.array.size());
    to.put(line.shared);
    to.put(line.direction);
    to.put(line.bytes);
    for (const std::int64_t count :
         {line.executions, line.requests, line.pieces, line.ideal_pieces, line.bank_conflicts,
          line.lines, line.worst_block, line.in_flight_bytes, line.in_flight_most}) {
      to.put(count);
    }
    to.put(line.worst_pieces);
    to.put(line.worst);
    to.put_all(line.places.data(), line.places.size());
  }
  to.put(counts.hazards.size());
  for (const model::Hazard& hazard : counts.hazards) {
    to.put(hazard.kind);
    to.put_all(hazard.array.data(), hazard.array.size());
    to.put(hazard.byte);
    to.put(hazard.block);
    put(to, hazard.first);
    put(to, hazard.second);
    to.put(hazard.other_block);
  }
}

model::Counts get_counts(Reader& from) {
  model::Counts counts;
  counts.blocks = from.get<std::int64_t>();
  counts.blocks_traced = from.get<std::int64_t>();
  counts.threads_traced = from.get<std::int64_t>();
  counts.barriers = from.get<std::int64_t>();
  for (const auto traffic : kTraffics) counts.*traffic = from.get<model::Traffic>();
  const auto lines = from.get<std::size_t>();
  for (std::size_t i = 0; i < lines; ++i) {
    model::LineCounts& line = counts.lines.emplace_back();
    line.array = from.get_all<std::string>();
    line.shared = from.get<bool>();
    line.direction = from.get<model::Direction>();
    line.bytes = from.get<int>();
    for (std::int64_t* count :
         {&line.executions, &line.requests, &line.pieces, &line.ideal_pieces, &line.bank_conflicts,
          &line.lines, &line.worst_block, &line.in_flight_bytes, &line.in_flight_most}) {
      *count = from.get<std::int64_t>();
    }
    line.worst_pieces = from.get<int>();
    line.worst = from.get<model::WarpAccess>();
    line.places = from.get_all<std::vector<std::uint32_t>>();
  }
  const auto hazards = from.get<std::size_t>();
  for (std::size_t i = 0; i < hazards; ++i) {
    model::Hazard& hazard = counts.hazards.emplace_back();
    hazard.kind = from.get<model::HazardKind>();
    hazard.array = from.get_all<std::string>();
    hazard.byte = from.get<std::uint64_t>();
    hazard.block = from.get<std::int64_t>();
    hazard.first = get_actor(from);
    hazard.second = get_actor(from);
    hazard.other_block = from.get<std::int64_t>();
  }
  return counts;
}

}  // namespace

Case drawn_case(const Shape& shape, std::uint64_t seed) {
  Case c;
  c.shape = shape;
  const auto [M, N, K, variant] = shape;
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);  // no others yet: the child could not use them, and would wait for ever
  c.A = lab::random_floats(static_cast<std::size_t>(M) * K, 2 * seed);
  c.B = exercise.product.lower_triangle_of_AAt
            ? c.A
            : lab::random_floats(static_cast<std::size_t>(K) * N, 2 * seed + 1);
  omp_set_num_threads(threads);
  c.C = lab::Floats(static_cast<std::size_t>(M) * N, std::bit_cast<float>(kUntouched));
  return c;
}

bool on_fenced(
    Case& c,
    const std::function<
        void(std::span<const machine::GlobalArray>, const std::function<void()>& kernel)>& trace) {
  const Fenced A("A", c.A), B("B", c.B), C("C", c.C);
  const machine::GlobalArray arrays[] = {A.array(),  B.array(),  C.array(true),
                                         A.before(), A.behind(), B.before(),
                                         B.behind(), C.before(), C.behind()};
  trace(arrays, [&] { run(c.shape, A.data(), B.data(), C.data()); });
  std::copy(C.data(), C.data() + c.C.size(), c.C.begin());
  return A.untouched() && B.untouched() && C.untouched();
}

std::array<bool, 3> by_columns(const Multiplication& product) {
  const bool A = product.A == Order::columns;
  // What stands for B is A, so its columns are A's rows.
  const bool B = product.lower_triangle_of_AAt ? !A : product.B == Order::columns;
  return {A, B, product.C == Order::columns};
}

guard::Ended run_traced(Case& c, double limit_s) {
  const guard::Ended ended =
      guard::run_in_child({limit_s, "grade", "the kernel"}, [&](std::FILE* report) {
        lab::Run about{};
        about.gpu = *model::find_gpu("RTX 3090");
        std::optional<machine::Launch> launch;
        machine::Machine machine{&about.gpu};
        machine.launched = [&](const machine::Launch& done, const model::Counts&) {
          if (!launch) launch = done;
        };
        std::vector<std::uint64_t> writers;
        machine.wrote = [&](std::span<const std::uint64_t> last) {
          writers.assign(last.begin(), last.end());
        };
        model::Counts counts;
        const bool untouched =
            on_fenced(c, [&](std::span<const machine::GlobalArray> arrays, const auto& kernel) {
              guard::watched([&] { counts = trace::trace(machine, arrays, kernel); });
            });
        Writer writer;
        writer.put(launch.value());
        writer.put_all(c.C.data(), c.C.size());
        writer.put_all(writers.data(), writers.size());
        put(writer, counts);
        writer.put(untouched);
        std::fwrite(writer.bytes.data(), 1, writer.bytes.size(), report);
        return guard::Outcome{0, ""};
      });
  if (ended.how != guard::Ended::done) return ended;
  Reader reader{ended.report};
  const auto launch = reader.get<machine::Launch>();
  c.C = reader.get_all<lab::Floats>();
  c.writers = reader.get_all<std::vector<std::uint64_t>>();
  c.row.counts = get_counts(reader);
  c.fence_touched = !reader.get<bool>();
  c.row.launch = lab::LaunchShape{
      {launch.grid.x, launch.grid.y, launch.grid.z},
      {launch.block.x, launch.block.y, launch.block.z},
      launch.static_shared_bytes,
      launch.dynamic_shared_bytes,
      1};
  c.kernel = launch.kernel;
  return ended;
}

void measure(Case& c, int local_bytes) {
  const auto [M, N, K, variant] = c.shape;
  const Multiplication& product = exercise.product;
  const Expected e = expected(product, c);
  std::int64_t results = 0;
  for (int row = 0; row < M; ++row) {
    for (int column = 0; column < N; ++column) {
      const std::size_t lies_at = index(product.C, row, column, M, N);
      const float value = c.C[lies_at];
      const bool untouched = std::bit_cast<std::uint32_t>(value) == kUntouched;
      if (!is_result(product, row, column)) {
        if (!untouched && !c.outside_touched && c.wrong == 0) c.wrong_at = lies_at;
        c.outside_touched = c.outside_touched || !untouched;
        continue;
      }
      ++results;
      const std::size_t at = index(Order::rows, row, column, M, N);
      if (element_is_right(c, e, at, value)) continue;
      if (c.wrong++ > 0) continue;
      c.first = {row, column, value, e.exact[at]};
      c.wrong_at = lies_at;
      c.never_written = untouched;
    }
  }

  const model::Counts& counts = *c.row.counts;
  const lab::LaunchShape& launch = *c.row.launch;
  c.launched.name = "";
  c.launched.block_x = static_cast<int>(launch.block.x);
  c.launched.block_y = static_cast<int>(launch.block.y * launch.block.z);
  c.name = machine::function_name(c.kernel);

  Values& values = c.measures;
  values = exercise.variants.at(variant);
  values["M"] = M;
  values["N"] = N;
  values["K"] = K;
  values["results"] = results;
  values["blocks"] = counts.blocks;
  values["block_threads"] = c.launched.threads();
  values["threads"] = double(counts.blocks) * c.launched.threads();
  values["smem_bytes"] = launch.static_shared_bytes + launch.dynamic_shared_bytes;
  values["barriers"] = counts.barriers;
  values["bank_conflicts"] = counts.smem_loads.bank_conflicts + counts.smem_stores.bank_conflicts;
  values["async_copies"] = counts.async_gmem.accesses.sum;
  values["local_bytes"] = local_bytes;
  values["in_flight_bytes"] = 0;
  for (const model::LineCounts& line : counts.lines)
    values["in_flight_bytes"] += line.in_flight_bytes;
  const auto put_traffic = [&](const std::string& name, const char* pieces,
                               const model::Traffic& t) {
    values[name + "s"] = t.accesses.sum;
    values["most_" + name + "s"] = t.accesses.max;
    values[name + "_floats"] = t.floats.sum;
    values[name + "_requests"] = t.requests;
    values[name + pieces] = t.pieces;
  };
  put_traffic("gmem_load", "_sectors", counts.gmem_loads);
  put_traffic("gmem_store", "_sectors", counts.gmem_stores);
  put_traffic("smem_load", "_wavefronts", counts.smem_loads);
  put_traffic("smem_store", "_wavefronts", counts.smem_stores);

  for (const Target& target : exercise.targets) {
    const double total = value_of(target.total, values), most = value_of(target.at_most, values);
    if (total > most * (1 + 1e-9)) c.missed.push_back(&target);
  }
}

double value_of(const std::string& formula, const Values& values) {
  std::vector<model::Named> names;
  for (const auto& [name, value] : values) names.push_back({name, value});
  return model::evaluate(formula, names);
}

bool Case::is(const Multiplication& other) const {
  const Expected e = expected(other, *this);
  const auto [M, N, K, variant] = shape;
  for (int r = 0; r < M; ++r) {
    for (int col = 0; col < N; ++col) {
      if (!is_result(other, r, col)) continue;
      const std::size_t at = index(Order::rows, r, col, M, N);
      if (!element_is_right(*this, e, at, C[index(other.C, r, col, M, N)])) return false;
    }
  }
  return true;
}

void annotate(Case& c) {
  c.row.name = c.name;
  c.launched.kernel.name = c.name.c_str();
  c.row.variant = &c.launched;
  c.run.M = c.shape.M;
  c.run.N = c.shape.N;
  c.run.K = c.shape.K;
  annotate(c.row, c.kernel);
}

}  // namespace grade
