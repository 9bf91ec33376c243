#include "supervisor/protocol/tasks/task_store.h"

#include "tests/catch.h"

using namespace tasks;

namespace {

// A disk whose commits wait until the test lets them happen.
class SlowDisk : public MemoryTaskDisk {
 public:
  explicit SlowDisk(Loop& loop) : loop_(loop) {}
  Task<Result<>> add(StoredTask task) override {
    added.push_back(task.id);
    if (is_slow) {
      let_go = std::make_shared<Event>();
      const auto waiting = let_go;
      co_await *waiting;
    }
    if (is_full) co_return fail(Code::exhausted, "the disk is full");
    auto done = co_await MemoryTaskDisk::add(std::move(task));
    co_return done;
  }
  void remove(std::vector<std::string> ids) override {
    removed.insert(removed.end(), ids.begin(), ids.end());
    MemoryTaskDisk::remove(std::move(ids));
  }
  bool is_slow = false, is_full = false;
  std::shared_ptr<Event> let_go;
  std::vector<std::string> added, removed;

 private:
  Loop& loop_;
};

struct Stored {
  Loop loop;
  SlowDisk disk{loop};
  int64_t now = 1'000'000;
  TaskLimits limits;
  std::unique_ptr<TaskStore> store;

  explicit Stored(TaskLimits task_limits = {}) : limits(task_limits) {
    store = std::make_unique<TaskStore>(
        loop, disk, limits, [this] { return now; }, [this] { return now; });
  }
  Result<StoredTask> begin(const std::string& tenant, std::optional<int64_t> ttl_ms = {}) {
    NewTask task;
    task.owner = {tenant, "uid-1"};
    task.ttl_ms = ttl_ms;
    return wait(store->begin(std::move(task)));
  }
  template <class T>
  T wait(Task<T> work) {
    std::optional<T> value;
    auto run = [](Task<T> inner, std::optional<T>& out) -> Task<> {
      auto got = co_await std::move(inner);
      out.emplace(std::move(got));
    };
    Task<> running = run(std::move(work), value);
    running.resume();
    loop.run_until([&] { return value.has_value(); });
    return *std::move(value);
  }
  bool knows(const StoredTask& task) const { return store->find(task.id, task.owner) != nullptr; }
};

}  // namespace

TEST_CASE("an announced task is expected until it begins, or is given up", "[tasks]") {
  Stored stored;
  stored.store->expect("e1");
  stored.store->expect("e2");
  CHECK(stored.store->is_expected("e1"));
  CHECK_FALSE(stored.store->find_of_tenant("e1", "acme"));
  NewTask task;
  task.id = "e1";
  task.owner = {"acme", "uid-1"};
  REQUIRE(stored.wait(stored.store->begin(std::move(task))));
  CHECK_FALSE(stored.store->is_expected("e1"));
  CHECK(stored.store->find_of_tenant("e1", "acme"));
  stored.store->give_up("e2");
  CHECK_FALSE(stored.store->is_expected("e2"));
}

TEST_CASE("a task's state may change until it has ended, and never after", "[tasks]") {
  for (const TaskState from : kTaskStates) {
    CHECK(find_state(state_name(from)) == from);
    for (const TaskState to : kTaskStates) {
      CAPTURE(state_name(from), state_name(to));
      const bool is_open = from == TaskState::working || from == TaskState::input_required;
      CHECK(may_follow(from, to) == (is_open && from != to));
    }
  }
  CHECK_FALSE(find_state("running"));
}

TEST_CASE("a task is found by its owner only, and its id cannot be guessed", "[tasks]") {
  Stored stored;
  const StoredTask first = stored.begin("acme").value(), second = stored.begin("acme").value();
  CHECK(first.id.size() == 33);  // t and 128 bits
  CHECK(first.id != second.id);
  CHECK(stored.knows(first));
  CHECK(stored.store->find(first.id, {"acme", "uid-2"}) == nullptr);
  CHECK(stored.store->find(first.id, {"other", "uid-1"}) == nullptr);
  CHECK(stored.store->find_of_tenant(first.id, "other") == nullptr);
  CHECK(stored.store->list(TaskKind::call, {"acme", "uid-1"}).size() == 2);
  CHECK(stored.store->list(TaskKind::call, {"acme", "uid-2"}).empty());
  CHECK(stored.store->list(TaskKind::background, {"acme", "uid-1"}).empty());
}

TEST_CASE("the first end of a task stays", "[tasks]") {
  Stored stored;
  const StoredTask task = stored.begin("acme").value();
  CHECK(stored.store->end(task.id, TaskState::completed, "the result"));
  CHECK_FALSE(stored.store->end(task.id, TaskState::cancelled, ""));
  stored.store->set_waits_for_input(task.id, true);
  CHECK(stored.store->find(task.id, task.owner)->state == TaskState::completed);
  CHECK(stored.wait(stored.store->result(task.id)).value() == "the result");
}

TEST_CASE("a task whose row is not committed is not told, and leaves nothing", "[tasks]") {
  Stored stored;
  stored.disk.is_full = true;
  CHECK(stored.begin("acme").error().code == Code::exhausted);
  CHECK(stored.store->counts().running == 0);
  CHECK(stored.disk.removed == stored.disk.added);

  stored.disk.is_full = false, stored.disk.is_slow = true;
  NewTask task;
  task.owner = {"acme", "uid-1"};
  {
    auto cancelled = start(stored.store->begin(task));
    CHECK(stored.store->counts().running == 1);
  }
  CHECK(stored.store->counts().running == 0);
  CHECK(stored.disk.removed == stored.disk.added);
}

TEST_CASE("a tenant with ten thousand tasks loses its oldest, and no other tenant's", "[tasks]") {
  Stored stored;
  const StoredTask task = stored.begin("other").value();
  stored.store->end(task.id, TaskState::completed, "kept");
  StoredTask first, last;
  for (int n = 0; n < 10'000; n++) {
    stored.now++;
    last = stored.begin("acme").value();
    if (n == 0) first = last;
    stored.store->end(last.id, TaskState::completed, "result");
  }
  CHECK(stored.store->counts().ended == stored.limits.tasks_of_tenant + 1);
  CHECK(stored.knows(task));
  CHECK(stored.knows(last));
  CHECK_FALSE(stored.knows(first));
  CHECK(stored.wait(stored.store->result(task.id)).value() == "kept");
}

TEST_CASE("tasks that have not ended are refused beyond the limit, and never removed", "[tasks]") {
  TaskLimits limits;
  limits.running_of_tenant = 3;
  Stored stored(limits);
  std::vector<StoredTask> running;
  for (int n = 0; n < 3; n++) running.push_back(stored.begin(n < 2 ? "acme" : "acme/reports").value());
  const auto refused = stored.begin("acme");
  CHECK(refused.error().code == Code::exhausted);
  CHECK(refused.error().what == "tenant 'acme' already has 3 tasks that have not ended; the limit is 3");
  CHECK(stored.begin("other"));
  for (const auto& task : running) CHECK(stored.knows(task));
  stored.store->end(running[0].id, TaskState::cancelled, "");
  CHECK(stored.begin("acme"));
}

TEST_CASE("the refusal of a task names the limit of all tasks", "[tasks]") {
  TaskLimits limits;
  limits.tasks_of_tenant = 2, limits.tasks = 3;
  Stored stored(limits);
  for (const char* tenant : {"acme", "acme", "other"}) CHECK(stored.begin(tenant));
  CHECK(stored.begin("acme").error().what == "tenant 'acme' has 2 tasks; the limit is 2");
  CHECK(stored.begin("other").error().what == "3 tasks of all tenants have not ended; the limit is 3");
}

TEST_CASE("tasks of one millisecond are listed in the order in which they began", "[tasks]") {
  Stored stored;
  std::vector<std::string> started, listed;
  for (int i = 0; i < 20; i++) started.push_back(stored.begin("acme").value().id);
  for (const StoredTask& task : stored.store->list(TaskKind::call, {"acme", "uid-1"})) listed.push_back(task.id);
  CHECK(listed == started);
}

TEST_CASE("results have a limit each, for a tenant, and in all", "[tasks]") {
  TaskLimits limits;
  limits.result_bytes = 100, limits.bytes_of_tenant = 150, limits.bytes = 250;
  Stored stored(limits);
  const StoredTask large = stored.begin("acme").value();
  stored.store->end(large.id, TaskState::completed, std::string(101, 'x'));
  const auto lost = stored.wait(stored.store->result(large.id));
  CHECK(lost.error().what == "the result was larger than 100 bytes and was not kept");

  std::vector<StoredTask> all;
  for (const char* tenant : {"acme", "acme", "b", "c"}) {
    stored.now++;
    all.push_back(stored.begin(tenant).value());
    stored.store->end(all.back().id, TaskState::completed, std::string(100, 'x'));
  }
  CHECK_FALSE(stored.knows(all[0]));
  CHECK(stored.knows(large));  // the oldest, and without bytes: its removal would make no room
  CHECK(stored.store->counts().result_bytes <= 250);
  CHECK(stored.knows(all[3]));
}

TEST_CASE("the time to live is brought into its limits, and counts only after the end", "[tasks]") {
  TaskLimits limits;
  limits.sweep_every = std::chrono::milliseconds(1);
  Stored stored(limits);
  CHECK(stored.begin("a", 0).value().ttl_ms == limits.min_ttl.count());
  CHECK(stored.begin("a", -5).value().ttl_ms == limits.min_ttl.count());
  CHECK(stored.begin("a", INT64_MAX).value().ttl_ms == limits.max_ttl.count());
  const StoredTask task = stored.begin("b").value(), running = stored.begin("b").value();
  CHECK(task.ttl_ms == limits.default_ttl.count());
  stored.store->end(task.id, TaskState::completed, "done");
  stored.now += limits.default_ttl.count() + 10;  // the fourth of one millisecond counts as begun 3 ms later
  stored.loop.run_until([&] { return !stored.knows(task); });
  CHECK(stored.knows(running));
}

TEST_CASE("after a restart, tasks that had not ended are interrupted, once", "[tasks]") {
  Stored stored;
  StoredTask running;
  running.id = "t1", running.owner = {"acme", "uid-1"}, running.created_ms = running.updated_ms = stored.now;
  running.ttl_ms = 3'600'000, running.expires_ms = stored.now + running.ttl_ms;
  StoredTask asking = running, ended = running;
  asking.id = "t2", asking.state = TaskState::input_required;
  ended.id = "t3", ended.state = TaskState::cancelled;
  const auto text = [](const StoredTask& task) { return "interrupted " + task.id; };
  CHECK(stored.store->load({running, asking, ended}, text) == 2);
  for (const char* id : {"t1", "t2"}) {
    CHECK(stored.store->find(id, running.owner)->state == TaskState::completed);
    CHECK(stored.wait(stored.store->result(id)).value() == std::string("interrupted ") + id);
  }
  CHECK(stored.store->find("t3", running.owner)->state == TaskState::cancelled);
}

TEST_CASE("everyone who waits for the end of a task hears of it, also of its removal", "[tasks]") {
  Stored stored;
  const StoredTask task = stored.begin("acme").value(), removed = stored.begin("acme/reports").value();
  const auto first = stored.store->when_ended(task.id), second = stored.store->when_ended(task.id);
  const auto third = stored.store->when_ended(removed.id);
  stored.store->end(task.id, TaskState::failed, "{}");
  stored.store->forget_of("acme");
  stored.loop.run_until([&] { return first->fired() && second->fired() && third->fired(); });
  CHECK(stored.store->when_ended(task.id) == nullptr);
  CHECK(stored.store->counts().ended + stored.store->counts().running == 0);
}
