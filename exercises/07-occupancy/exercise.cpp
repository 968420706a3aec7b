#include <cmath>
#include <stdexcept>

#include "model/gpus.h"
#include "school/grade/answer.h"
#include "school/grade/case.h"
#include "school/grade/exercise.h"
#include "text/numbers.h"

namespace {

struct Change {
  std::string words;
  model::KernelResources result;
  const char* why_not;  // where it is not the one that helps
};

// A kernel on a GPU, and five things that could be changed about it, of which one gives an SM more
// warps.
struct Instance {
  const model::Gpu* gpu = nullptr;
  model::KernelResources kernel{};
  std::vector<Change> changes{};
  std::size_t right = 0;
};

std::vector<Change> changes_of(const model::KernelResources& kernel) {
  const auto [threads, registers, bytes] = kernel;
  const int fewer = registers * 3 / 4 / 8 * 8;
  return {
      {text::printed(
           "a tile half as large: %d threads and %d bytes per block", threads / 2, bytes / 2),
       {threads / 2, registers, bytes / 2},
       "smaller blocks help if the threads left on an SM are too few for one more block, or if "
       "blocks are so large that much of an SM is left over"},
      {text::printed(
           "a tile twice as large: %d threads and %d bytes per block", 2 * threads, 2 * bytes),
       {2 * threads, registers, 2 * bytes},
       "larger blocks help if an SM already holds as many blocks as it may, but has room for more "
       "threads"},
      {text::printed("at most %d registers per thread, by a compiler flag", fewer),
       {threads, fewer, bytes},
       "fewer registers help if registers are what an SM runs out of first"},
      {text::printed("half of BK: %d bytes of shared memory per block", bytes / 2),
       {threads, registers, bytes / 2},
       "less shared memory helps if that is what an SM runs out of first"},
      {"twice as many blocks in the grid", kernel,
       "a larger grid takes more time, but an SM does not hold more of its blocks at once"},
  };
}

bool is_one_limit_the_least(const model::Occupancy& o) {
  int equal = 0;
  for (const int limit :
       {o.blocks_by_threads, o.blocks_by_blocks, o.blocks_by_smem, o.blocks_by_registers}) {
    equal += limit == o.blocks_per_sm;
  }
  return equal == 1;
}

// Draws until `limiter` is what limits, exactly one change helps and the GPU is not `other`.
Instance drawn(grade::Random& random, std::string_view limiter, const model::Gpu* other) {
  constexpr int kThreads[] = {32, 64, 96, 128, 192, 256, 384, 512, 768};
  std::vector<const model::Gpu*> gpus;
  for (const model::Gpu& gpu : model::known_gpus()) {
    if (model::has_clock(gpu)) gpus.push_back(&gpu);  // all but the paper GPU
  }
  for (;;) {
    Instance instance;
    instance.gpu = gpus[random.between(0, static_cast<int>(gpus.size()) - 1)];
    if (instance.gpu == other) continue;
    instance.kernel = {
        kThreads[random.between(0, 8)], random.between(24, 168), 256 * random.between(4, 128)};
    const model::Occupancy now = model::occupancy(*instance.gpu, instance.kernel);
    if (now.limiter != limiter || now.blocks_per_sm == 0 || !is_one_limit_the_least(now)) continue;
    if (instance.kernel.threads_per_block == 32 && limiter != "blocks") continue;
    instance.changes = changes_of(instance.kernel);
    int helpful = 0;
    for (std::size_t i = instance.changes.size() - 1; i > 0; --i) {
      std::swap(instance.changes[i], instance.changes[random.between(0, static_cast<int>(i))]);
    }
    for (std::size_t i = 0; i < instance.changes.size(); ++i) {
      if (model::occupancy(*instance.gpu, instance.changes[i].result).percent <= now.percent)
        continue;
      ++helpful;
      instance.right = i;
    }
    if (helpful == 1) return instance;
  }
}

// The same for the same student on every machine, whatever the seed and however the name is spelt:
// FNV-1a.
std::vector<Instance> instances_for(const std::string& student) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char c : "resident" + grade::name_key(student))
    hash = (hash ^ c) * 0x100000001b3;
  grade::Random random(hash);
  constexpr std::string_view kLimiters[] = {"threads", "blocks", "shared memory", "registers"};
  const int first = random.between(0, 3), second = (first + random.between(1, 3)) % 4;
  const Instance one = drawn(random, kLimiters[first], nullptr);
  return {one, drawn(random, kLimiters[second], one.gpu)};
}

std::string instance_text(const grade::Submission& submission) {
  const std::vector<Instance> both = instances_for(submission.student);
  std::string text = submission.student.empty()
                         ? "STUDENT=\"Your Name\" draws two kernels of your own. Without it:\n\n"
                         : "drawn for " + submission.student + ":\n\n";
  const auto line = [&](const char* name, const auto& value) {
    text += text::printed("%-36s", name);
    for (const Instance& instance : both) text += text::printed("%18s", value(instance).c_str());
    text += "\n";
  };
  const auto number = [&](const char* name, const auto& value) {
    line(name, [&](const Instance& i) { return std::to_string(value(i)); });
  };
  line("", [&](const Instance& i) { return "kernel " + std::to_string(1 + (&i - both.data())); });
  number("threads per block", [](const Instance& i) { return i.kernel.threads_per_block; });
  number("registers per thread", [](const Instance& i) { return i.kernel.registers_per_thread; });
  number("shared memory per block, bytes", [](const Instance& i) {
    return i.kernel.smem_bytes_per_block;
  });
  line("GPU", [](const Instance& i) { return i.gpu->name; });
  number("its SM: most threads", [](const Instance& i) { return i.gpu->threads_per_sm; });
  number("  most blocks", [](const Instance& i) { return i.gpu->blocks_per_sm; });
  number("  registers", [](const Instance& i) { return i.gpu->registers_per_sm; });
  number("  shared memory, bytes", [](const Instance& i) { return i.gpu->smem_bytes_per_sm; });
  number("    the system's part, bytes per block", [](const Instance& i) {
    return i.gpu->smem_reserved_bytes_per_block;
  });
  number("    allocated in units of, bytes", [](const Instance& i) {
    return i.gpu->smem_granularity_bytes;
  });
  for (const Instance& instance : both) {
    text +=
        text::printed("\nchanges to kernel %d\n", static_cast<int>(1 + (&instance - both.data())));
    char letter = 'a';
    for (const Change& change : instance.changes) {
      text += text::printed("  %c  ", letter++) + change.words + "\n";
    }
  }
  return text;
}

std::string limits_text(const model::Occupancy& o) {
  return text::printed(
      "threads alone allow %d blocks, blocks %d, shared memory %d, registers %d",
      o.blocks_by_threads, o.blocks_by_blocks, o.blocks_by_smem, o.blocks_by_registers);
}

const char* blocks_hint(const Instance& instance, const model::Occupancy& o, int given) {
  model::Gpu generous = *instance.gpu;
  generous.smem_reserved_bytes_per_block = 0;
  const auto [threads, registers, bytes] = instance.kernel;
  if (given == model::occupancy(generous, instance.kernel).blocks_per_sm) {
    return "the system takes some shared memory for each block: add it";
  }
  if (o.limiter == "registers" && given == instance.gpu->registers_per_sm / (registers * threads)) {
    return "registers are allocated to whole warps in units of 256, and each quarter of an SM has "
           "a quarter of them: round at both";
  }
  if (given == o.blocks_by_threads || given == o.blocks_by_blocks || given == o.blocks_by_smem ||
      given == o.blocks_by_registers) {
    return "one of the limits alone allows that many, but another limit allows fewer";
  }
  return "work out how many blocks fit by threads, by blocks, by shared memory and by registers; "
         "the smallest of the four numbers counts";
}

std::optional<grade::Complaint> check_one(
    const Instance& instance, const std::string& number, const grade::Answers& answers) {
  const model::Occupancy o = model::occupancy(*instance.gpu, instance.kernel);
  const auto not_right = [&](const std::string& name, const std::string& phase,
                             const std::string& place) {
    return grade::Complaint{name + number + " is not right", phase, place};
  };
  std::map<std::string, std::string> given;
  for (const auto& [name, wants] : std::map<std::string, std::string>{
           {"blocks_", "a number: the blocks that an SM holds at once"},
           {"limiter_", "threads, blocks, shared memory or registers"},
           {"percent_", "a number: the occupancy in percent"},
           {"change_", "a letter from a to e"}}) {
    const auto answer = answers.find(name + number);
    if (answer == answers.end()) {
      return grade::Complaint{
          "no answer yet to " + name + number, "it must be " + wants,
          "write it after: answer " + name + number + ":"};
    }
    given[name] = answer->second;
  }
  double blocks = 0, percent = 0;
  for (const auto& [name, value] : {std::pair{"blocks_", &blocks}, {"percent_", &percent}}) {
    try {
      *value = grade::value_of(given[name], {});
    } catch (const std::invalid_argument& error) {
      return grade::Complaint{
          name + number + " is no number", error.what(), "write a number alone"};
    }
  }

  if (blocks != o.blocks_per_sm) {
    const bool whole = std::abs(blocks) < 1e6 && blocks == std::floor(blocks);
    return not_right(
        "blocks_",
        whole ? blocks_hint(instance, o, static_cast<int>(blocks))
              : "an SM holds whole blocks: round down",
        limits_text(o));
  }
  if (given["limiter_"] != o.limiter) {
    return not_right(
        "limiter_",
        "it is what an SM runs out of first: threads, blocks, shared memory or "
        "registers",
        limits_text(o));
  }
  if (std::abs(percent - o.percent) > 0.1) {
    return not_right(
        "percent_",
        std::abs(100 * percent - o.percent) <= 0.1
            ? "give it in percent"
            : "occupancy is the warps on an SM divided by the warps that it can hold: multiply the "
              "blocks by the warps per block",
        text::printed(
            "%d blocks of %d warps, and room for %d", o.blocks_per_sm, o.warps_per_block,
            instance.gpu->threads_per_sm / 32));
  }
  const std::string& letter = given["change_"];
  const std::size_t change =
      letter.size() == 1 ? static_cast<std::size_t>(letter[0] - 'a') : std::string::npos;
  if (change >= instance.changes.size()) {
    return not_right("change_", "it must be a letter from a to e", letter + " is none");
  }
  if (change != instance.right) {
    const Change& chosen = instance.changes[change];
    const model::Occupancy then = model::occupancy(*instance.gpu, chosen.result);
    return not_right(
        "change_", chosen.why_not,
        text::printed(
            "with change %c, an SM would hold %d blocks of %d warps, %.1f %%; now it is %.1f %%",
            letter[0], then.blocks_per_sm, then.warps_per_block, then.percent, o.percent));
  }
  return std::nullopt;
}

std::optional<grade::Complaint> check_both(
    const std::string& student, const grade::Answers& answers) {
  const std::vector<Instance> both = instances_for(student);
  for (std::size_t i = 0; i < both.size(); ++i) {
    if (auto complaint = check_one(both[i], std::to_string(i + 1), answers)) return complaint;
  }
  return std::nullopt;
}

std::optional<grade::Complaint> check_answers(const grade::Submission& submission) {
  auto complaint = check_both(submission.student, submission.answers);
  if (complaint && !check_both("", submission.answers)) {
    return grade::Complaint{
        "these answers are for the kernels drawn without a name",
        "answer for the kernels that are drawn for " + submission.student,
        "make grade EX=7 STUDENT=\"" + submission.student + "\" shows them"};
  }
  return complaint;
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "occupancy: what limits it, and the one change that lifts it",
    .check_answers = check_answers,
    .instance = instance_text,
};
