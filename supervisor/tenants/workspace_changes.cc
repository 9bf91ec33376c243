// The files of a workspace, and its changes: from its index, or else by walking through the whole tree.
#include <sys/stat.h>

#include <algorithm>
#include <ctime>

#include "supervisor/tenants/workspace.h"

#include "supervisor/base/tree.h"

namespace tenants {
namespace {

constexpr mode_t kDirectoryOwner = 0700;
constexpr uint64_t kMaxCounted = 5'000'000;  // files; a larger workspace needs the kernel's quota
constexpr uint64_t kMaxIndexed = 1'000'000;  // files

uint64_t size_of(const Snapshot& snapshot) {
  uint64_t bytes = 0;
  for (const auto& [path, stamp] : snapshot.files) bytes += std::min(stamp.size, UINT64_MAX - bytes);
  return bytes;
}

std::vector<std::pair<uint64_t, std::string>> largest_of(const Snapshot& snapshot) {
  LargestFiles largest;
  for (const auto& [path, stamp] : snapshot.files) largest.add(stamp.size, 0, path);
  std::vector<std::pair<uint64_t, std::string>> files;
  for (auto at = largest.saved().rbegin(); at != largest.saved().rend() && files.size() < kListedLargest; ++at)
    files.emplace_back(std::get<0>(*at), std::get<2>(*at));
  return files;
}

}  // namespace

void Workspace::follow(IndexHost& host) {
  index_ = std::make_unique<WorkspaceIndex>(loop_, host, *writers_);
  begin_index();
}

// Whether an index follows the workspace now.
bool Workspace::begin_index() {
  if (!index_) return false;
  // Twice the allowed number of files: beyond that, no program runs, and only deleting is possible.
  index_->follow(directory_.get(), {2 * std::min(quota_.limits().files, kMaxIndexed / 2)});
  return is_indexed();
}

std::shared_ptr<const void> Workspace::watch_opened() { return index_ ? index_->watch_opened() : nullptr; }

Task<std::unique_ptr<Writers::Turn>> Workspace::begin_writing() {
  if (is_indexed() && writers_->is_any()) {
    IndexScan scan = co_await index_->begin_log(LogFor::writer);
    if (scan.turn) co_return std::move(scan.turn);
  }
  co_return std::make_unique<Writers::Turn>(*writers_);
}

Task<> Workspace::end_writing(std::unique_ptr<Writers::Turn> turn) {
  turn->stop();
  if (is_indexed() && writers_->is_any()) (void)co_await index_->inspect();
}

// Takes the account from a look that began when `changes_` was `changes_before`.
bool Workspace::take(const IndexScan& scan, uint64_t changes_before) {
  if (!scan.current) {
    stale_ = true;
    return false;
  }
  quota_.set_usage(scan.usage);
  if (changes_ != changes_before) stale_ = true;
  return true;
}

Task<Result<WorkspaceBefore>> Workspace::before(LogFor log_for) {
  CO_CHECKED(restore_mode());
  WorkspaceBefore before;
  before.started_ns = coarse_now_ns();
  if (begin_index()) {
    const uint64_t changes_before = changes_;
    stale_ = false;  // invalidate() during the look sets it again
    IndexScan scan = co_await index_->begin_log(log_for);
    if (take(scan, changes_before)) {
      before.log = std::move(scan.log);
      before.turn = std::move(scan.turn);
      co_return before;
    }
  }
  if (log_for == LogFor::writer) before.turn = std::make_unique<Writers::Turn>(*writers_);
  CO_TRY(before.snapshot, co_await snapshot());
  co_return before;
}

Task<Result<WorkspaceChanges>> Workspace::changes_since(WorkspaceBefore before) {
  CO_CHECKED(restore_mode());
  if (before.turn) before.turn->stop();
  WorkspaceChanges changes;
  if (before.log && index_) {
    const uint64_t changes_before = changes_, size_before = before.log->size_at_begin;
    stale_ = false;
    IndexScan scan = co_await index_->end_log(std::move(before.log), kListedChanges);
    if (take(scan, changes_before)) {
      changes.changes = std::move(scan.changes.own);
      changes.meanwhile = std::move(scan.changes.meanwhile);
      changes.readable_bytes = std::max(size_before, scan.total_size);
      changes.largest = std::move(scan.largest);
      changes.walked = std::move(scan.walked);
      co_return changes;
    }
    // The times of files prove a part of the changes.
    before.snapshot.emplace();
    before.snapshot->complete = false;
    before.snapshot->before_walk_ns = before.started_ns;
  }
  if (!before.snapshot) co_return fail(Code::internal, "there is no picture of the workspace before the execution");
  CO_TRY(const Snapshot after, co_await snapshot());
  changes.changes = compare(*before.snapshot, after);
  changes.readable_bytes = std::max(size_of(*before.snapshot), size_of(after));
  changes.largest = largest_of(after);
  changes.is_mixed = before.turn && !before.turn->is_alone();
  co_return changes;
}

Task<Result<Snapshot>> Workspace::snapshot() {
  const uint64_t changes_before = changes_;
  const bool was_stale = std::exchange(stale_, false);  // invalidate() during the walk sets it again
  auto snapshot = co_await take_snapshot(loop_, directory_.get());
  if (snapshot && snapshot->complete) {
    quota_.set_usage(snapshot->usage);
    if (changes_ != changes_before) stale_ = true;
  } else if (was_stale) {
    stale_ = true;
  }
  co_return snapshot;
}

Task<Result<>> Workspace::count() {
  if (!stale_) co_return Result<>{};
  auto measured = co_await measure();
  if (!measured) co_return tl::unexpected<Error>(std::move(measured).error());
  co_return Result<>{};
}

Task<Result<Usage>> Workspace::measure() {
  CO_CHECKED(restore_mode());
  if (is_indexed()) {
    const uint64_t changes_before = changes_;
    stale_ = false;
    const IndexScan scan = co_await index_->inspect();
    if (take(scan, changes_before)) co_return scan.usage;
  }
  auto usage = co_await walk_and_count();
  co_return usage;
}

Task<Result<Usage>> Workspace::walk_and_count() {
  const uint64_t changes_before = changes_;
  stale_ = false;  // invalidate() during the count sets it again
  // The count stops at twice the allowed number of files. Beyond that, only deleting is possible.
  WalkBounds bounds;
  bounds.entries = 2 * std::min(quota_.limits().files, kMaxCounted);
  UsageCount count;
  auto walk = Walk::begin(directory_.get(), RelativePath(), bounds, WalkOrder::any);
  if (!walk) {
    stale_ = true;
    co_return tl::unexpected<Error>(std::move(walk).error());
  }
  std::vector<Entry> batch;
  for (;;) {
    batch.clear();
    auto ended = walk->step(kSlice, batch);
    if (!ended) {
      stale_ = true;
      co_return tl::unexpected<Error>(std::move(ended).error());
    }
    for (const Entry& entry : batch) count.add(entry);
    if (*ended) break;
    co_await next_turn(loop_);
  }
  Usage usage = count.usage();
  usage.problem = walk->missed();
  quota_.set_usage(usage);
  if (changes_ != changes_before) stale_ = true;
  co_return usage;
}

// Restores the owner's rights to the workspace's folder. A program in a jail may remove them; then the daemon could not
// count or delete the files.
Result<> Workspace::restore_mode() const {
  struct stat info;
  if (::fstat(directory_.get(), &info) < 0) return fail_errno(errno, "read the status of the workspace");
  if ((info.st_mode & kDirectoryOwner) == kDirectoryOwner) return {};
  if (::chmod(descriptor_path(directory_.get()).c_str(), kDirectoryOwner) < 0)  // fchmod() takes no O_PATH
    return fail_errno(errno, "restore the mode of the workspace");
  return {};
}

}  // namespace tenants
