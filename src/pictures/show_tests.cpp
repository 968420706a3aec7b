#include "pictures/show.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <sstream>

#include "text/numbers.h"

namespace pictures {

namespace {

std::string shown(const BlockRequests& block) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* out = open_memstream(&text, &size);
  Show show{"title", {}, {}, {{"kernel", "grid 1", block, ""}}};
  print_show(out, show, {});
  std::fclose(out);
  const std::string result(text, size);
  std::free(text);
  return result;
}

int widest_line(const std::string& text) {
  int widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    widest = std::max(widest, text::display_width(line));
  }
  return widest;
}

// The lanes' words lie so many bytes apart.
Request request(const char* array, bool shared, model::Direction direction, int apart, int warp) {
  Request request{warp, 0, 0, array, shared, direction, {~0u, 4, {}}, 0, 1};
  for (int lane = 0; lane < model::kWarpSize; ++lane) request.access.address[lane] = lane * apart;
  request.pieces = shared ? model::shared_load(request.access).wavefronts
                          : model::global_sectors(request.access);
  return request;
}

}  // namespace

TEST_CASE("what a block did is drawn in 80 columns, with one and with many pieces") {
  using model::Direction;
  BlockRequests block{};
  block.M = block.N = block.K = 64;
  block.requests = {
      request("A", false, Direction::load, 4096, 0), request("B", false, Direction::load, 0, 0),
      request("As", true, Direction::load, 128, 0), request("Bs", true, Direction::load, 0, 0)};
  for (int warp = 0; warp < 32; ++warp) {
    block.requests.push_back(request("C", false, Direction::store, 4, warp));
    for (auto& address : block.requests.back().access.address) address += warp * 256;
  }
  const std::string text = shown(block);
  CAPTURE(text);
  CHECK(widest_line(text) <= 80);
  const auto says = [&](const char* words) { return text.find(words) != text.npos; };
  CHECK(says("32 sectors, ideal 1"));
  CHECK(says(", 1 sector, "));
  CHECK(says("[0 . . . . . . .] [1 . . . . . . .]"));
  CHECK(says("[* . . . . . . .]"));
  CHECK(says(", 32 wavefronts, "));
  CHECK(says("      and 20 more wavefronts\n"));
  CHECK(says(", 1 wavefront, "));
  CHECK(says("a sign is a warp: 0-9, then a-z"));
}

TEST_CASE("the threads of a small tile are numbered, and banks stand below their numbers") {
  BlockRequests block{};
  block.M = block.N = block.K = 64;
  block.requests = {
      request("As", true, model::Direction::load, 4, 0),
      request("C", false, model::Direction::store, 256, 0)};
  const std::string text = shown(block);
  CHECK(text.find("numbers are threads") != text.npos);
  CHECK(text.find("\n   0\n   1\n") == text.npos);
  CHECK(text.find("\n    0\n    1\n") != text.npos);
  const std::size_t banks = text.find("bank "), row = text.find("\n        1 ", banks);
  REQUIRE(row != text.npos);
  const std::size_t line = text.rfind('\n', banks);
  CHECK(text.find(" 0 1 2", line) - line == text.find(" 0 1 2", row) - row);
}

}  // namespace pictures
