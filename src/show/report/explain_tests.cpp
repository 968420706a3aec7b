// --explain: its sections, what they are computed from, and the program itself, run in a shell.
#include <doctest/doctest.h>

#include <bit>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lab/example_run.h"
#include "lab/run.h"
#include "show/pictures/pictures.h"
#include "show/report/explain/explain.h"
#include "show/report/known.h"
#include "show/report/quantities.h"
#include "testing/golden.h"
#include "testing/program.h"
#include "text/numbers.h"

namespace report {

namespace {

using lab::example::kGpu;
using lab::example::kTiling;
using lab::example::timed_run;
using lab::example::traced_run;
using testing::widest;

std::string explained(const lab::Run& run, const lab::Row& row, text::Style style = {}) {
  return testing::written([&](std::FILE* out) { explain(out, run, row, style); });
}

std::string section(const std::string_view name, const lab::Run& run, const lab::Row& row) {
  return testing::written(
      [&](std::FILE* out) { explain(out, run, row, {}, {.sections = {std::string(name)}}); });
}

}  // namespace

TEST_CASE("a narrow terminal has narrow lines, down to 80 columns") {
  for (const auto& [typed, most] :
       {std::pair("100", 100),
        {"80", 80},
        {"40", 80},
        {"", 100},
        {"200", 100},
        {"wide", 100},
        {"-5", 100}}) {
    CAPTURE(std::string(typed));
    const testing::Variable terminal("COLUMNS", typed);
    CHECK(text::report_width() == most);
    for (const lab::Run& run : {timed_run(), traced_run()}) {
      for (const lab::Row& row : run.rows) {
        CHECK(widest(explained(run, row)) <= most);
        for (const std::string_view name : flags::kExplained)
          CHECK(widest(section(name, run, row)) <= most);
      }
    }
  }
  lab::Run enormous = timed_run();
  enormous.rows[3].error =
      model::Error{0.5, 1e30, false, model::Mismatch{123456789, 987654321, -1.23456789e-30, 1e300}};
  enormous.M = enormous.N = enormous.K = 1000003;
  model::Counts& counts = *enormous.rows[3].counts;
  for (model::LineCounts& line : counts.lines) line.executions *= 10'000'000;
  for (model::Traffic* traffic : {&counts.gmem_loads, &counts.smem_loads, &counts.smem_stores}) {
    traffic->requests = traffic->pieces = 123'456'789'012;
    traffic->accesses.max = traffic->floats.max = traffic->floats.sum = 8'102'400'001;
  }
  for (const int most : {100, 80}) {
    const testing::Variable terminal("COLUMNS", std::to_string(most).c_str());
    for (const std::string_view name : flags::kExplained) {
      CAPTURE(std::string(name));
      CHECK(widest(section(name, enormous, enormous.rows[3])) <= most);
    }
  }
}

TEST_CASE("every variant is explained in at most 160 lines of 100 columns") {
  for (const model::Stage& stage : stage_table_traced.stages) {
    for (const model::Variant& variant : stage.variants) {
      const std::string flags = std::to_string(stage.number) + " --variant " + variant.name;
      CAPTURE(flags);
      // Its tiles are cut off, and it copies single floats.
      const testing::Output output = testing::gemm_steps(
          "--device cpu --explain --gpu H200 --hazards off --m 33 --n 71 --k 5 --beta 1 --stage " +
          flags);
      CHECK(output.exit_code == 0);
      CHECK(widest(output.out) <= 100);
      const std::size_t lines = testing::lines_of(output.out).size();
      CHECK(lines > 90);
      CHECK(lines <= 160);
    }
  }
}

TEST_CASE("a diff is as short as possible, and a shortened one keeps the changes") {
  const std::vector<DiffLine> diff = line_diff({"a", "b", "c", "d"}, {"a", "x", "c", "  d", "}"});
  std::string text;
  for (const DiffLine& line : diff) {
    text += (line.before == 0 ? "+" : line.after == 0 ? "-" : " ") + line.text + "\n";
  }
  CHECK(text == " a\n-b\n+x\n c\n   d\n+}\n");
  const std::vector<DiffLine> shortened = shortened_diff(diff, 0);
  REQUIRE(shortened.size() == 2);
  CHECK(shortened[0].before == 2);
  CHECK(shortened[1].after == 2);
  CHECK(shortened_diff(diff, 1).size() == 4);
  CHECK(line_diff({}, {}).empty());
  CHECK(line_diff({}, {"a"}).size() == 1);
}

TEST_CASE("explanations of made-up runs are those of their golden file") {
  std::vector<testing::TitledText> outputs;
  const auto changed = [&](const std::string& change, lab::Run run, auto make,
                           const std::vector<std::string>& sections, int row = 3) {
    make(run, run.rows[row], *run.rows[3].counts);
    outputs.emplace_back(change, "");
    if (sections.empty()) outputs.back().second = explained(run, run.rows[row]);
    for (const std::string& name : sections) {
      outputs.back().second += section(name, run, run.rows[row]);
    }
  };
  using lab::Row, lab::Run, model::Counts;
  const auto nothing = [](Run&, Row&, Counts&) {};
  changed("traced", traced_run(), nothing, {});
  changed("timed", timed_run(), nothing, {"ceiling", "time"});
  changed("cuBLAS", timed_run(), nothing, {}, 4);
  const auto differs = [](Run&, Row&, Counts& counts) { counts.gmem_loads.accesses.max = 255; };
  changed("differs", traced_run(), differs, {"counts"});
  changed(
      "nothing to multiply", traced_run(), [](Run& run, Row&, Counts&) { run.alpha = 0; },
      {"counts"});
  changed(
      "reasons in the shape", traced_run(),
      [](Run& run, Row&, Counts& counts) {
        counts.gmem_loads.accesses.max = 255;
        run.K = 251, run.M = 100;
      },
      {"counts"});
  for (const int uncoalesced : {0, 2000}) {
    changed(
        "coalesced", traced_run(),
        [&](Run&, Row&, Counts& counts) {
          counts.gmem_stores.pieces = 8192, counts.gmem_stores.uncoalesced = 0;
          counts.gmem_loads.pieces = 20000, counts.gmem_loads.ideal_pieces = 10000;
          counts.gmem_loads.uncoalesced = uncoalesced;
        },
        {"counts"});
  }
  changed(
      "tensor cores and cp.async", traced_run(),
      [](Run&, Row&, Counts& counts) {
        counts.mmas = 4096, counts.mma_products = 4096 * 1024;
        counts.async_gmem = counts.gmem_loads;
      },
      {"counts"});
  model::Variant of_parts = kTiling.variants[0];
  of_parts.multiplier = model::Multiplier::wgmma_3xf16;
  for (const bool has_units : {false, true}) {
    of_parts.has_units = has_units;
    changed(
        "parts", traced_run(),
        [&](Run& run, Row& row, Counts&) {
          row.variant = &of_parts;
          run.gpu.tf32_products_per_clock = 128;
        },
        {"time", "ceiling"});
  }
  changed(
      "copies nothing", timed_run(), [](Run&, Row&, Counts& counts) { counts.smem_stores = {}; },
      {"ceiling"});
  for (const double part : {0.6, 0.9}) {
    changed(
        "a part of the ceiling", timed_run(),
        [&](Run& run, Row& row, Counts&) {
          const double ceiling = lab::ceilings(run, row).compiled->tflops;
          row.time->median_ms = 2.0 * 256 * 256 * 256 * 1e-9 / (part * ceiling);
        },
        {"ceiling"});
  }
  model::Variant of_warpgroups = kTiling.variants[0];
  of_warpgroups.sharing = model::Sharing::persistent;
  for (const model::Variant* variant : {&kTiling.variants.front(), &std::as_const(of_warpgroups)}) {
    changed(
        "occupancy", traced_run(),
        [&](Run&, Row& row, Counts&) {
          row.occupancy = model::occupancy(kGpu, {256, 38, 2048});
          row.variant = variant;
        },
        {"occupancy"});
  }
  changed(
      "wrong", traced_run(),
      [](Run&, Row& row, Counts&) {
        row.error = model::Error{0.5, 3, false, model::Mismatch{7, 9, 1.5, 2.5}};
      },
      {"time"});
  testing::compare_with_golden("made-up-explanations", outputs);
}

namespace {

using model::Direction;
using model::WarpAccess;

// Lanes `apart` bytes from each other.
WarpAccess strided(int bytes, std::uint64_t apart, std::uint32_t active = ~0u) {
  WarpAccess access{.active = active, .bytes = bytes, .address = {}};
  for (int lane = 0; lane < model::kWarpSize; ++lane) access.address[lane] = apart * lane;
  return access;
}

std::string global(const WarpAccess& access, int row_words = 0) {
  return request_sentence({access, false, Direction::load, row_words});
}

std::string shared(const WarpAccess& access, Direction direction, int row_words = 0) {
  return request_sentence({access, true, direction, row_words});
}

// The number before these words; -1 if there is none.
int number_before(const std::string& sentence, const std::string& words) {
  std::size_t end = sentence.rfind(words);
  if (end == sentence.npos || end == 0) return -1;
  std::string digits;
  while (end > 0 && (std::isdigit(sentence[end - 1]) || sentence[end - 1] == ',')) {
    if (sentence[--end] != ',') digits.insert(digits.begin(), sentence[end]);
  }
  return digits.empty() ? -1 : std::atoi(digits.c_str());
}

// Aligned addresses that often coincide, often with lanes that take no part.
WarpAccess random_access(int bytes, std::mt19937& random) {
  WarpAccess access = strided(bytes, bytes * (random() % 3 == 0 ? random() % 130 : 1));
  if (random() % 2) access.active = static_cast<std::uint32_t>(random() | 1);
  if (random() % 3 == 0) return access;
  const unsigned span = 1u << random() % 11;
  const bool in_pairs = random() % 2;
  for (int lane = 0; lane < model::kWarpSize; ++lane) {
    access.address[lane] = std::uint64_t{random() % span} * bytes;
    if (in_pairs && lane % 2 == 1) access.address[lane] = access.address[lane - 1];
  }
  return access;
}

int used_bytes(const WarpAccess& access) {
  std::set<std::uint64_t> bytes;
  model::for_each_lane(access.active, [&](int lane) {
    for (int i = 0; i < access.bytes; ++i) bytes.insert(access.address[lane] + i);
  });
  return static_cast<int>(bytes.size());
}

// The most different words of one bank.
std::size_t most_words(const WarpAccess& access) {
  std::map<std::uint64_t, std::set<std::uint64_t>> banks;
  std::size_t most = 0;
  model::for_each_lane(access.active, [&](int lane) {
    model::for_each_word(access, lane, [&](std::uint64_t word) {
      banks[word % 32].insert(word);
      most = std::max(most, banks[word % 32].size());
    });
  });
  return most;
}

}  // namespace

TEST_CASE("the sentences of some requests are those of their golden file") {
  WarpAccess shifted = strided(4, 4), two_rows = strided(4, 0), two_columns = shifted;
  WarpAccess matrices = strided(16, 16);
  matrices.matrices = 4;
  for (int lane = 0; lane < 32; ++lane) {
    shifted.address[lane] += 4;
    two_rows.address[lane] = lane < 16 ? 0 : 4 * 128;
    two_columns.address[lane] = 4 * (lane / 2 + lane % 2 * 512);
  }
  std::string copies;
  for (const auto& [active, filling] : {std::pair{1u, 0u}, {~0u, 0xffu}, {~0u, ~0u}}) {
    WarpAccess to = strided(16, 16, active), from = to;
    from.active &= ~filling;
    from.filling = filling;
    copies += request_sentence({to, true, Direction::copy, 0, &from}) + "\n";
  }
  const auto load = Direction::load, store = Direction::store;
  testing::compare_with_golden(
      "sentences", {{"neighbours", global(strided(4, 4))},
                    {"rows", global(strided(4, 1024), 256)},
                    {"pieces", global(strided(4, 1024))},
                    {"the same", global(strided(4, 0))},
                    {"shifted", global(shifted)},
                    {"two rows", shared(two_rows, load, 8)},
                    {"two columns", shared(two_columns, store, 128)},
                    {"a bank", shared(strided(4, 128), store, 32)},
                    {"all banks", shared(strided(4, 4), load)},
                    {"a word", shared(strided(4, 0), load)},
                    {"wide", shared(strided(16, 128), load)},
                    {"ldmatrix", shared(matrices, load)},
                    {"copies", copies}});
}

TEST_CASE("the numbers of a sentence are the model's, for random requests to global memory") {
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    const WarpAccess access = random_access(1 << random() % 5, random);
    const std::string sentence = global(access, static_cast<int>(random() % 3) * 8);
    CAPTURE(sentence);
    const int sectors = number_before(sentence, " sector");
    CHECK(sectors == model::sectors(access).size());
    CHECK(number_before(sentence, " lane") == std::popcount(access.active));
    const int used = used_bytes(access);
    const bool all_used = sentence.find("all their bytes") != sentence.npos;
    const int of_each = number_before(sentence, " bytes of each are used");
    const int of_each_one = number_before(sentence, " byte of each is used");
    if (all_used) {
      CHECK(used == 32 * sectors);
    } else if (of_each >= 0 || of_each_one >= 0) {
      CHECK(used == std::max(of_each, of_each_one) * sectors);
    } else {
      CHECK(number_before(sentence, " of their ") == used);
      CHECK(number_before(sentence, " bytes are used") == 32 * sectors);
    }
  }
}

TEST_CASE("the numbers of a sentence are the model's, for random requests to shared memory") {
  std::mt19937 random(2);
  for (int i = 0; i < 5000; ++i) {
    const WarpAccess access = random_access(4 << random() % 3, random);
    const bool is_load = random() % 2 == 0;
    const std::string sentence =
        shared(access, is_load ? Direction::load : Direction::store, random() % 2 ? 32 : 0);
    CAPTURE(sentence);
    const model::Wavefronts wavefronts =
        is_load ? model::wavefronts_of_load(access) : model::wavefronts_of_store(access);
    CHECK(number_before(sentence, " wavefront") == wavefronts.size());
    const int groups = number_before(sentence, " groups of up to");
    CHECK((groups < 0 ? 1 : groups) == wavefronts.groups);
    if (groups > 0) {
      const int each = number_before(sentence, " different words of one bank");
      if (each > 0) CHECK(each * groups == wavefronts.size());
      if (sentence.find("one for each group") != sentence.npos) CHECK(wavefronts.size() == groups);
    } else if (const int words = number_before(sentence, " different words of the same bank");
               words > 0) {
      CHECK(words == static_cast<int>(most_words(access)));
      CHECK(words == wavefronts.size());
    } else {
      CHECK(most_words(access) == 1);
      const int different = number_before(sentence, " different word");
      CHECK((different < 0 ? 1 : different) * 4 == used_bytes(access));
    }
  }
}

TEST_CASE("the numbers of a sentence are the model's, for random ldmatrix and cp.async") {
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) {
    WarpAccess rows = random_access(16, random);
    rows.matrices = 1 << random() % 3;
    const std::string of_rows = shared(rows, Direction::load);
    CAPTURE(of_rows);
    CHECK(number_before(of_rows, " wavefront") == model::wavefronts_of_load(rows).size());

    const int bytes = 4 << random() % 3;
    const WarpAccess to = random_access(bytes, random);
    WarpAccess from = random_access(bytes, random);
    from.active = to.active;
    from.filling = random() % 2 ? 0 : from.active & static_cast<std::uint32_t>(random());
    from.active &= ~from.filling;
    const auto [sectors, wavefronts] = model::split_async_copy(to, from);
    const std::string written = request_sentence({to, true, Direction::copy, 0, &from});
    const std::string read = request_sentence({from, false, Direction::copy, 0, &to});
    CAPTURE(written);
    CAPTURE(read);
    CHECK(
        number_before(written, " wavefronts.") + number_before(written, " wavefront.") + 1 ==
        wavefronts.size());
    CHECK(number_before(read, " sector") == sectors.size());
  }
}

}  // namespace report
