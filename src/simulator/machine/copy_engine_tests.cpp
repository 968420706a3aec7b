#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "model/refusal.h"
#include "simulator/machine/async_copies.h"
#include "simulator/machine/copy_engine.h"

namespace machine {

namespace {

std::vector<int> arrived(AsyncGroups<int>& groups, std::uint64_t groups_in_flight) {
  std::vector<int> copies;
  groups.wait(groups_in_flight, [&](int copy) { copies.push_back(copy); });
  return copies;
}

using Copies = std::vector<int>;

}  // namespace

TEST_CASE("copies arrive in the order of their groups, when too many groups are in flight") {
  AsyncGroups<int> groups;
  for (int copy : {1, 2}) groups.issue(copy);
  groups.commit();
  groups.issue(3);
  groups.commit();
  groups.issue(4);
  CHECK(arrived(groups, 2) == Copies{});
  CHECK(arrived(groups, 1) == Copies{1, 2});
  CHECK(arrived(groups, 1) == Copies{});
  CHECK(arrived(groups, 0) == Copies{3});  // an uncommitted copy is in no group
  groups.commit();
  CHECK(arrived(groups, 0) == Copies{4});
}

TEST_CASE("an empty group counts as a group, and cleared copies never arrive") {
  AsyncGroups<int> groups;
  groups.issue(1);
  groups.commit();
  groups.commit();
  CHECK(arrived(groups, 1) == Copies{1});
  groups.issue(2);
  groups.clear();
  groups.commit();
  CHECK(arrived(groups, 0) == Copies{});
}

TEST_CASE("the first copies can be waited for, whatever group they are in") {
  AsyncGroups<int> groups;
  std::vector<int> arrived;
  const auto note = [&](int copy) { arrived.push_back(copy); };
  groups.issue(1);
  groups.issue(2);
  groups.commit();
  groups.issue(3);
  CHECK(groups.issued() == 3);
  groups.wait_for_first(1, note);
  CHECK(arrived == std::vector{1});
  groups.wait_for_first(1, note);
  CHECK(arrived == std::vector{1});
  groups.wait_for_first(3, note);
  CHECK(arrived == std::vector{1, 2, 3});
  groups.issue(4);
  groups.commit();
  groups.wait(1, note);
  CHECK(arrived == std::vector{1, 2, 3});
  groups.wait(0, note);
  CHECK(arrived == std::vector{1, 2, 3, 4});
}

TEST_CASE("a phase of an mbarrier needs all arrivals") {
  Mbarrier barrier(2);
  CHECK(barrier.is_complete(1));
  CHECK_FALSE(barrier.is_complete(0));
  CHECK(barrier.arrive());
  CHECK_FALSE(barrier.is_complete(0));
  CHECK(barrier.arrive());
  CHECK(barrier.is_complete(0));
  CHECK_FALSE(barrier.is_complete(1));
  CHECK(barrier.phase() == 1);
  CHECK(barrier.arrive());
  CHECK(barrier.arrive());
  CHECK(barrier.is_complete(1));
}

TEST_CASE("a phase of an mbarrier needs all bytes that were announced") {
  Mbarrier barrier(1);
  CHECK(barrier.expect(100));
  CHECK(barrier.arrive());
  CHECK_FALSE(barrier.arrive());
  CHECK(barrier.receive(60));
  CHECK_FALSE(barrier.is_complete(0));
  CHECK(barrier.receive(40));
  CHECK(barrier.is_complete(0));
  CHECK(barrier.missing_arrivals() == 1);
}

TEST_CASE("bytes may come to an mbarrier before they are announced") {
  Mbarrier barrier(1);
  CHECK(barrier.receive(64));
  CHECK(barrier.missing_bytes() == -64);
  CHECK(barrier.expect(64));
  CHECK(barrier.arrive());
  CHECK(barrier.is_complete(0));
}

TEST_CASE("an mbarrier holds no more than 2^20 - 1 bytes") {
  Mbarrier barrier(1);
  CHECK_FALSE(barrier.expect(1 << 20));
  CHECK(barrier.expect((1 << 20) - 1));
  CHECK_FALSE(barrier.expect(1));
}

namespace {

struct alignas(128) Matrix {
  float elements[10 * 40];
};

Matrix numbered() {
  Matrix matrix;
  for (int i = 0; i < 400; ++i) matrix.elements[i] = static_cast<float>(i + 1);
  return matrix;
}

template <class To, class From>
std::vector<To> as(const std::vector<From>& from) {
  std::vector<To> to(from.size() * sizeof(From) / sizeof(To));
  std::memcpy(to.data(), from.data(), from.size() * sizeof(From));
  return to;
}

}  // namespace

TEST_CASE("a box has zeros outside of the matrix") {
  const Matrix matrix = numbered();
  const CUtensorMap map =
      tensor_map_2d(matrix.elements, 10, 37, 160, {4, 8}, model::Swizzle::span_32);
  const TensorMap contents = *contents_of(map);
  std::vector<char> shared(contents.box_bytes());
  for (const int x : {-9, -5, 0, 30, 36, 37}) {
    for (const int y : {-4, -2, 0, 8, 12}) {
      load_box(contents, x, y, 1024, shared.data());
      const std::vector<float> rows = as<float>(read_box(contents, 1024, shared.data()));
      for (int row = 0; row < 4; ++row) {
        for (int column = 0; column < 8; ++column) {
          const int r = y + row, c = x + column;
          const bool is_inside = r >= 0 && r < 10 && c >= 0 && c < 37;
          CHECK(rows[row * 8 + column] == (is_inside ? matrix.elements[r * 40 + c] : 0));
        }
      }
    }
  }
}

TEST_CASE("a stored box changes nothing outside of the matrix") {
  for (const int x : {-5, 0, 33, 40}) {
    for (const int y : {-3, 0, 8, 11}) {
      Matrix matrix = numbered();
      const TensorMap contents =
          *contents_of(tensor_map_2d(matrix.elements, 10, 37, 160, {4, 8}, model::Swizzle::none));
      std::vector<float> rows(32);
      for (int i = 0; i < 32; ++i) rows[i] = static_cast<float>(-i - 1);
      store_box(contents, x, y, as<char>(rows));
      for (int r = 0; r < 10; ++r) {
        for (int c = 0; c < 40; ++c) {
          const int row = r - y, column = c - x;
          const bool stored = row >= 0 && row < 4 && column >= 0 && column < 8 && c < 37;
          const float expected =
              stored ? rows[row * 8 + column] : static_cast<float>(r * 40 + c + 1);
          CHECK(matrix.elements[r * 40 + c] == expected);
        }
      }
    }
  }
}

TEST_CASE("a box of bf16 has eight elements where a box of floats has four") {
  alignas(16) std::uint16_t matrix[6 * 24];
  for (int i = 0; i < 144; ++i) matrix[i] = static_cast<std::uint16_t>(i + 1);
  const TensorMap contents = *contents_of(
      tensor_map_2d(matrix, 6, 21, 48, {4, 16}, model::Swizzle::span_32, TensorElement::bfloat16));
  CHECK(contents.box_bytes() == 128);
  for (const int x : {-8, 0, 8, 16}) {
    for (const int y : {-1, 0, 4}) {
      std::vector<char> shared(contents.box_bytes());
      load_box(contents, x, y, 2048, shared.data());
      const auto rows = as<std::uint16_t>(read_box(contents, 2048, shared.data()));
      for (int i = 0; i < 64; ++i) {
        const int r = y + i / 16, c = x + i % 16;
        const bool is_inside = r >= 0 && r < 6 && c >= 0 && c < 21;
        CHECK(rows[i] == (is_inside ? matrix[r * 24 + c] : 0));
      }
      const PartOfMatrix part = inside(contents, x, y);
      const int columns = std::max(0, std::min(x + 16, 21) - std::max(x, 0));
      CHECK(part.row_bytes == 2 * columns);
    }
  }
}

TEST_CASE("a tensor map must keep the driver's rules") {
  const Matrix matrix = numbered();
  const auto refused = [&](const float* data, int rows, int columns, int pitch, TensorBox box,
                           model::Swizzle swizzle) {
    try {
      tensor_map_2d(data, rows, columns, pitch, box, swizzle);
    } catch (const model::Refusal&) {
      return true;
    }
    return false;
  };
  const auto none = model::Swizzle::none;
  CHECK_FALSE(refused(matrix.elements, 10, 40, 160, {10, 40}, none));
  CHECK(refused(matrix.elements + 1, 9, 40, 160, {9, 40}, none));
  CHECK(refused(matrix.elements, 0, 40, 160, {10, 40}, none));
  CHECK(refused(matrix.elements, 10, 37, 148, {10, 40}, none));
  CHECK(refused(matrix.elements, 10, 40, 144, {10, 40}, none));
  CHECK(refused(matrix.elements, 10, 40, 160, {257, 40}, none));
  CHECK(refused(matrix.elements, 10, 40, 160, {10, 0}, none));
  CHECK(refused(matrix.elements, 10, 40, 160, {10, 6}, none));
  CHECK(refused(matrix.elements, 10, 40, 160, {10, 40}, model::Swizzle::span_128));
  CUtensorMap other;
  std::memset(&other, 1, sizeof other);
  CHECK_FALSE(contents_of(other));
}

}  // namespace machine
