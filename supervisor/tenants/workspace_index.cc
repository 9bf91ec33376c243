#include "supervisor/tenants/workspace_index.h"

#include <algorithm>

#include "supervisor/base/busy_time.h"
#include "supervisor/base/log.h"

namespace tenants {
namespace {

constexpr size_t kHere = 100;       // looks at files on the loop: about 200 us
constexpr size_t kInASlice = 4000;  // on the worker thread, before it turns to other workspaces
constexpr size_t kMostSlices = 1000;
constexpr size_t kLargest = 4;

}  // namespace

Result<std::unique_ptr<IndexHost>> IndexHost::start(Loop& loop) {
  TRY(auto worker, WorkerThread::start(loop));
  auto shares = std::make_shared<WatchShares>(WatchShares::of_kernel());
  return std::unique_ptr<IndexHost>(new IndexHost(std::move(worker), std::move(shares)));
}

bool IndexHost::make_room() {
  if (by_use_.size() < shares_->instances()) return true;
  const auto unused =
      std::find_if(by_use_.begin(), by_use_.end(), [](const WorkspaceIndex* one) { return !one->is_in_use(); });
  if (unused == by_use_.end()) return false;
  (*unused)->end();
  return true;
}

IndexHost::Totals IndexHost::totals() const {
  Totals totals;
  totals.walks = walks_;
  for (const WorkspaceIndex* one : by_use_) {
    totals.indexes++;
    totals.files += one->files();
    totals.watches += one->watches();
  }
  return totals;
}

WorkspaceIndex::WorkspaceIndex(Loop& loop, IndexHost& host, int directory, IndexState::Bounds bounds)
    : loop_(loop), host_(host), place_(host.by_use_.end()), tasks_(loop) {
  if (!host_.make_room()) {
    unusable_ = "the kernel allows no more inotify instances: fs.inotify.max_user_instances";
    return;
  }
  auto state = IndexState::open(directory, host_.shares(), bounds);
  if (!state) {
    unusable_ = state.error().what;
    return;
  }
  state_ = *std::move(state);
  place_ = host_.by_use_.insert(host_.by_use_.end(), this);
}

WorkspaceIndex::~WorkspaceIndex() { end(); }

bool WorkspaceIndex::is_in_use() const {
  return working_ || !waiting_.empty() || !last_log_.expired() || !living_.expired();
}

void WorkspaceIndex::end() {
  if (unusable_.empty()) unusable_ = "other workspaces needed its place";
  if (!state_) return;
  host_.by_use_.erase(std::exchange(place_, host_.by_use_.end()));
  files_ = watches_ = 0;
  // The kernel frees many watches slowly: not on the loop.
  auto free_beside = [](WorkerThread& worker, std::shared_ptr<IndexState> state) -> Task<> {
    (void)co_await worker.run([holder = std::make_shared<std::shared_ptr<IndexState>>(std::move(state))] {
      holder->reset();
      return Result<>{};
    });
  };
  loop_.spawn(free_beside(host_.worker(), std::move(state_)));
  state_.reset();
}

std::shared_ptr<const void> WorkspaceIndex::keep_looking_at_opened() {
  auto living = living_.lock();
  if (!living) living_ = living = std::make_shared<int>(0);
  return living;
}

Task<IndexLook> WorkspaceIndex::look(bool contended) { return ask({false, nullptr, contended, 0}); }
Task<IndexLook> WorkspaceIndex::begin_log(bool contended) { return ask({true, nullptr, contended, 0}); }
Task<IndexLook> WorkspaceIndex::end_log(std::shared_ptr<ChangeLog> log, bool contended, size_t max_listed) {
  return ask({false, std::move(log), contended, max_listed});
}

Task<IndexLook> WorkspaceIndex::ask(Wish wish) {
  if (!working_ && state_ && step_here(wish.contended)) co_return answer(wish);
  if (!state_) co_return IndexLook{};
  OneShot<IndexLook> found(loop_);
  waiting_.push_back({std::move(wish), found.resolver()});
  if (!std::exchange(working_, true)) tasks_.spawn(work());
  IndexLook look = co_await found;
  co_return look;
}

bool WorkspaceIndex::step_here(bool contended) {
  if (!ready_) return false;
  const Doing doing(LoopWork::workspace);
  if (!living_.expired()) state_->set_living(living_);
  state_->table().set_contended(contended);
  state_->begin_look();
  const bool current = state_->step(kHere);
  noted();
  return current;
}

void WorkspaceIndex::noted() {
  files_ = state_->table().count();
  watches_ = state_->watches();
  host_.by_use_.splice(host_.by_use_.end(), host_.by_use_, place_);
}

// Answers all who wait. Who comes while it looks waits for the next look: this one may have passed what he means.
Task<> WorkspaceIndex::work() {
  while (!waiting_.empty() && state_) {
    std::vector<Waiting> now = std::exchange(waiting_, {});
    const bool contended = std::any_of(now.begin(), now.end(), [](const Waiting& one) { return one.wish.contended; });
    if (!living_.expired()) state_->set_living(living_);
    state_->table().set_contended(contended);
    state_->begin_look();
    bool current = false;
    for (size_t slices = 0; !current && slices < kMostSlices && state_ && state_->unusable().empty(); slices++) {
      auto found = std::make_shared<bool>(false);
      WorkerThread::Job job = [state = state_, found]() -> Result<> {
        *found = state->step(kInASlice);
        return {};
      };
      (void)co_await host_.worker().run(std::move(job));
      current = *found;
    }
    if (!state_) break;
    ready_ = ready_ || current;
    if (current) noted();
    for (const Waiting& one : now) one.resolver.resolve(current ? answer(one.wish) : IndexLook{});
    if (!state_->unusable().empty()) {
      unusable_ = state_->unusable();
      end();
    }
  }
  working_ = false;
  waiting_.clear();
}

IndexLook WorkspaceIndex::answer(const Wish& wish) {
  FileTable& table = state_->table();
  IndexLook look;
  look.current = true;
  look.usage = table.usage();
  look.total_size = table.size();
  look.walked = state_->walked();
  if (!look.walked.empty()) host_.count_walk();
  if (wish.begins_log) last_log_ = look.log = table.begin_log();
  if (wish.log) {
    look.changes = table.changes(*wish.log, wish.max_listed);
    look.largest = table.largest(kLargest);
  }
  return look;
}

}  // namespace tenants
