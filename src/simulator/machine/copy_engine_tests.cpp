#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "model/refusal.h"
#include "simulator/machine/async_copies.h"
#include "simulator/machine/copy_engine.h"

namespace machine {

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

namespace {

struct alignas(128) Matrix {
  float elements[10 * 40];
};

Matrix numbered() {
  Matrix matrix;
  for (int i = 0; i < 400; ++i) matrix.elements[i] = static_cast<float>(i + 1);
  return matrix;
}

}  // namespace

TEST_CASE("a stored box changes nothing outside of the matrix") {
  for (const int x : {-5, 0, 33, 40}) {
    for (const int y : {-3, 0, 8, 11}) {
      Matrix matrix = numbered();
      const TensorMap contents =
          *contents_of(tensor_map_2d(matrix.elements, 10, 37, 160, {4, 8}, model::Swizzle::none));
      std::vector<float> rows(32);
      for (int i = 0; i < 32; ++i) rows[i] = static_cast<float>(-i - 1);
      store_box(contents, x, y, {reinterpret_cast<const char*>(rows.data()), contents.box_bytes()});
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
