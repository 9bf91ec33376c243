#include "supervisor/executions/workspace_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "supervisor/base/clock.h"
#include "supervisor/base/log.h"
#include "supervisor/executions/context_ledger.h"

namespace executions {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirstCount = 20ms;
constexpr auto kCountEvery = 100ms;
constexpr uint64_t kLeastOfAFile = 1 << 20;

// After the answer: counts the workspace as it is now. Holds the tenant meanwhile.
Task<> count_again(std::shared_ptr<tenants::Tenant> tenant) {
  auto counted = co_await tenant->workspace().count();
  if (!counted) log_warning("tenant {}: {}", tenant->name(), counted.error().what);
}

uint64_t size_of(const tenants::Snapshot& snapshot) {
  uint64_t bytes = 0;
  for (const auto& [path, stamp] : snapshot.files) bytes += std::min(stamp.size, UINT64_MAX - bytes);
  return bytes;
}

// The most bytes that a program can have read of its workspace, each file once: the files before it or after it,
// whichever are more; of sparse files no more than the quota allows to be stored.
uint64_t readable_bytes(const tenants::Workspace& workspace, const tenants::Snapshot& before,
                        const tenants::Snapshot& after) {
  return std::min(std::max(size_of(before), size_of(after)), workspace.quota().limits().bytes);
}

}  // namespace

WorkspaceGuard::~WorkspaceGuard() {
  if (writing_ && !is_finished_) tenant_->workspace().invalidate();
}

bool WorkspaceGuard::is_over(const tenants::Usage& usage) const {
  return !usage.problem.empty() || usage.bytes > most_.bytes || usage.files > most_.files;
}

Task<Result<>> WorkspaceGuard::admit(uint64_t file_bytes) {
  tenants::Workspace& workspace = tenant_->workspace();
  CO_CHECKED(co_await workspace.count());
  const tenants::Quota& quota = workspace.quota();
  const tenants::Usage& usage = quota.usage();
  auto within = quota.within();
  if (!usage.problem.empty() || usage.files > 2 * quota.limits().files)
    co_return tl::unexpected<Error>(std::move(within).error());
  most_ = {std::max(quota.limits().bytes, usage.bytes), std::max(quota.limits().files, usage.files)};
  file_bytes_ = within ? std::max(quota.remaining().bytes + usage.largest, kLeastOfAFile) : 1;
  if (file_bytes_ >= file_bytes) {
    file_bytes_ = file_bytes;
  } else {
    room_ = within ? Room::cut : Room::none;
  }
  co_return Result<>{};
}

Error WorkspaceGuard::full() const {
  Error error = tenant_->workspace().quota().within().error();
  error.hint = "delete files first: in a call without a session, or with delete_workspace_file";
  return error;
}

void WorkspaceGuard::begin() {
  writing_.emplace(tenant_->writers());
  snapshot_.emplace(take_snapshot());
  watch_.emplace(watch_quota());
}

Task<> WorkspaceGuard::take_snapshot() {
  auto snapshot = co_await tenant_->workspace().snapshot();
  if (snapshot) before_ = *std::move(snapshot);
}

Task<> WorkspaceGuard::snapshot_taken() { co_await *snapshot_; }

Task<> WorkspaceGuard::watch_quota() {
  std::chrono::milliseconds pause = kFirstCount;
  for (;;) {
    co_await sleep_for(loop_, pause);
    const auto begun = Monotonic::now();
    auto usage = co_await tenant_->workspace().measure();
    if (usage && is_over(*usage)) is_over_quota_ = true;
    // A large workspace is counted less often: for at most a tenth of the time.
    pause = std::max<std::chrono::milliseconds>(kCountEvery,
                                                std::chrono::milliseconds(static_cast<int64_t>(ms_since(begun) * 10)));
  }
}

Task<WorkspaceEffects> WorkspaceGuard::finish(jail::Report& report) {
  tenants::Workspace& workspace = tenant_->workspace();
  workspace.invalidate();
  is_finished_ = true;
  WorkspaceEffects effects;
  if (before_) {
    auto after = co_await workspace.snapshot();
    if (after) effects.changes = tenants::compare(*before_, *after);
    if (after && report.read_bytes > 0) {
      // The guest's own number proves nothing.
      report.read_bytes = std::min(report.read_bytes, readable_bytes(workspace, *before_, *after));
      effects.read_tokens = read_tokens_of(workspace, *after, report.read_bytes);
    }
  }
  if (!effects.changes) report.read_bytes = 0;
  effects.quota = judge(report);
  effects.others_wrote = !writing_->is_alone();
  loop_.spawn(count_again(tenant_));
  co_return effects;
}

// With the workspace as it was last counted: a success becomes `disk` if the workspace is over its quota.
std::optional<Error> WorkspaceGuard::judge(jail::Report& report) const {
  const tenants::Quota& quota = tenant_->workspace().quota();
  if (report.outcome == jail::Outcome::ok && is_over(quota.usage())) report.outcome = jail::Outcome::disk;
  if (report.outcome != jail::Outcome::disk) return {};
  if (auto within = quota.within(); !within) return std::move(within).error();
  const tenants::QuotaLimits left = quota.remaining();
  if (room_ == Room::enough && left.files > 0) return {};
  return Error{Code::exhausted, 0,
               fmt::format("ran out of space: {} of {} bytes and {} of {} files are left in the workspace", left.bytes,
                           quota.limits().bytes, left.files, quota.limits().files),
               "write less data, or delete files that are no longer needed", "quota.workspace_bytes"};
}

}  // namespace executions
