// One node leaves places for the arrivals of others.
#include "supervisor/cluster/moves/arrival_places.h"

#include <vector>

#include "tests/catch.h"

using moves::ArrivalPlaces;

TEST_CASE("a node has some of the places, and all nodes have a few together", "[cluster]") {
  ArrivalPlaces places;
  std::vector<std::unique_ptr<ArrivalPlaces::TakenPlace>> taken;
  const auto enter = [&](const char* node) {
    auto place = places.enter(node);
    if (place) taken.push_back(*std::move(place));
    return place.has_value();
  };
  for (size_t i = 0; i < ArrivalPlaces::kMaxOfNode; i++) CHECK(enter("n1"));
  CHECK(places.enter("n1").error().what.find("of node n1") != std::string::npos);
  for (size_t i = 0; i + ArrivalPlaces::kMaxOfNode < ArrivalPlaces::kMaxInAll; i++) CHECK(enter("n2"));
  CHECK(places.enter("n3").error().code == Code::exhausted);
  taken.erase(taken.begin());
  CHECK_FALSE(enter("n2"));
  CHECK(enter("n3"));
  CHECK_FALSE(enter("n1"));
  taken.clear();
  CHECK(enter("n1"));
}
