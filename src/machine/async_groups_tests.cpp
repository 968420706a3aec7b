#include "machine/async_groups.h"

#include <doctest/doctest.h>

#include <vector>

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

}  // namespace machine
