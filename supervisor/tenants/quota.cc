#include "supervisor/tenants/quota.h"

#include <fmt/format.h>

#include <atomic>
#include <numeric>
#include <string_view>

namespace tenants {
namespace {

uint64_t plus(uint64_t value, int64_t change) {
  if (change >= 0) return value + static_cast<uint64_t>(change);
  uint64_t less = static_cast<uint64_t>(-change);
  return value > less ? value - less : 0;
}

std::atomic<uint64_t> refused_bytes{0}, refused_files{0};

// Counts the refusal that follows.
const char* counted_as(const char* rule) {
  (std::string_view(rule).ends_with("bytes") ? refused_bytes : refused_files)++;
  return rule;
}

uint64_t remainder(uint64_t limit, uint64_t used) { return limit > used ? limit - used : 0; }

constexpr char kFreeSome[] =
    "delete files that are no longer needed (delete_workspace_file), or ask the administrator for a larger quota";
constexpr char kFreeProposals[] =
    "delete files that are no longer needed (delete_workspace_file), discard proposals (commit_workspace), or ask the "
    "administrator for a larger quota";
constexpr char kCloseUnnamed[] =
    "close deleted and temporary files before writing more: they take space until they are closed (a session: end it), "
    "or delete files that are no longer needed";
constexpr char kFreeUncounted[] =
    "delete files; delete_workspace_file with recursive deletes a folder with its content";

}  // namespace

uint64_t Quota::bytes() const {
  return std::accumulate(held_limits_.begin(), held_limits_.end(), usage_.bytes,
                         [](uint64_t sum, const QuotaLimits& limits) { return sum + limits.bytes; });
}

uint64_t Quota::files() const {
  return std::accumulate(held_limits_.begin(), held_limits_.end(), usage_.files,
                         [](uint64_t sum, const QuotaLimits& limits) { return sum + limits.files; });
}

void Quota::replace_part(Holder holder, QuotaLimits before, QuotaLimits now) {
  QuotaLimits& limits = held_limits_[static_cast<size_t>(holder)];
  limits.bytes = remainder(limits.bytes, before.bytes) + now.bytes;
  limits.files = remainder(limits.files, before.files) + now.files;
}

QuotaLimits Quota::remaining() const { return {remainder(limits_.bytes, bytes()), remainder(limits_.files, files())}; }

QuotaRefusals quota_refusals() { return {refused_bytes, refused_files}; }

Result<> Quota::check(std::string_view path, int64_t bytes, int64_t files) const {
  if (bytes <= 0 && files <= 0) return {};
  if (!usage_.problem.empty())
    return fail(
        Code::exhausted,
        fmt::format("cannot write '{}': the size of the workspace cannot be measured: {}", path, usage_.problem),
        kFreeUncounted, counted_as("quota.workspace_files"));
  QuotaLimits free = remaining();
  if (bytes > 0 && static_cast<uint64_t>(bytes) > free.bytes)
    return fail(Code::exhausted,
                fmt::format("writing '{}' needs {} bytes more, {} of {} are left in this workspace", path, bytes,
                            free.bytes, limits_.bytes),
                kFreeSome, counted_as("quota.workspace_bytes"));
  if (files > 0 && static_cast<uint64_t>(files) > free.files)
    return fail(Code::exhausted,
                fmt::format("writing '{}' adds {} files and folders, {} of {} are left in this workspace", path, files,
                            free.files, limits_.files),
                kFreeSome, counted_as("quota.workspace_files"));
  return {};
}

Result<> Quota::within() const {
  if (!usage_.problem.empty())
    return fail(Code::exhausted, "the size of the workspace cannot be measured: " + usage_.problem, kFreeUncounted,
                "quota.workspace_files");
  const QuotaLimits& unnamed = held_by(Holder::unnamed);
  const char* remedy = unnamed.files > 0                      ? kCloseUnnamed
                       : held_by(Holder::proposals).files > 0 ? kFreeProposals
                                                              : kFreeSome;
  if (bytes() > limits_.bytes)
    return fail(
        Code::exhausted,
        fmt::format("the workspace holds {} bytes{}, {} are allowed", bytes(),
                    unnamed.bytes > 0 ? fmt::format(" ({} of them in files without a name)", unnamed.bytes) : "",
                    limits_.bytes),
        remedy, "quota.workspace_bytes");
  if (files() > limits_.files)
    return fail(
        Code::exhausted,
        fmt::format("the workspace holds {} files and folders{}, {} are allowed", files(),
                    unnamed.files > 0 ? fmt::format(" ({} of them without a name)", unnamed.files) : "", limits_.files),
        remedy, "quota.workspace_files");
  return {};
}

void Quota::add(int64_t bytes, int64_t files) {
  usage_.bytes = plus(usage_.bytes, bytes);
  usage_.files = plus(usage_.files, files);
}

}  // namespace tenants
