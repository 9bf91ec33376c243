#include "supervisor/executions/workspace_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "jail/execution/execution.h"
#include "jail/execution/outcome.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/log.h"
#include "supervisor/executions/context_ledger.h"
#include "supervisor/tenants/tenant.h"

namespace executions {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirstCount = 20ms;
constexpr auto kCountEvery = 100ms;
constexpr auto kCheckInterval = 25ms;  // at an index: before the kernel has more changes than it remembers
constexpr uint64_t kMinOfAFile = 1 << 20;

tenants::Changes unknown_changes() {
  tenants::Changes changes;
  changes.complete = false;
  return changes;
}

// After the answer: counts the workspace as it is now. Holds the tenant meanwhile.
Task<> recount(std::shared_ptr<tenants::Tenant> tenant) {
  auto counted = co_await tenant->workspace().count();
  if (!counted) log_warning("tenant {}: {}", tenant->name(), counted.error().what);
}

}  // namespace

WorkspaceGuard::~WorkspaceGuard() {
  if (before_ && !is_finished_) tenant_->workspace().invalidate();
}

const tenants::QuotaLimits& WorkspaceGuard::unnamed() const {
  return tenant_->workspace().quota().held_by(tenants::Holder::unnamed);
}

bool WorkspaceGuard::is_over(const tenants::Usage& usage) const {
  return !usage.problem.empty() || usage.bytes + unnamed().bytes > max_.bytes ||
         usage.files + unnamed().files > max_.files;
}

bool WorkspaceGuard::is_over(const proposals::StagedUsage& usage) const {
  return usage.bytes + unnamed().bytes > max_staged_.bytes || usage.files + unnamed().files > max_staged_.files;
}

Task<Result<>> WorkspaceGuard::admit(uint64_t file_bytes) {
  tenants::Workspace& workspace = tenant_->workspace();
  CO_CHECKED(co_await workspace.count());
  const tenants::Quota& quota = workspace.quota();
  const tenants::Usage& usage = quota.usage();
  auto within = quota.within();
  if (!usage.problem.empty() || usage.files > 2 * quota.limits().files)
    co_return tl::unexpected<Error>(std::move(within).error());
  const tenants::QuotaLimits limits = quota.remaining();
  max_staged_ = {unnamed().bytes + limits.bytes, unnamed().files + limits.files};
  max_ = {usage.bytes + max_staged_.bytes, usage.files + max_staged_.files};
  file_bytes_ = within ? std::max(quota.remaining().bytes + usage.largest, kMinOfAFile) : 1;
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
  look_.emplace(check_before());
  watch_.emplace(watch_quota());
}

Task<> WorkspaceGuard::check_before() {
  auto before = co_await tenant_->workspace().before(is_staged() ? tenants::LogFor::reader : tenants::LogFor::writer);
  if (before) before_ = *std::move(before);
  if (session_) co_await session_->watch_peers();
}

Task<> WorkspaceGuard::started() { co_await *look_; }

Task<> WorkspaceGuard::watch_quota() {
  std::chrono::milliseconds pause = kFirstCount;
  for (;;) {
    co_await sleep_for(loop_, pause);
    const auto start = Monotonic::now();
    const bool is_over_now = co_await is_quota_exceeded();
    if (is_over_now) {
      is_over_quota_ = true;
      if (auto within = tenant_->workspace().quota().within(); !within) refusal_ = std::move(within).error();
    }
    // A large workspace is counted less often: for at most a tenth of the time.
    const std::chrono::milliseconds least = tenant_->workspace().is_indexed() ? kCheckInterval : kCountEvery;
    pause = std::max(least, std::chrono::milliseconds(static_cast<int64_t>(ms_since(start) * 10)));
  }
}

Task<Result<proposals::StagedUsage>> WorkspaceGuard::measure_staged() {
  return session_ ? session_->measure() : staged_->measure();
}

Task<bool> WorkspaceGuard::is_quota_exceeded() {
  if (is_staged()) {
    auto written = co_await measure_staged();
    const bool is_over_now = written && is_over(*written);
    co_return is_over_now;
  }
  auto usage = co_await tenant_->workspace().measure();
  const bool is_over_now = usage && is_over(*usage);
  co_return is_over_now;
}

// A staged program changes no file of the workspace: all changes there have other authors.
Task<> WorkspaceGuard::settle(proposals::ProposalAbout about, tenants::Changes changes, int64_t started_ns,
                              WorkspaceEffects& effects) {
  auto proposal = co_await staged_->settle(std::move(about), std::move(changes), started_ns);
  effects.changes.reset();
  effects.meanwhile = {};
  if (!proposal) {
    effects.lost = std::move(proposal).error();
    co_return;
  }
  // Also the bytes that were written between two counts. No commit may bring a workspace over its quota.
  if (is_over(proposals::StagedUsage{proposal->bytes, proposal->entries})) {
    is_over_quota_ = true;
    co_await staged_->discard(proposal->id);
    effects.lost = fail(Code::exhausted, "they are more than the workspace's quota").value();
    co_return;
  }
  effects.changes = changes_of(proposal->files);
  if (proposal->state != proposals::ProposalState::none) effects.proposal = *std::move(proposal);
}

// While the session lasts, its changes are no proposal yet. Where it holds too much, they are lost with it.
Task<> WorkspaceGuard::finish_session(const jail::Report& report, WorkspaceEffects& effects) {
  effects.changes.reset();
  effects.meanwhile = {};
  session_->program_ended(report.outcome == jail::Outcome::ok);
  if (!session_->is_over()) {
    auto staged = co_await session_->measure();
    if (staged) effects.staged = *staged;
    is_over_quota_ = staged && is_over(*staged);
    if (is_over_quota_) effects.lost = fail(Code::exhausted, "they are more than the workspace's quota").value();
    co_return;
  }
  auto proposal = co_await session_->settle();
  if (!proposal) {
    effects.lost = std::move(proposal).error();
    co_return;
  }
  effects.changes = changes_of(proposal->files);
  if (proposal->state != proposals::ProposalState::none) effects.proposal = *std::move(proposal);
}

Task<WorkspaceEffects> WorkspaceGuard::finish(jail::Report& report, proposals::ProposalAbout about) {
  tenants::Workspace& workspace = tenant_->workspace();
  if (!is_staged()) workspace.invalidate();
  is_finished_ = true;
  WorkspaceEffects effects;
  Result<tenants::WorkspaceChanges> workspace_changes =
      fail(Code::unavailable, "nobody looked at the workspace before");
  const int64_t started_ns = before_ ? before_->started_ns : 0;
  if (before_) workspace_changes = co_await workspace.changes_since(*std::exchange(before_, std::nullopt));
  if (workspace_changes) {
    // The guest's own number proves nothing; of sparse files no more counts than the quota allows to be stored.
    const uint64_t readable = std::min(workspace_changes->readable_bytes, workspace.quota().limits().bytes);
    report.read_bytes = std::min(report.read_bytes, readable);
    if (report.read_bytes > 0)
      effects.read_tokens = read_tokens_of(workspace, workspace_changes->largest, report.read_bytes);
    effects.peers_wrote = workspace_changes->is_mixed;
    effects.changes = std::move(workspace_changes->changes);
    effects.meanwhile = std::move(workspace_changes->meanwhile);
  } else {
    report.read_bytes = 0;
  }
  if (session_) {
    co_await finish_session(report, effects);
  } else if (staged_) {
    tenants::Changes changes = effects.changes ? *std::move(effects.changes) : unknown_changes();
    changes.append(std::move(effects.meanwhile));
    co_await settle(std::move(about), std::move(changes), started_ns, effects);
  }
  effects.quota = judge(report);
  if (!is_staged()) loop_.spawn(recount(tenant_));
  co_return effects;
}

// With the workspace as it was last counted: a success becomes `disk` if the workspace is over its quota.
std::optional<Error> WorkspaceGuard::judge(jail::Report& report) const {
  const tenants::Quota& quota = tenant_->workspace().quota();
  const bool is_over_now = is_staged() ? is_over_quota_ : is_over(quota.usage());
  if (report.outcome == jail::Outcome::ok && is_over_now) report.outcome = jail::Outcome::disk;
  if (report.outcome != jail::Outcome::disk || report.at_disk_floor) return {};
  if (auto within = quota.within(); !within) return std::move(within).error();
  if (refusal_) return refusal_;
  const tenants::QuotaLimits limits = quota.remaining();
  if (room_ == Room::enough && limits.files > 0) return {};
  return Error{Code::exhausted, 0,
               fmt::format("ran out of space: {} of {} bytes and {} of {} files are left in the workspace",
                           limits.bytes, quota.limits().bytes, limits.files, quota.limits().files),
               "write less data, or delete files that are no longer needed", "quota.workspace_bytes"};
}

}  // namespace executions
