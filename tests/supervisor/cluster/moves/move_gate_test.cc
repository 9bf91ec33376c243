// Requests of a workspace that moves wait, within bounds, and go on together.
#include "supervisor/cluster/link/move_gate.h"

#include "tests/catch.h"

namespace {

using cluster::MoveGate;
const tenants::TenantId kHeldId{"ada", "reports"}, kFreeId{"ada"};

struct GateScene {
  Loop loop;
  MoveGate gate{loop};
  int passed = 0, refused = 0;

  Task<> pass(tenants::TenantId id) {
    const auto done = co_await gate.pass(std::move(id));
    (done ? passed : refused)++;
  }
};

}  // namespace

TEST_CASE_METHOD(GateScene, "requests of a held workspace wait; others do not", "[cluster]") {
  auto reservation = gate.hold(kHeldId);
  auto second = gate.hold(kHeldId);
  loop.spawn(pass(kHeldId));
  loop.spawn(pass(kFreeId));
  CHECK(passed == 1);
  reservation = {};
  CHECK(gate.is_held(kHeldId));
  second = {};
  CHECK_FALSE(gate.is_held(kHeldId));
  loop.run_until([this] { return passed == 2; });
  CHECK(refused == 0);
}

TEST_CASE_METHOD(GateScene, "a request that waits sees a hold that begins meanwhile", "[cluster]") {
  auto reservation = gate.hold(kHeldId);
  loop.spawn(pass(kHeldId));
  reservation = {};
  reservation = gate.hold(kHeldId);
  bool is_later = false;
  const Deadline later(loop, std::chrono::milliseconds(30), [&is_later] { is_later = true; });
  loop.run_until([&is_later] { return is_later; });
  CHECK(passed == 0);
  reservation = {};
  loop.run_until([this] { return passed == 1; });
}

TEST_CASE_METHOD(GateScene, "too many requests do not wait", "[cluster]") {
  auto reservation = gate.hold(kHeldId);
  for (size_t i = 0; i < MoveGate::kMaxWaiting + 3; i++) loop.spawn(pass(kHeldId));
  CHECK(refused == 3);
  reservation = {};
  loop.run_until([this] { return passed == static_cast<int>(MoveGate::kMaxWaiting); });
}

TEST_CASE_METHOD(GateScene, "requests that run are counted until they end", "[cluster]") {
  auto item = gate.stay(kHeldId);
  const auto two = gate.stay(kHeldId);
  CHECK(gate.staying(kHeldId) == 2);
  CHECK(gate.staying(kFreeId) == 0);
  item.reset();
  CHECK(gate.staying(kHeldId) == 1);
}

TEST_CASE("a hold may outlive its gate", "[cluster]") {
  Loop loop;
  MoveGate::Hold reservation;
  {
    MoveGate gate(loop);
    reservation = gate.hold(kHeldId);
  }
  reservation = {};
  SUCCEED();
}
