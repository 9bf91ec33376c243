// The records of a workspace: results of tasks and workflows come to the other machine, once, and hostile ones do not.
#include "supervisor/moves/move_records.h"

#include <map>

#include "tests/catch.h"

namespace {

using moves::MoveRecords;
using namespace workflows;

// Workflows in memory.
class MemoryWorkflows : public WorkflowDisk {
 public:
  std::map<WorkflowId, std::pair<StoredWorkflow, std::vector<StoredStep>>> all;

  Task<Result<Opened>> open(WorkflowId id, StoredWorkflow fresh, WorkflowLimits) override {
    const auto [at, is_new] = all.try_emplace(id);
    if (is_new) at->second.first = fresh;
    Opened opened{at->second.first, 0};
    co_return opened;
  }
  Task<Result<uint64_t>> put(WorkflowId id, StoredStep step, int64_t, WorkflowLimits) override {
    auto& [workflow, steps] = all.at(id);
    if (step.position < steps.size())
      steps[step.position] = step;
    else
      steps.push_back(step);
    workflow.steps = static_cast<uint32_t>(steps.size());
    co_return 0;
  }
  Task<Result<std::vector<StoredStep>>> steps(WorkflowId id, uint32_t first, uint32_t, uint64_t) override {
    const auto& of = all.at(id).second;
    std::vector<StoredStep> found;
    if (first < of.size()) found.push_back(of[first]);  // one at a time
    co_return found;
  }
  Task<Result<std::vector<Listed>>> list(std::string tenant) override {
    std::vector<Listed> found;
    for (const auto& [id, flow] : all)
      if (id.tenant == tenant) found.push_back({id.name, flow.first});
    co_return found;
  }
  Task<Result<Removed>> remove(WorkflowId id) override {
    all.erase(id);
    Removed removed{true, 0};
    co_return removed;
  }
  Task<Result<std::vector<StepHead>>> heads(WorkflowId, uint32_t, uint32_t) override {
    co_return fail(Code::internal, "");
  }
  Task<Result<std::optional<StoredWorkflow>>> find(WorkflowId) override { co_return fail(Code::internal, ""); }
  void forget(std::string) override {}
  Task<Result<>> add_run(StoredRun) override { co_return fail(Code::internal, ""); }
  Task<Result<std::optional<StoredRun>>> find_run(std::string) override { co_return fail(Code::internal, ""); }
  Task<Result<>> resume_run(std::string, std::string) override { co_return fail(Code::internal, ""); }
  void end_run(std::string) override {}
  Task<Result<uint64_t>> expire(int64_t, std::vector<WorkflowId>) override { co_return 0; }
};

struct RecordsOfMachine {
  explicit RecordsOfMachine(Loop& loop) : tasks(loop, task_disk), named(loop, named_disk) {}
  tasks::MemoryTaskDisk task_disk, named_disk;
  tasks::TaskStore tasks, named;
  MemoryWorkflows workflows;
  MoveRecords records{tasks, named, workflows};

  Task<> end_task(tasks::TaskStore& store, std::string id, std::string tenant, std::string result) {
    tasks::NewTask task;
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
  finish(loop, here.end_task(here.tasks, "t-task", "ada", "two\nlines"));
  finish(loop, here.end_task(here.tasks, "t-other", "ada/reports", "of another workspace"));
  here.workflows.all[{"ada", "flow"}] = {
      {"run1", "x1", 1, 2, 9'000'000'000'000, 2, 0},
      {{0, "load", StepState::finished, "[1]", 1, "x1", 5}, {1, "sum", StepState::failed, "no", 2, "x1", 6}}};

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
