// The end of a connection: called once, in a later turn, and never after the connection.
#include "supervisor/protocol/mcp/deferred_end.h"

#include <optional>

#include "tests/catch.h"

namespace {

struct EndScene {
  Loop loop;
  int calls = 0;
  std::optional<mcp::DeferredEnd> end;
  EndScene() {
    end.emplace(loop, [this] {
      calls++;
      end.reset();  // as the owner of a connection does
    });
  }
  void turn() {
    bool turned = false;
    loop.defer([&] { turned = true; });
    loop.run_until([&] { return turned; });
  }
};

}  // namespace

TEST_CASE("the end is called once, in a later turn, and may destroy its connection", "[connection]") {
  EndScene s;
  CHECK_FALSE(s.end->was_started());
  s.end->begin();
  s.end->begin();
  CHECK(s.end->was_started());
  CHECK(s.calls == 0);
  s.turn();
  CHECK(s.calls == 1);
  CHECK_FALSE(s.end);
}

TEST_CASE("a connection that is destroyed first is not ended again", "[connection]") {
  EndScene s;
  s.end->begin();
  s.end.reset();
  s.turn();
  CHECK(s.calls == 0);
}

TEST_CASE("a withdrawn end does not begin", "[connection]") {
  EndScene s;
  s.end->withdraw();
  s.end->begin();
  s.turn();
  CHECK(s.calls == 0);
}
