// All proposals of a workspace: rules, states, restarts, cancelled calls.
#include "supervisor/tenants/proposals/proposal_store.h"

#include <thread>

#include "supervisor/base/durable.h"
#include "supervisor/base/system_time.h"
#include "tests/supervisor/tenants/proposals/staged_scene.h"

namespace fs = std::filesystem;
using namespace proposals;

namespace {

template <class T>
T wait_in(Loop& loop, Task<T> task) {
  auto started = start(std::move(task));
  loop.run_until([&] { return started.done(); });
  REQUIRE(started.done());
  std::optional<T> value;
  auto collect = [](Started<T>& from, std::optional<T>& into) -> Task<> { into.emplace(co_await from); };
  auto collecting = start(collect(started, value));
  REQUIRE(value.has_value());
  return std::move(*value);
}
inline void wait_in(Loop& loop, Task<> task) {
  auto started = start(std::move(task));
  loop.run_until([&] { return started.done(); });
}

struct StoreScene : StagedScene {
  Loop loop;
  Fd tenant = open_directory(temp.path().string()).value();
  int64_t now_ms = 1'000'000;
  std::unique_ptr<ProposalStore> store;

  StoreScene() { reopen(); }
  void reopen() {
    store.reset();
    auto opened = wait_in(loop, ProposalStore::open(loop, tenant.get(), workspace_fd.get(), [this] { return now_ms; }));
    REQUIRE(opened);
    store = *std::move(opened);
    store->set_rules({1 << 20, 4, 2, std::chrono::seconds(3600)});
  }
  StagingFolder begin() {
    auto folder = wait_in(loop, store->begin());
    INFO((folder ? "" : folder.error().what));
    REQUIRE(folder);
    return *std::move(folder);
  }
  // A whole staged execution. nullopt: no overlay here.
  std::optional<Proposal> propose(const std::function<void()>& program, tenants::Changes changes = {}) {
    StagingFolder folder = begin();
    if (!run_in(staging / folder.id, program)) return std::nullopt;
    now_ms += 1000;
    auto settled = wait_in(loop, store->settle(std::move(folder), {"e7", "python", now_ms}, std::move(changes)));
    INFO((settled ? "" : settled.error().what));
    REQUIRE(settled);
    return *std::move(settled);
  }
  CommitReport commit_of(const std::string& id) {
    auto report = wait_in(loop, store->commit(id, {}));
    INFO((report ? "" : report.error().what));
    REQUIRE(report);
    return *std::move(report);
  }
  size_t folders() const { return static_cast<size_t>(std::distance(fs::directory_iterator(staging), {})); }
};

}  // namespace

TEST_CASE("a proposal is listed, compared, committed and undone", "[staging][store]") {
  StoreScene scene;
  put(scene.workspace / "file", "old\n");
  const auto created = scene.propose([] { put("file", "new\n"); });
  if (!created) return;
  CHECK(created->state == ProposalState::open);
  CHECK(is_proposal_id(created->id));
  CHECK(created->about.execution == "e7");
  REQUIRE(scene.store->list().size() == 1);
  CHECK(scene.store->find(created->id)->recorded_ms == scene.now_ms);
  CHECK(std::abs(scene.store->find(created->id)->settled_ms - system_now_ms()) < 60'000);
  CHECK(scene.store->usage().bytes >= 4);
  const auto diff = wait_in(scene.loop, scene.store->diff(created->id, 1000));
  REQUIRE(diff);
  CHECK(diff->find("-old\n+new\n") != diff->npos);
  const CommitReport report = scene.commit_of(created->id);
  CHECK(report.is_committed);
  CHECK(get(scene.workspace / "file") == "new\n");
  CHECK(scene.store->find(created->id)->state == ProposalState::committed);
  CHECK_FALSE(wait_in(scene.loop, scene.store->commit(created->id, {})));
  CHECK_FALSE(wait_in(scene.loop, scene.store->discard(created->id)));
  const auto undone = wait_in(scene.loop, scene.store->undo(created->id));
  REQUIRE(undone);
  CHECK(undone->is_undone);
  CHECK(get(scene.workspace / "file") == "old\n");
  CHECK(scene.store->find(created->id)->state == ProposalState::undone);
  CHECK_FALSE(fs::exists(scene.staging / created->id));
  CHECK_FALSE(wait_in(scene.loop, scene.store->undo(created->id)));
  CHECK(scene.store->list().empty());
  CHECK(scene.store->usage().bytes == 0);
  CHECK(scene.store->counters().commits == 1);
  CHECK(scene.store->counters().undone == 1);
}

TEST_CASE("an execution without changes, a dropped one and a discarded proposal leave no files", "[staging][store]") {
  StoreScene scene;
  const auto unchanged = scene.propose([] {});
  if (!unchanged) return;
  CHECK(unchanged->state == ProposalState::none);
  CHECK_FALSE(fs::exists(scene.staging / unchanged->id));
  StagingFolder dropped = scene.begin();
  const std::string id = dropped.id;
  put(scene.staging / id / "u/file", "text");
  const auto measured = wait_in(scene.loop, scene.store->measure(dropped));
  REQUIRE(measured);
  CHECK(measured->bytes == 4);
  CHECK(measured->files == 1);
  CHECK(measured->is_complete);
  wait_in(scene.loop, scene.store->drop(std::move(dropped)));
  CHECK_FALSE(fs::exists(scene.staging / id));
  CHECK(scene.store->running() == 0);
  const auto created = scene.propose([] { put("file", "new"); });
  const auto discarded = wait_in(scene.loop, scene.store->discard(created->id));
  REQUIRE(discarded);
  CHECK(discarded->state == ProposalState::discarded);
  CHECK(scene.store->find(created->id)->state == ProposalState::discarded);
  CHECK_FALSE(fs::exists(scene.staging / created->id));
  CHECK_FALSE(fs::exists(scene.workspace / "file"));
  const auto wait = wait_in(scene.loop, scene.store->commit(created->id, {}));
  REQUIRE_FALSE(wait);
  CHECK(wait.error().what == "proposal " + created->id + " is discarded");
}

TEST_CASE("ids that are no proposal of this workspace are not found", "[staging][store][hostile]") {
  StoreScene scene;
  fs::create_directories(scene.staging / "p00000000000000aa");
  for (const std::string& id :
       {std::string("p00000000000000aa"), std::string("../workspace"), std::string(), std::string("p\x1B[2J")}) {
    const auto it = scene.store->find(id);
    REQUIRE_FALSE(it);
    CHECK(it.error().code == Code::not_found);
    CHECK_FALSE(it.error().hint.empty());
    CHECK(wait_in(scene.loop, scene.store->commit(id, {})).error().code == Code::not_found);
    CHECK(wait_in(scene.loop, scene.store->undo(id)).error().code == Code::not_found);
    CHECK(wait_in(scene.loop, scene.store->discard(id)).error().code == Code::not_found);
    CHECK(wait_in(scene.loop, scene.store->diff(id, 10)).error().code == Code::not_found);
  }
}

TEST_CASE("a restart keeps proposals and undo stores, and removes what is unfinished", "[staging][store]") {
  StoreScene scene;
  put(scene.workspace / "file", "old");
  const auto open = scene.propose([] { put("other", "new"); });
  if (!open) return;
  const auto committed = scene.propose([] { put("file", "new"); });
  REQUIRE(scene.commit_of(committed->id).is_committed);
  const StagingFolder running = scene.begin();
  put(scene.staging / running.id / "u/file", "half");
  put(scene.staging / "not a proposal", "stays");
  scene.reopen();
  REQUIRE(scene.store->list().size() == 2);
  CHECK(scene.store->find(open->id)->state == ProposalState::open);
  CHECK(paths_of(scene.store->find(open->id)->files.created) == "other");
  CHECK(scene.store->find(open->id)->about.language == "python");
  CHECK(scene.store->find(committed->id)->state == ProposalState::committed);
  CHECK_FALSE(fs::exists(scene.staging / running.id));
  CHECK(fs::exists(scene.staging / "not a proposal"));
  CHECK(wait_in(scene.loop, scene.store->undo(committed->id))->is_undone);
  CHECK(get(scene.workspace / "file") == "old");
  CHECK(scene.commit_of(open->id).is_committed);
}

TEST_CASE("a damaged proposal is listed and can only be discarded", "[staging][store][hostile]") {
  StoreScene scene;
  const auto created = scene.propose([] { put("file", "new"); });
  if (!created) return;
  put(scene.staging / created->id / "journal.1", "garbage");
  scene.reopen();
  const auto it = scene.store->find(created->id);
  REQUIRE(it);
  CHECK(it->state == ProposalState::damaged);
  CHECK(it->problem.find("damaged") != std::string::npos);
  CHECK_FALSE(wait_in(scene.loop, scene.store->commit(created->id, {})));
  CHECK(wait_in(scene.loop, scene.store->discard(created->id)));
  CHECK_FALSE(fs::exists(scene.staging / created->id));
}

TEST_CASE("the rules bound open proposals, bytes, undo stores and time", "[staging][store]") {
  StoreScene scene;
  scene.store->set_rules({10'000, 1, 1, std::chrono::seconds(100)});
  const auto first = scene.propose([] { put("one", "1"); });
  if (!first) return;
  auto refused = wait_in(scene.loop, scene.store->admit());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::exhausted);
  CHECK(refused.error().rule == "workspace.open");
  CHECK(refused.error().hint.find(first->id) != std::string::npos);
  scene.store->set_rules({10'000, 9, 1, std::chrono::seconds(100)});
  const auto second = scene.propose([] { put("two", "2"); });
  CHECK(scene.commit_of(first->id).is_committed);
  // A commit is as old as its file. The kernel's clock for files goes on every few milliseconds.
  const TempDirectory beside;
  const auto file_time = [file = beside.path() / "file"] {
    put(file, "");
    return fs::last_write_time(file);
  };
  const auto after_first = file_time();
  while (file_time() - after_first < std::chrono::milliseconds(1)) std::this_thread::yield();
  CHECK(scene.commit_of(second->id).is_committed);  // the older undo store gives way
  CHECK_FALSE(fs::exists(scene.staging / first->id));
  CHECK(scene.store->find(first->id).has_value() == false);
  const auto large = scene.propose([] { put("large", std::string(20'000, 'x')); });
  CHECK(large->state == ProposalState::open);
  CHECK_FALSE(fs::exists(scene.staging / second->id));  // also for the bytes
  refused = wait_in(scene.loop, scene.store->admit());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().rule == "workspace.proposals_bytes");
  wait_in(scene.loop, scene.store->tidy());
  CHECK(scene.store->find(large->id)->state == ProposalState::open);
  scene.now_ms += 100'000;
  wait_in(scene.loop, scene.store->tidy());
  CHECK(scene.store->find(large->id)->state == ProposalState::discarded);
  CHECK(scene.store->counters().expired == 1);
  CHECK(wait_in(scene.loop, scene.store->begin()));
}

TEST_CASE("a cancelled call runs to its end, and calls at the same time come one after the other", "[staging][store]") {
  StoreScene scene;
  put(scene.workspace / "file", "old");
  const auto item = scene.propose([] { put("file", "one"); });
  if (!item) return;
  const auto two = scene.propose([] { put("file", "two"); });
  {
    auto cancelled = start(scene.store->commit(item->id, {}));
    REQUIRE_FALSE(cancelled.done());
  }
  auto second = start(scene.store->commit(two->id, {}));
  scene.loop.run_until([&] { return second.done(); });
  CHECK(scene.store->find(item->id)->state == ProposalState::committed);
  CHECK(scene.store->find(two->id)->state == ProposalState::open);
  CHECK(scene.store->counters().conflicts == 1);
  CHECK(get(scene.workspace / "file") == "one");
}

TEST_CASE("folders are made ahead, private, and each is used once", "[staging][store]") {
  StoreScene scene;
  const StagingFolder first = scene.begin();
  scene.loop.run_until([&] { return scene.folders() == 3; });  // two spares
  auto started = start(scene.store->begin());
  for (const char* name : {"u", "w"}) {
    struct stat info;
    REQUIRE(::fstatat(first.directory.get(), name, &info, 0) == 0);
    CHECK((info.st_mode & 07777) == 0700);
  }
  scene.loop.run_until([&] { return started.done(); });
  CHECK(scene.store->running() == 2);
  CHECK(first.started_ns > 0);
}

TEST_CASE("no commit waits for the disk on the loop", "[staging][store]") {
  StoreScene scene;
  const auto created = scene.propose([] { put("file", "new"); });
  if (!created) return;
  const uint64_t before = durable::calls_on_loop();
  CHECK(scene.commit_of(created->id).is_committed);
  CHECK(wait_in(scene.loop, scene.store->undo(created->id))->is_undone);
  CHECK(durable::calls_on_loop() == before);
  CHECK(durable::calls() > 0);
}
