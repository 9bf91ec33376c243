#include "supervisor/executions/workspace_quota_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "supervisor/base/clock.h"

namespace executions {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirstLook = 20ms;
constexpr auto kLookEvery = 100ms;
constexpr uint64_t kLeastOfAFile = 1 << 20;

bool is_over(const tenants::Usage& usage, const QuotaHold& hold) {
  return !usage.problem.empty() || usage.bytes > hold.most.bytes || usage.files > hold.most.files;
}

}  // namespace

Task<Result<QuotaHold>> admit_to(tenants::Workspace& workspace, uint64_t file_bytes) {
  CO_CHECKED(co_await workspace.count());
  const tenants::Quota& quota = workspace.quota();
  const tenants::Usage& usage = quota.usage();
  auto within = quota.within();
  if (!usage.problem.empty() || usage.files > 2 * quota.limits().files)
    co_return tl::unexpected<Error>(std::move(within).error());
  QuotaHold hold;
  hold.most = {std::max(quota.limits().bytes, usage.bytes), std::max(quota.limits().files, usage.files)};
  hold.file_bytes = within ? std::max(quota.remaining().bytes + usage.largest, kLeastOfAFile) : 1;
  if (hold.file_bytes >= file_bytes) {
    hold.file_bytes = file_bytes;
  } else {
    hold.room = within ? QuotaHold::Room::cut : QuotaHold::Room::none;
  }
  co_return hold;
}

Task<> hold_quota(Loop& loop, tenants::Workspace& workspace, QuotaHold& hold) {
  std::chrono::milliseconds pause = kFirstLook;
  for (;;) {
    co_await sleep_for(loop, pause);
    const auto begun = Monotonic::now();
    auto usage = co_await workspace.measure();
    if (usage && is_over(*usage, hold)) hold.over = true;
    // A large workspace is counted less often: counting takes about a tenth of the time at most.
    pause = std::max<std::chrono::milliseconds>(kLookEvery,
                                                std::chrono::milliseconds(static_cast<int64_t>(ms_since(begun) * 10)));
  }
}

std::optional<Error> judge_quota(const tenants::Quota& quota, const QuotaHold& hold, jail::Report& report) {
  if (report.outcome == jail::Outcome::ok && is_over(quota.usage(), hold)) report.outcome = jail::Outcome::disk;
  if (report.outcome != jail::Outcome::disk) return {};
  if (auto within = quota.within(); !within) return std::move(within).error();
  const tenants::QuotaLimits left = quota.remaining();
  if (hold.room == QuotaHold::Room::enough && left.files > 0) return {};
  return Error{Code::exhausted, 0,
               fmt::format("ran out of space: {} of {} bytes and {} of {} files are left in the workspace", left.bytes,
                           quota.limits().bytes, left.files, quota.limits().files),
               "write less, or delete files that are no longer needed", "quota.workspace_bytes"};
}

}  // namespace executions
