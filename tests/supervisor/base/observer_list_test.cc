#include "supervisor/base/observer_list.h"

#include <functional>
#include <optional>
#include <string>

#include "tests/catch.h"

namespace {

struct Ear {
  std::function<void(int)> received;
};
using Ears = ObserverList<Ear>;

}  // namespace

TEST_CASE("every observer is called, in the order in which they were added", "[observers]") {
  Ears ears;
  std::string incoming;
  auto first = ears.add({[&](int n) { incoming += "a" + std::to_string(n); }});
  auto second = ears.add({[&](int n) { incoming += "b" + std::to_string(n); }});
  ears.each([](const Ear& ear) { ear.received(1); });
  CHECK(incoming == "a1b1");
}

TEST_CASE("an observer is called until its place ends, also after the place was moved", "[observers]") {
  std::optional<Ears> ears(std::in_place);
  int first = 0, second = 0;
  Ears::Place stays;
  {
    auto goes = ears->add({[&](int n) { first += n; }});
    auto moves = ears->add({[&](int n) { second += n; }});
    stays = std::move(moves);
    ears->each([](const Ear& ear) { ear.received(1); });
  }
  ears->each([](const Ear& ear) { ear.received(1); });
  CHECK(first == 1);
  CHECK(second == 2);
  stays = ears->add({[&](int n) { first += n; }});  // the former place ends
  ears->each([](const Ear& ear) { ear.received(1); });
  CHECK(first == 2);
  CHECK(second == 2);
  ears.reset();  // before its last place
}
