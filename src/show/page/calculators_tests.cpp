// The page's rules beside those of the model.
#include <doctest/doctest.h>

#include <climits>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/problem.h"
#include "model/gpus.h"
#include "model/stage.h"
#include "model/warp_access.h"
#include "show/page/page.h"
#include "testing/browser.h"
#include "testing/fuzz.h"
#include "testing/program.h"
#include "text/json.h"
#include "text/numbers.h"

namespace page {
namespace {

using testing::Browser;
using testing::contents;
using testing::there_is_no_browser;

constexpr int kSettings = 1000;

struct Random : testing::Fuzz {
  Random() : Fuzz({}, {}) {}
  int from(int low, int high) {
    return low + static_cast<int>(upto(static_cast<std::size_t>(high - low) + 1));
  }
};

// A page with the rules, and with the calculators' `data`.
Browser& with_rules() {
  const testing::Folder folder;
  folder.write(
      "rules.html",
      "<!DOCTYPE html><meta charset=utf-8><title>rules</title><script>'use strict';\n" +
          contents("src/show/page/rules.js") +
          "\nconst data = " + calculator_data(stage_table_traced) + ";\n</script>");
  Browser& browser = testing::shared_browser();
  browser.open(folder / "rules.html");
  REQUIRE(browser.complaints() == std::vector<std::string>{});
  return browser;
}

// What `rule` returns for each of the settings, by its place: "17.blocks". Infinity and NaN are
// null.
std::map<std::string, std::string> of_page(
    const std::string& rule, const std::vector<std::string>& settings) {
  std::string list;
  for (const std::string& setting : settings) list += (list.empty() ? "[" : ",") + setting;
  return testing::StrictJson(with_rules().evaluate("(" + list + "]).map(" + rule + ")")).values;
}

bool is_near(const std::string& page, double model) {
  if (page == "null") return !std::isfinite(model);
  return std::abs(std::stod(page) - model) <= 1e-12 * std::abs(model);
}

// Sizes and counts that are usual, rare or nonsense.
int count(Random& random, int most) {
  switch (random.from(0, 5)) {
    case 0:
      return 1 << random.from(0, 11);
    case 1:
      return 32 * random.from(0, 34);
    case 2:
      return random.from(-2, 2);
    default:
      return random.from(1, most);
  }
}

std::string limit(int blocks) {
  return blocks == INT_MAX ? "null" : std::to_string(blocks);
}

TEST_CASE("the page's occupancy is that of the model, for every GPU and any kernel") {
  if (there_is_no_browser()) return;
  const auto gpus = model::known_gpus();
  Random random;
  std::vector<std::string> settings;
  std::vector<model::Occupancy> expected;
  for (int i = 0; i < kSettings; ++i) {
    const std::size_t gpu = static_cast<std::size_t>(i) % gpus.size();
    const model::KernelResources kernel{
        count(random, 1100), random.one_in(4) ? count(random, 300) : random.from(0, 128),
        random.one_in(3) ? random.from(-1, 240 * 1024) : count(random, 100'000)};
    settings.push_back(text::printed(
        "[%zu, %d, %d, %d]", gpu, kernel.threads_per_block, kernel.registers_per_thread,
        kernel.smem_bytes_per_block));
    expected.push_back(model::occupancy(gpus[gpu], kernel));
  }
  auto page = of_page(
      "([gpu, threads, registers, smemBytes]) => "
      "occupancy(data.gpus[gpu], {threads, registers, smemBytes})",
      settings);
  int limited_by_registers = 0, impossible = 0;
  for (int i = 0; i < kSettings; ++i) {
    const model::Occupancy& model = expected[i];
    const std::string at = std::to_string(i) + ".";
    INFO("setting ", settings[i]);
    CHECK(page[at + "warpsPerBlock"] == std::to_string(model.warps_per_block));
    CHECK(page[at + "limits.threads"] == limit(model.blocks_by_threads));
    CHECK(page[at + "limits.blocks"] == limit(model.blocks_by_blocks));
    CHECK(page[at + "limits.shared memory"] == limit(model.blocks_by_smem));
    CHECK(page[at + "limits.registers"] == limit(model.blocks_by_registers));
    CHECK(page[at + "blocks"] == limit(model.blocks_per_sm));
    CHECK(page[at + "limiter"] == model.limiter);
    CHECK(is_near(page[at + "percent"], model.percent));
    limited_by_registers += model.limiter == "registers";
    impossible += model.blocks_per_sm == 0;
  }
  CHECK(limited_by_registers > kSettings / 20);
  CHECK(impossible > kSettings / 20);
}

std::string wavefronts_json(const model::Wavefronts& wavefronts) {
  std::string json;
  for (const model::Wavefront& one : wavefronts) {
    json += (json.empty() ? "" : ",") + text::printed("[%d,%u]", one.group, one.lanes);
  }
  return "[" + json + "]";
}

model::WarpAccess random_access(Random& random, int number) {
  model::WarpAccess access{~0u, 1 << random.from(0, 4), {}};
  if (number % 4 == 0) access.warp = model::kPaperWarp;
  if (number % 7 == 0) access.warp.banks = static_cast<std::uint8_t>(1 << random.from(2, 5));
  if (random.one_in(3)) access.active = static_cast<std::uint32_t>(random.from(0, INT_MAX)) * 2u;
  access.active &= ~0u >> (32 - access.warp.lanes);
  const int stride = random.one_in(2) ? 1 << random.from(0, 6) : random.from(0, 70);
  const int shared_by = 1 << random.from(0, 5), flip = random.from(0, 31), base = random.from(0, 9);
  const bool any = random.one_in(3);
  for (int lane = 0; lane < access.warp.lanes; ++lane) {
    const int unit = any ? random.from(0, 300) : base + lane / shared_by * stride;
    access.address[lane] = static_cast<std::uint64_t>((unit ^ flip) * access.bytes);
  }
  if (random.one_in(4)) access.address[access.warp.lanes / 2] += 16;
  return access;
}

std::string access_json(const model::WarpAccess& access) {
  std::string addresses;
  for (int lane = 0; lane < access.warp.lanes; ++lane) {
    const bool active = (access.active >> lane & 1) != 0;
    addresses += (lane == 0 ? "[" : ",") +
                 (active ? std::to_string(access.address[lane]) : std::string("null"));
  }
  return text::printed(
             "{\"bytes\":%d,\"warp\":{\"lanes\":%d,\"banks\":%d},\"addresses\":", access.bytes,
             access.warp.lanes, access.warp.banks) +
         addresses + "]}";
}

TEST_CASE("the page's wavefronts have the lanes that the model's have") {
  if (there_is_no_browser()) return;
  Random random;
  std::vector<std::string> settings, expected;
  int conflicts = 0;
  for (int i = 0; i < kSettings; ++i) {
    const model::WarpAccess access = random_access(random, i);
    settings.push_back(access_json(access));
    expected.push_back(
        "[" + wavefronts_json(model::wavefronts_of_load(access)) + "," +
        wavefronts_json(model::wavefronts_of_store(access)) + "]");
    conflicts += model::wavefronts_of_load(access).bank_conflicts() > 0;
  }
  const auto page = of_page(
      "(access) => JSON.stringify([true, false].map((isLoad) =>"
      "  wavefrontsOf(access, isLoad).map(({group, lanes}) => [group, lanes >>> 0])))",
      settings);
  for (int i = 0; i < kSettings; ++i) {
    INFO(settings[i]);
    CHECK(text::json_text('"' + page.at(std::to_string(i)) + '"') == expected[i]);
  }
  CHECK(conflicts > kSettings / 5);
}

std::string random_formula(Random& random, int depth) {
  static const std::vector<std::string> good = {"0",   "1",    "7", "40", "2.5",     ".5", "3.",
                                                "1e3", "1e-9", "K", "BM", "threads", "x_1"};
  static const std::vector<std::string> bad = {"1e999", "7e", ".", "nobody", "ceil",
                                               "max",   ")",  "(", "+",      ",",
                                               " ",     "$",  "",  "ceil(",  "2 2"};
  if (random.one_in(30)) return random.one_of(bad);
  if (depth == 0 || random.one_in(4)) return random.one_of(good);
  const std::string left = random_formula(random, depth - 1);
  switch (random.from(0, 5)) {
    case 0:
      return "ceil(" + left + ")";
    case 1: {
      std::string values = left;
      while (random.one_in(2)) values += ", " + random_formula(random, depth - 1);
      return (random.one_in(2) ? "min(" : "max(") + values + ")";
    }
    case 2:
      return "(" + left + ")";
    case 3:
      return "-" + left;
    default:
      return left + (random.one_in(2) ? " " : "") + "+-*/"[random.from(0, 3)] +
             random_formula(random, depth - 1);
  }
}

TEST_CASE("the page's formulas have the values of the model's, and fail where those fail") {
  if (there_is_no_browser()) return;
  const model::Named names[] = {{"K", 256}, {"BM", 128}, {"threads", 0}, {"x_1", -1.5}};
  Random random;
  std::vector<std::string> formulas, settings;
  while (settings.size() < kSettings) {
    formulas.push_back(random_formula(random, 4));
    settings.push_back(text::json_string(formulas.back()));
  }
  const auto page = of_page(
      "(formula) => {"
      "  try { return evaluateFormula(formula, {K: 256, BM: 128, threads: 0, x_1: -1.5}); }"
      "  catch { return null; }"
      "}",
      settings);
  int values = 0;
  for (int i = 0; i < kSettings; ++i) {
    double value = std::nan("");
    try {
      value = model::evaluate(formulas[i], names);
    } catch (const std::invalid_argument&) {
    }
    INFO("formula ", formulas[i]);
    CHECK(is_near(page.at(std::to_string(i)), value));
    values += std::isfinite(value);
  }
  CHECK(values > kSettings / 5);
  CHECK(values < kSettings * 4 / 5);
}

}  // namespace
}  // namespace page
