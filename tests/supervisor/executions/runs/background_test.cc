// What the result of an execution in the background is while it is not there yet.
#include "supervisor/executions/runs/background.h"

#include "supervisor/base/json/json.h"
#include "tests/catch.h"

TEST_CASE("an announced execution works until it begins, and an unknown one is not found", "[background]") {
  Loop loop;
  tasks::MemoryTaskDisk disk;
  tasks::TaskStore store(loop, disk);
  auto read = [&](const std::string& id) {
    std::optional<Result<std::string>> text;
    auto run = [&]() -> Task<> {
      auto got = co_await runs::read_result(store, "acme", id);
      text.emplace(std::move(got));
    };
    Task<> running = run();
    running.resume();
    loop.run_until([&] { return text.has_value(); });
    return *std::move(text);
  };
  const std::string id = "e0123456789abcdef";
  CHECK(read(id).error().code == Code::not_found);
  store.expect(id);
  const auto expected = read(id);
  REQUIRE(expected);
  CHECK(Json::parse(*expected)["state"] == "working");
  store.give_up(id);
  CHECK(read(id).error().code == Code::not_found);
}
