// The records of a workspace: results of tasks and workflows come to the other machine, once, and hostile ones do not.
#include "supervisor/cluster/moves/move_records.h"

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"
#include "tests/supervisor/cluster/moves/memory_workflows.h"

namespace {

using moves::MoveRecords;
using namespace workflows;
using moves_test::MemoryWorkflows;

struct RecordsOfMachine {
  explicit RecordsOfMachine(Loop& loop) : tasks(loop, task_disk), named(loop, named_disk) {}
  tasks::MemoryTaskDisk task_disk, named_disk;
  tasks::TaskStore tasks, named;
  MemoryWorkflows workflows;
  MoveRecords records{tasks, named, workflows};

  Task<> end_task(tasks::TaskStore& store, std::string id, std::string tenant, std::string result,
                  tasks::TaskKind kind = tasks::TaskKind::call) {
    tasks::NewTask task;
    task.kind = kind;
    task.id = id;
    task.owner = {std::move(tenant), "uid:1000"};
    task.digest = "d-" + id;
    (void)co_await store.begin(std::move(task));
    store.end(id, tasks::TaskState::completed, std::move(result));
  }
};

template <class T>
T result_of(Loop& loop, Task<T> task) {
  std::optional<T> got;
  const auto wait = [](Task<T> work, std::optional<T>& to) -> Task<> { to.emplace(co_await std::move(work)); };
  loop.spawn(wait(std::move(task), got));
  loop.run_until([&got] { return got.has_value(); });
  return *std::move(got);
}
void finish(Loop& loop, Task<> task) {
  bool is_done = false;
  const auto wait = [](Task<> work, bool& done) -> Task<> {
    co_await std::move(work);
    done = true;
  };
  loop.spawn(wait(std::move(task), is_done));
  loop.run_until([&is_done] { return is_done; });
}

}  // namespace

TEST_CASE("results and workflows of one workspace move, and are forgotten where they were", "[cluster]") {
  Loop loop;
  RecordsOfMachine here(loop), there(loop);
  finish(loop, here.end_task(here.named, "x-named", "ada", "{\"answer\": 1}"));
  finish(loop, here.end_task(here.tasks, "t-task", "ada", "two\nlines", tasks::TaskKind::background));
  finish(loop, here.end_task(here.tasks, "t-other", "ada/reports", "of another workspace"));
  here.workflows.all[{"ada", "flow"}] = {{"run1", "x1", 1, 2, 9'000'000'000'000, 2, 0},
                                         {{0, "load", StepState::finished, "[1]", "{\"day\":\"1\"}", 1, "x1", 5},
                                          {1, "sum", StepState::failed, "no", "", 2, "x1", 6}}};

  const auto text = result_of(loop, here.records.write("ada"));
  REQUIRE(text);
  CHECK(text->find("another") == std::string::npos);
  for (int times = 0; times < 2; times++) {  // the second time, as after a crash
    auto read = MoveRecords::read(*text, "ada");
    REQUIRE(read);
    finish(loop, there.records.adopt("ada", *std::move(read)));
  }
  CHECK(there.named.ended_of("ada").size() == 1);
  CHECK(there.named.find_of_tenant("x-named", "ada")->digest == "d-x-named");
  CHECK(result_of(loop, there.named.result("x-named")).value() == "{\"answer\": 1}");
  CHECK(result_of(loop, there.tasks.result("t-task")).value() == "two\nlines");
  CHECK(there.tasks.find_of_tenant("t-other", "ada/reports") == nullptr);
  const auto& [workflow, steps] = there.workflows.all.at({"ada", "flow"});
  CHECK(workflow.run == "run1");
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].inputs == "{\"day\":\"1\"}");
  CHECK(steps[1].value == "no");
  CHECK(steps[1].state == StepState::failed);

  finish(loop, here.records.forget("ada"));
  CHECK(here.named.ended_of("ada").empty());
  CHECK(here.workflows.all.empty());
  CHECK(here.tasks.ended_of("ada/reports").size() == 1);
}

TEST_CASE("tasks and workflows of a workspace count as its records, executions with ids do not", "[cluster]") {
  Loop loop;
  RecordsOfMachine here(loop);
  finish(loop, here.end_task(here.named, "x-named", "ada", "1"));
  finish(loop, here.end_task(here.tasks, "t-other", "ada/reports", "1"));
  CHECK(result_of(loop, here.records.has_any("ada")) == false);
  CHECK(result_of(loop, here.records.has_any("ada/reports")) == true);
  here.workflows.all[{"ada", "flow"}] = {};
  CHECK(result_of(loop, here.records.has_any("ada")) == true);
}

TEST_CASE("records of another form are refused", "[cluster]") {
  const auto* line = GENERATE(
      "no JSON", "[]", "{}", R"({"task": {}})", R"({"step": {}})", R"({"other": {}})",
      R"({"workflow": {"name": "../x", "run": "", "execution": "", "created_ms": 1, "updated_ms": 1, "expires_ms": 1}})",
      R"({"named": {"id": "x", "principal": "u", "kind": "call", "state": "working", "created_ms": 1, "updated_ms": 1, "ttl_ms": 1, "result": ""}})");
  const auto read = MoveRecords::read(std::string(line) + "\n", "ada");
  REQUIRE_FALSE(read);
  CHECK(read.error().what.find("line 1") != std::string::npos);
}

TEST_CASE("the result of a call is one object in one line, as its client gets it as it is", "[cluster]") {
  const auto read = [](const char* kind, const char* state, const std::string& result) {
    const Json row = {{"id", "t"},       {"principal", "u"}, {"kind", kind}, {"state", state},  {"created_ms", 1},
                      {"updated_ms", 1}, {"ttl_ms", 1},      {"digest", ""}, {"result", result}};
    return MoveRecords::read(dump_json({{"task", row}}) + "\n", "ada").has_value();
  };
  CHECK(read("call", "completed", R"("content":[])"));
  CHECK(read("call", "completed", ""));
  CHECK(read("call", "failed", R"({"code":1,"message":"no"})"));
  CHECK(read("call", "cancelled", "none"));
  CHECK(read("background", "completed", "any\ntext"));
  for (const char* result : {"x", R"("a":1},"b":{"c":2)", R"("a":1}{"b":2)", "\"a\":\n1", R"("a":)"})
    CHECK_FALSE(read("call", "completed", result));
  CHECK_FALSE(read("call", "failed", R"("code":1)"));
}

TEST_CASE("the steps of a workflow follow each other", "[cluster]") {
  const auto step = [](uint32_t position) {
    return dump_json({{"step",
                       {{"position", position},
                        {"name", "s"},
                        {"state", "finished"},
                        {"value", "1"},
                        {"attempts", 1},
                        {"execution", "x"},
                        {"ended_ms", 1}}}}) +
           "\n";
  };
  const std::string flow =
      R"({"workflow":{"name":"w","run":"","execution":"","created_ms":1,"updated_ms":1,"expires_ms":1}})"
      "\n";
  CHECK(MoveRecords::read(flow + step(0) + step(1), "ada"));
  CHECK_FALSE(MoveRecords::read(flow + step(0) + step(0), "ada"));
  CHECK_FALSE(MoveRecords::read(flow + step(4'294'967'295), "ada"));
  CHECK_FALSE(MoveRecords::read(flow + step(0) + flow + step(1), "ada"));
}
