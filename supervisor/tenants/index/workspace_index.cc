#include "supervisor/tenants/index/workspace_index.h"

#include <algorithm>

#include "supervisor/base/busy_time.h"
#include "supervisor/base/log.h"

namespace tenants {
namespace {

constexpr size_t kHere = 100;       // looks at files on the loop: about 200 us
constexpr size_t kInASlice = 4000;  // on the worker thread, before it turns to other workspaces
constexpr size_t kMaxSlices = 1000;
constexpr uint64_t kMaxFiles = 2'000'000;  // in the indexes of all workspaces, if others are not in use: 300 MB
constexpr double kTryAgainMs = 60'000;     // after a failure

}  // namespace

Result<std::unique_ptr<IndexHost>> IndexHost::start(Loop& loop) {
  TRY(auto worker, WorkerThread::start(loop));
  auto shares = std::make_shared<WatchShares>(WatchShares::of_kernel());
  return std::unique_ptr<IndexHost>(new IndexHost(loop, std::move(worker), std::move(shares)));
}

// The kernel frees many watches slowly: not on the loop.
Task<> IndexHost::free_beside(std::shared_ptr<IndexState> state) {
  WorkerThread::Job job = [holder = std::make_shared<std::shared_ptr<IndexState>>(std::move(state))] {
    holder->reset();
    return Result<>{};
  };
  (void)co_await worker_->run(std::move(job));
}

IndexHost::~IndexHost() {
  for (WorkspaceIndex* index : all_) {
    index->tasks_.cancel_all();
    index->state_.reset();
    index->host_ = nullptr;
  }
}

bool IndexHost::make_room() {
  if (by_use_.size() < shares_->instances()) return true;
  const auto unused =
      std::find_if(by_use_.begin(), by_use_.end(), [](const WorkspaceIndex* index) { return !index->is_in_use(); });
  if (unused == by_use_.end()) return false;
  (*unused)->end("other workspaces needed its place", true);
  return true;
}

IndexHost::Totals IndexHost::totals() const {
  Totals totals;
  totals.walks = walks_;
  totals.without = without_.size();
  if (!without_.empty()) totals.without_why = without_.begin()->second;
  for (const WorkspaceIndex* index : by_use_) {
    totals.indexes++;
    totals.files += index->files();
    totals.watches += index->watches();
  }
  return totals;
}

void WorkspaceIndex::follow(int directory, IndexState::Bounds bounds) {
  if (state_ || host_ == nullptr) return;
  if (!unusable_.empty()) {
    // A living program may have mapped files that this index did not see.
    if (!living_.expired() || (!may_restart_ && ms_since(ended_) < kTryAgainMs)) return;
  }
  if (!host_->make_room()) return end("the kernel allows no more inotify instances: fs.inotify.max_user_instances");
  auto state = IndexState::open(directory, host_->shares(), bounds);
  if (!state) return end(state.error().what);
  state_ = *std::move(state);
  unusable_.clear();
  host_->without_.erase(this);
  ready_ = false;
  list_position_ = host_->by_use_.insert(host_->by_use_.end(), this);
}

WorkspaceIndex::~WorkspaceIndex() {
  end("the workspace is closed", true);
  if (host_ == nullptr) return;
  host_->without_.erase(this);
  host_->all_.erase(this);
}

bool WorkspaceIndex::is_in_use() const {
  return working_ || !waiting_.empty() || !last_log_.expired() || !living_.expired();
}

void WorkspaceIndex::end(std::string why, bool may_restart) {
  unusable_ = std::move(why);
  ended_ = Monotonic::now();
  may_restart_ = may_restart;
  if (!may_restart && host_ != nullptr) host_->without_[this] = unusable_;
  if (!state_) return;
  host_->by_use_.erase(std::exchange(list_position_, host_->by_use_.end()));
  files_ = watches_ = 0;
  host_->tasks_.spawn(host_->free_beside(std::exchange(state_, nullptr)));
}

std::shared_ptr<const void> WorkspaceIndex::watch_opened() {
  auto living = living_.lock();
  if (!living) living_ = living = std::make_shared<int>(0);
  return living;
}

Task<IndexScan> WorkspaceIndex::ask(WatchRequest request) {
  if (!state_) co_return IndexScan{};
  const bool is_small = !request.log || request.log->files().size() <= kHere;
  if (!working_ && step_here() && is_small) {
    IndexScan check = answered(request);
    if (request.log) check.changes = state_->table().changes(*request.log, request.max_listed);
    co_return check;
  }
  OneShot<IndexScan> match(loop_);
  waiting_.push_back({std::move(request), match.resolver()});
  if (!std::exchange(working_, true)) tasks_.spawn(work());
  IndexScan check = co_await match;
  co_return check;
}

// A look on the loop. False: it did not end; a look on the worker thread ends it.
bool WorkspaceIndex::step_here() {
  if (!ready_) return false;
  if (!living_.expired()) state_->set_living(living_);
  if (state_->is_large_look(kHere)) return false;
  const NamedWork named_work(LoopWork::workspace);
  const bool contended = writers_.were_several();
  state_->table().set_contended(contended);
  state_->begin_scan();
  if (!state_->step(kHere, IndexState::On::loop)) {
    if (contended) writers_.see_again();
    return false;
  }
  noted();
  return true;
}

void WorkspaceIndex::noted() {
  ready_ = true;
  if (!state_->walked().empty()) host_->walks_++;
  files_ = state_->table().count();
  watches_ = state_->watches();
  host_->by_use_.splice(host_->by_use_.end(), host_->by_use_, list_position_);
  uint64_t files = 0;
  for (const WorkspaceIndex* index : host_->by_use_) files += index->files_;
  for (auto at = host_->by_use_.begin(); files > kMaxFiles && *at != this;) {
    WorkspaceIndex* const other = *at++;
    if (other->is_in_use()) continue;
    files -= other->files_;
    other->end("other workspaces needed its place", true);
  }
}

// Answers all wishes that wait. A wish that comes during a look waits for the next one: this look may have passed its
// files.
Task<> WorkspaceIndex::work() {
  while (!waiting_.empty() && state_) {
    std::vector<WaitingScan> now = std::exchange(waiting_, {});
    const bool current = co_await look_beside();
    if (current) noted();
    for (WaitingScan& item : now) {
      IndexScan check;
      if (current) check = answered(item.watch_request);
      if (current && item.watch_request.log) check.changes = co_await changes_beside(std::move(item.watch_request));
      item.resolver.resolve(std::move(check));
    }
    if (!state_->unusable().empty()) end(state_->unusable());
  }
  working_ = false;
  waiting_.clear();  // they get an answer that is not current
}

// A look on the worker thread, in slices. False: the workspace changes faster than it can be looked at, or the
// index is unusable.
Task<bool> WorkspaceIndex::look_beside() {
  if (!living_.expired()) state_->set_living(living_);
  state_->table().set_contended(writers_.were_several());
  for (size_t slices = 0; slices < kMaxSlices && state_->unusable().empty(); slices++) {
    auto count = std::make_shared<bool>(false);
    WorkerThread::Job job = [state = state_, count, begins = slices == 0]() -> Result<> {
      if (begins) state->begin_scan();
      *count = state->step(kInASlice);
      return {};
    };
    (void)co_await host_->worker().run(std::move(job));
    if (*count) co_return true;
  }
  co_return false;
}

// A log of many files is read and freed beside the loop.
Task<LoggedChanges> WorkspaceIndex::changes_beside(WatchRequest request) {
  auto changes = std::make_shared<LoggedChanges>();
  auto log = std::make_shared<std::shared_ptr<ChangeLog>>(std::move(request.log));
  WorkerThread::Job job = [state = state_, changes, log, max = request.max_listed]() -> Result<> {
    *changes = state->table().changes(**log, max);
    log->reset();
    return {};
  };
  (void)co_await host_->worker().run(std::move(job));
  co_return std::move(*changes);
}

// All but the changes.
IndexScan WorkspaceIndex::answered(const WatchRequest& request) {
  FileTable& table = state_->table();
  IndexScan check;
  check.current = true;
  check.usage = table.usage();
  check.total_size = table.size();
  check.walked = state_->walked();
  if (request.log) check.largest = table.largest();
  if (request.begins_log) {
    last_log_ = check.log = table.begin_log();
    if (*request.begins_log == LogFor::writer) check.turn = std::make_unique<Writers::Turn>(writers_);
  }
  return check;
}

}  // namespace tenants
