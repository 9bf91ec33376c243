// One node leaves places for the arrivals of others.
#include "supervisor/cluster/moves/arrival_places.h"

#include <vector>

#include "tests/catch.h"

using moves::ArrivalSlots;

TEST_CASE("a node has some of the places, and all nodes have a few together", "[cluster]") {
  ArrivalSlots positions;
  std::vector<std::unique_ptr<ArrivalSlots::ArrivalReservation>> reserved;
  const auto enter = [&](const char* node) {
    auto position = positions.enter(node);
    if (position) reserved.push_back(*std::move(position));
    return position.has_value();
  };
  for (size_t i = 0; i < ArrivalSlots::kMaxOfNode; i++) CHECK(enter("n1"));
  CHECK(positions.enter("n1").error().what.find("of node n1") != std::string::npos);
  for (size_t i = 0; i + ArrivalSlots::kMaxOfNode < ArrivalSlots::kMaxInAll; i++) CHECK(enter("n2"));
  CHECK(positions.enter("n3").error().code == Code::exhausted);
  reserved.erase(reserved.begin());
  CHECK_FALSE(enter("n2"));
  CHECK(enter("n3"));
  CHECK_FALSE(enter("n1"));
  reserved.clear();
  CHECK(enter("n1"));
}
