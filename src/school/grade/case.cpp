#include "school/grade/case.h"

#include <malloc.h>
#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <cwchar>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "cpu_reference.h"
#include "lab/measure.h"
#include "model/stage.h"
#include "school/grade/complaint.h"
#include "simulator/simulator.h"
#include "text/numbers.h"
#include "try/guarded_kernel.h"

// The skeleton's host function. The kernel that it launches has the student's region. Null in an
// exercise without a kernel.
[[gnu::weak]] void run(Shape shape, const float* A, const float* B, float* C);

namespace grade {

namespace {

constexpr std::uint32_t kUntouched = 0x7fc0dead;  // a NaN that no computation produces

std::size_t index(
    Order order, std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns) {
  return order == Order::rows ? row * columns + column : column * rows + row;
}

bool is_result(const Multiplication& product, std::int64_t row, std::int64_t column) {
  return !product.lower_triangle_of_AAt || column <= row;
}

// Of a large shape: one in the middle and the last. Their numbers do not fit into 7 and 8 bits.
std::vector<std::int64_t> blocks_of_large(machine::Extent grid) {
  const std::int64_t blocks = grid.volume();
  if (blocks == 1) return {0};
  return {blocks / 2, blocks - 1};
}

// The rows or columns of C to which blocks that run belong.
std::vector<int> lines_that_run(const Case& c, bool are_rows) {
  std::vector<int> lines(are_rows ? c.shape.M : c.shape.N);
  std::iota(lines.begin(), lines.end(), 0);
  if (!c.shape.large) return lines;
  std::vector<bool> run(lines.size());
  const auto& grid = c.row.launch->grid;
  const auto each = static_cast<int>(are_rows ? grid.y : grid.x);
  const int width = (static_cast<int>(lines.size()) + each - 1) / each;
  for (const std::int64_t block : blocks_of_large(grid)) {
    const int first = static_cast<int>(are_rows ? block / grid.x : block % grid.x) * width;
    for (int i = first; i < first + width && i < std::ssize(lines); ++i) run[i] = true;
  }
  std::erase_if(lines, [&](int line) { return !run[line]; });
  return lines;
}

// These rows and columns of a matrix, row by row.
std::vector<float> part_of(
    Order order, const lab::Floats& matrix, int all_rows, int all_columns,
    const std::vector<int>& rows, const std::vector<int>& columns) {
  std::vector<float> part;
  for (const int row : rows) {
    for (const int column : columns)
      part.push_back(matrix[index(order, row, column, all_rows, all_columns)]);
  }
  return part;
}

// What an element of C should be, and the sum of its products' magnitudes.
struct Expected {
  int row, column;
  double exact, magnitude;
};

// The elements that the exercise asks for, of the blocks that ran.
std::vector<Expected> expected(const Multiplication& product, const Case& c) {
  const auto [M, N, K, variant, large] = c.shape;
  std::vector<Expected> elements;
  const std::vector<int> rows = lines_that_run(c, true), columns = lines_that_run(c, false);
  std::vector<double> exact(rows.size() * columns.size()), magnitude(exact.size());
  if (!product.sum_of_vectors) {
    std::vector<int> depth(K);
    std::iota(depth.begin(), depth.end(), 0);
    const std::vector<float> A = part_of(product.A, c.A, M, K, rows, depth);
    // A's transpose in rows is A in columns.
    const Order opposite = product.A == Order::rows ? Order::columns : Order::rows;
    const std::vector<float> B = product.lower_triangle_of_AAt
                                     ? part_of(opposite, c.A, K, N, depth, columns)
                                     : part_of(product.B, c.B, K, N, depth, columns);
    const int height = static_cast<int>(rows.size()), width = static_cast<int>(columns.size());
    reference_gemm(height, width, K, 1, A.data(), B.data(), 0, nullptr, exact.data());
    reference_magnitude(height, width, K, K, 1, A.data(), B.data(), magnitude.data());
  }
  std::size_t at = 0;
  for (const int row : rows) {
    for (const int column : columns) {
      Expected element{row, column, exact[at], magnitude[at]};
      if (product.sum_of_vectors) {
        const double x = c.A[column], y = c.B[column];
        element = {row, column, x + y, std::abs(x) + std::abs(y)};
      }
      ++at;
      if (is_result(product, row, column) && c.runs(row, column)) elements.push_back(element);
    }
  }
  return elements;
}

bool is_right(const Case& c, const Expected& e, float value) {
  return model::compare(
             1, 1, c.shape.K, &value, &e.exact, &e.magnitude, 0, nullptr, exercise.precision)
      .bound_ok;
}

// The norm of all differences between the results and the exact ones. A NaN counts as 0.
class Deviation {
 public:
  void add(double value, double exact) {
    const double error = (std::isfinite(value) ? value : 0) - exact;
    errors_ += error * error;
    along_ += error * exact;
    exact_ += exact * exact;
  }
  double relative() const { return exact_ > 0 ? std::sqrt(errors_ / exact_) : 0; }
  // The factor of `exact` that is closest to `error`: what all errors have in common.
  double bias() const { return exact_ > 0 ? along_ / exact_ : 0; }

 private:
  double errors_ = 0, along_ = 0, exact_ = 0;
};

// Rows of matrices that lanes gave to ldmatrix.
std::int64_t rows_of_ldmatrix(const model::Counts& counts) {
  std::int64_t rows = 0;
  for (const model::LineCounts& line : counts.lines) {
    if (line.worst.matrices > 0) rows += line.executions;
  }
  return rows;
}

// A matrix between two stretches of memory that no thread may access. They are traced, too, under
// names of their own, so that the line of an access outside of the matrix is known; and they
// contain NaN.
class Fenced {
 public:
  Fenced(const Shape& shape, const std::string& name, const lab::Floats& matrix)
      : before_(kBefore + name),
        behind_(kOutside + name),
        name_(name),
        fence_(fence_floats(shape)),
        floats_(matrix.size()),
        memory_(
            static_cast<float*>(lab::allocate_guarded((2 * fence_ + floats_) * sizeof(float))),
            lab::free_guarded) {
    for (float* const fence : fences())
      std::wmemset(reinterpret_cast<wchar_t*>(fence), std::bit_cast<wchar_t>(NAN), fence_);
    std::copy(matrix.begin(), matrix.end(), data());
  }
  float* data() const { return memory_.get() + fence_; }
  machine::GlobalArray array(bool result = false) const {
    return {name_.c_str(), data(), floats_ * sizeof(float), result};
  }
  bool untouched() const {
    return std::ranges::all_of(fences(), [&](const float* fence) {
      return std::isnan(*fence) && std::memcmp(fence, fence + 1, (fence_ - 1) * sizeof(float)) == 0;
    });
  }
  machine::GlobalArray before() const {
    return {before_.c_str(), memory_.get(), fence_ * sizeof(float)};
  }
  machine::GlobalArray behind() const {
    return {behind_.c_str(), data() + floats_, fence_ * sizeof(float)};
  }

 private:
  std::string before_, behind_, name_;
  std::array<float*, 2> fences() const { return {memory_.get(), data() + floats_}; }
  std::size_t fence_, floats_;
  std::unique_ptr<float, decltype(&lab::free_guarded)> memory_;
};

}  // namespace

Case drawn_case(const Shape& shape, std::uint64_t seed) {
  Case c;
  c.shape = shape;
  const auto [M, N, K, variant, large] = shape;
  const bool sum = exercise.product.sum_of_vectors;
  const auto drawn = [&shape](std::size_t count, std::uint64_t matrix_seed, bool of_B) {
    lab::Floats matrix = lab::random_floats(count, matrix_seed);
    if (!exercise.element) return matrix;
    for (std::size_t i = 0; i < count; ++i) matrix[i] = exercise.element(matrix[i], shape, of_B, i);
    return matrix;
  };
  c.A = drawn(static_cast<std::size_t>(M) * (sum ? N : K), 2 * seed, false);
  c.B = exercise.product.lower_triangle_of_AAt
            ? c.A
            : drawn(static_cast<std::size_t>(K) * N, 2 * seed + 1, true);
  c.C = lab::Floats(static_cast<std::size_t>(M) * N, std::bit_cast<float>(kUntouched));
  return c;
}

bool on_fenced(
    Case& c,
    const std::function<
        void(std::span<const machine::GlobalArray>, const std::function<void()>& kernel)>& trace) {
  const auto [a, b, result] = array_names(exercise.product);
  const Fenced A(c.shape, a, c.A), B(c.shape, b, c.B), C(c.shape, result, c.C);
  const machine::GlobalArray arrays[] = {A.array(),  B.array(),  C.array(true),
                                         A.before(), A.behind(), B.before(),
                                         B.behind(), C.before(), C.behind()};
  trace(arrays, [&] { run(c.shape, A.data(), B.data(), C.data()); });
  std::copy(C.data(), C.data() + c.C.size(), c.C.begin());
  return A.untouched() && B.untouched() && C.untouched();
}

std::array<bool, 3> by_columns(const Multiplication& product) {
  const bool A = product.A != Order::rows;
  // A takes the place of B, so B's columns are A's rows.
  const bool B = product.lower_triangle_of_AAt ? !A : product.B != Order::rows;
  return {A, B, product.C != Order::rows};
}

std::array<const char*, 3> array_names(const Multiplication& product) {
  if (product.sum_of_vectors) return {"x", "y", "z"};
  return {"A", "B", "C"};
}

const model::Gpu& grading_gpu() {
  return *model::find_gpu("RTX 3090");
}

void run_traced(Case& c, machine::Machine machine) {
  // The skeletons have none, and an answer must not keep data in other variables of the program.
  machine.own_variables = false;
  if (c.shape.large) {
    machine.blocks = machine::Blocks::kSample;
    machine.sample = blocks_of_large;
  }
  machine.launched = [&](const machine::RequestedLaunch& launch, const model::Counts&) {
    if (!c.row.launch) c.row.launch = lab::LaunchShape{launch};
  };
  machine.wrote = [&](std::span<const std::uint64_t> last) {
    c.writers.assign(last.begin(), last.end());
  };
  c.fence_touched =
      !on_fenced(c, [&](std::span<const machine::GlobalArray> arrays, const auto& kernel) {
        c.row.counts = trace::trace(machine, arrays, kernel);
      });
}

void run_recorded(Case& c, model::Recorder& recorder) {
  machine::Machine machine{&grading_gpu()};
  machine.recorder = &recorder;
  guard::on_fresh_thread([&] { guard::watched([&] { run_traced(c, machine); }); });
}

void run_watched(Case& c, bool audited) {
  c.audit.most_accesses = 5'000;
  c.audit.every = 33;  // in each warp another lane
  machine::Machine machine{&grading_gpu()};
  if (audited) machine.audit = &c.audit;
  guard::on_fresh_thread([&] { guard::watched([&] { run_traced(c, machine); }); });
}

guard::Guard case_guard(double limit_s, const std::string& program_name, std::size_t runs) {
  mallopt(M_ARENA_MAX, omp_get_max_threads());  // fresh threads need none of their own
  guard::Guard guard = attempt::kernel_guard(limit_s, program_name, "the kernel");
  // For each run the time limit of its kernel, and a minute for everything else.
  guard.whole_limit_s = 60 + static_cast<double>(runs) * (limit_s + 3);
  return guard;
}

void lock_child(std::size_t runs, const std::string& folder, const std::string& answer) {
  trace::why_no_audit();  // it can be tried only before the lock
  // The ladder's kernels may take the place of an answer.
  const std::string skeleton = "exercises/" + folder + "/kernel.cu";
  attempt::lock_kernels_child(2 * runs, {answer, skeleton, "gemm_steps.cu"});
}

void measure(Case& c) {
  const auto [M, N, K, variant, large] = c.shape;
  const Multiplication& product = exercise.product;
  const auto is_untouched = [](float value) {
    return std::bit_cast<std::uint32_t>(value) == kUntouched;
  };
  const std::vector<Expected> elements = expected(product, c);
  Deviation deviation;
  for (const Expected& e : elements) {
    const std::size_t lies_at = index(product.C, e.row, e.column, M, N);
    const float value = c.C[lies_at];
    deviation.add(value, e.exact);
    if (is_right(c, e, value) || c.wrong++ > 0) continue;
    c.first = {e.row, e.column, value, e.exact};
    c.wrong_at = lies_at;
    c.never_written = is_untouched(value) && (c.writers.empty() || c.writers[lies_at] == 0);
  }
  for (int row = 0; row < M && product.lower_triangle_of_AAt; ++row) {
    for (int column = row + 1; column < N && !c.outside_touched; ++column) {
      const std::size_t lies_at = index(product.C, row, column, M, N);
      if (is_untouched(c.C[lies_at])) continue;
      c.outside_touched = true;
      if (c.wrong == 0) c.wrong_at = lies_at;
    }
  }

  const model::Counts& counts = *c.row.counts;
  // A block that was stopped left elements unwritten because of that.
  c.never_written = c.never_written && !model::has_fatal(counts);
  c.hazards = std::count_if(
      counts.hazards.begin(), counts.hazards.end(),
      [](const model::Hazard& hazard) { return !model::is_note(hazard.kind); });
  const machine::RequestedLaunch& launch = c.row.launch.value();
  c.launched.name = "";
  c.launched.block_x = static_cast<int>(launch.block.x);
  c.launched.block_y = static_cast<int>(launch.block.y * launch.block.z);
  c.row.name = machine::function_name(launch.kernel);

  Values& values = c.measures;
  values = exercise.variants.at(variant);
  values["M"] = M;
  values["N"] = N;
  values["K"] = K;
  values["results"] = double(elements.size());
  values["blocks"] = counts.blocks;
  values["block_threads"] = c.launched.threads();
  values["threads"] = double(counts.blocks) * c.launched.threads();
  values["smem_bytes"] = launch.static_shared_bytes + launch.dynamic_shared_bytes;
  values["barriers"] = counts.barriers;
  values["mmas"] = counts.mmas;
  values["ldmatrix_rows"] = rows_of_ldmatrix(counts);
  values["relative_error"] = deviation.relative();
  values["bias"] = deviation.bias();
  values["bank_conflicts"] = counts.smem_loads.bank_conflicts + counts.smem_stores.bank_conflicts;
  values["async_copies"] = counts.async_gmem.accesses.sum;
  values["async_load_floats"] = counts.async_gmem.floats.sum;
  values["async_store_floats"] = counts.async_smem.floats.sum;
  values["local_bytes"] = counts.local_bytes;
  values["box_bytes_in_flight"] = counts.box_bytes_in_flight;
  values["in_flight_bytes"] = 0;
  for (const model::LineCounts& line : counts.lines)
    values["in_flight_bytes"] += line.in_flight_bytes;
  const auto put_traffic = [&](const std::string& name, const char* pieces,
                               const model::Traffic& t) {
    values[name + "s"] = t.accesses.sum;
    values["most_" + name + "s"] = t.accesses.max;
    values[name + "_floats"] = t.floats.sum;
    values["most_" + name + "_floats"] = t.floats.max;
    values[name + "_requests"] = t.requests;
    values[name + pieces] = t.pieces;
  };
  put_traffic("gmem_load", "_sectors", counts.gmem_loads);
  put_traffic("gmem_store", "_sectors", counts.gmem_stores);
  put_traffic("smem_load", "_wavefronts", counts.smem_loads);
  put_traffic("smem_store", "_wavefronts", counts.smem_stores);

  for (const Target& target : exercise.targets) {
    if (!c.counted()) break;
    const double total = value_of(target.total, values), most = value_of(target.at_most, values);
    const bool too_little = target.exactly && total < most * (1 - 1e-9);
    if (total > most * (1 + 1e-9) || too_little) c.missed.push_back(&target);
  }
}

double value_of(const std::string& formula, const Values& values) {
  std::vector<model::Named> names;
  for (const auto& [name, value] : values) names.push_back({name, value});
  const double value = model::evaluate(formula, names);
  if (!std::isfinite(value)) throw std::invalid_argument("the formula's value is no finite number");
  return value;
}

bool Case::is(const Multiplication& other) const {
  return std::ranges::all_of(expected(other, *this), [&](const Expected& e) {
    return is_right(*this, e, C[index(other.C, e.row, e.column, shape.M, shape.N)]);
  });
}

bool Case::runs(int r, int column) const {
  if (!shape.large) return true;
  const auto& grid = row.launch->grid;
  const auto number = [](int at, int size, std::int64_t blocks) {
    return at / ((size + blocks - 1) / blocks);
  };
  const std::int64_t block = number(r, shape.M, grid.y) * grid.x + number(column, shape.N, grid.x);
  return std::ranges::count(blocks_of_large(grid), block) > 0;
}

void annotate(Case& c) {
  c.launched.kernel.name = c.row.name.c_str();
  c.row.variant = &c.launched;
  c.run.M = c.shape.M;
  c.run.N = c.shape.N;
  c.run.K = c.shape.K;
  annotate(c.row, c.row.launch->kernel);
}

namespace {

bool same(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

// The values of a case that a student's formula may use.
Values given_in(const Case& c) {
  Values given = {{"M", c.shape.M}, {"N", c.shape.N}, {"K", c.shape.K}};
  for (const auto& [name, value] : c.measures) {
    if (std::isupper(static_cast<unsigned char>(name[0]))) given[name] = value;
  }
  return given;
}

// In a single case, two formulas may be equal by chance.
bool same_in_all(const std::string& one, const std::string& other, std::span<const Case> cases) {
  try {
    return std::ranges::all_of(cases, [&](const Case& c) {
      const Values given = given_in(c);
      return same(value_of(one, given), value_of(other, given));
    });
  } catch (const std::invalid_argument&) {
    return false;
  }
}

// "yours gives 4 times that in every case": how a wrong formula differs.
std::string compared(
    const std::string& answer, const Question& question, std::span<const Case> cases) {
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (const Case& c : cases) {
    if (c.shape.large) continue;
    const double times = value_of(answer, given_in(c)) / value_of(question.truth, c.measures);
    least = std::min(least, times), most = std::max(most, times);
  }
  if (same(least, most)) {
    return text::printed("yours gives %.4g times that for every shape: a factor is wrong", least);
  }
  return text::printed(
      "yours gives %.4g to %.4g times that, depending on the shape: a size is missing or too many",
      least, most);
}

// A formula may be fitted to the kernel's few tiles. It is compared with the true one for others.
std::optional<Complaint> about_other_tiles(
    const Question& question, const std::string& answer, std::span<const Case> cases) {
  for (const Case& c : cases) {
    Values sizes = given_in(c);
    for (const auto& [name, factor] :
         {std::pair{"M", 8}, {"N", 8}, {"K", 8}, {"BM", 2}, {"BN", 4}, {"BK", 2}})
      if (sizes.contains(name)) sizes[name] *= factor;
    double truth = 0;
    try {
      truth = value_of(question.formula != nullptr ? question.formula : question.truth, sizes);
    } catch (const std::invalid_argument&) {
      return std::nullopt;  // it is known only from a count
    }
    const double value = value_of(answer, sizes);
    if (same(value, truth)) continue;
    std::string with;
    for (const auto& [name, size] : sizes) with += text::printed(" %s %g", name.c_str(), size);
    return Complaint{
        std::string(question.name) + " is right for this kernel's tiles, but not for others",
        "the formula must hold for tiles of any size: how does it follow from BM, BN and the "
        "others?",
        "with" + with + text::printed(", it gives %.10g and should give %.10g", value, truth),
        Gravity::wrong};
  }
  return std::nullopt;
}

// The complaint about one formula that was handed in.
std::optional<Complaint> complaint_about_one(
    const Question& question, const std::string& answer, std::span<const Case> cases,
    const std::string& counter) {
  for (const Case& c : cases) {
    if (c.shape.large) continue;
    const Values given = given_in(c);
    const double truth = value_of(question.truth, c.measures);
    double value = 0;
    try {
      value = value_of(answer, given);
    } catch (const std::invalid_argument& error) {
      std::string names;
      for (const auto& [name, unused] : given) names += " " + name;
      return Complaint{
          std::string(question.name) + " cannot be evaluated", error.what(),
          "it may use these names:" + names, Gravity::wrong};
    }
    if (same(value, truth)) continue;
    Complaint complaint{
        std::string(question.name) + " is not what " + counter + " counts (" + shape_text(c.shape) +
            ")",
        question.asks, "", Gravity::wrong};
    complaint.phase += "; " + compared(answer, question, cases);
    for (const auto& [formula, hint] : question.typical) {
      if (same_in_all(answer, formula, cases)) complaint.phase = hint;
    }
    std::string sizes;
    for (const auto& [name, size] : given) {
      if (name != "M" && name != "N" && name != "K")
        sizes += text::printed(", %s %g", name.c_str(), size);
    }
    complaint.place =
        "with " + shape_text(c.shape) + sizes +
        text::printed(
            ", your formula gives %.10g, and %s counts %.10g", value, counter.c_str(), truth);
    return complaint;
  }
  return about_other_tiles(question, answer, cases);
}

}  // namespace

std::optional<Complaint> complaint_about(
    std::span<const Question> questions, const Answers& answers, std::span<const Case> cases,
    const std::string& counter) {
  std::optional<Complaint> missing, only;
  Complaint all;  // in a line for each wrong formula
  int wrong = 0;
  for (const Question& question : questions) {
    const std::string name = question.name;
    const auto answer = answers.find(name);
    if (answer == answers.end()) {
      if (missing) continue;
      missing = {
          "no answer yet to " + name, question.asks, "write: answer " + name + ": your formula",
          Gravity::wrong};
    } else if (const auto one = complaint_about_one(question, answer->second, cases, counter)) {
      only = one;
      all.symptom += (wrong++ > 0 ? ", " : "") + name;
      all.phase += name + ": " + one->phase + "\n";
      all.place += name + ": " + one->place + "\n";
    }
  }
  if (wrong < 2) return only ? only : missing;
  all.symptom =
      std::to_string(wrong) + " formulas are not what " + counter + " counts: " + all.symptom;
  return all;
}

}  // namespace grade
