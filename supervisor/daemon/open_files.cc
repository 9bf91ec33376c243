#include "supervisor/daemon/open_files.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include "policies/limits.h"
#include "policies/policy_parts.h"

namespace {

constexpr rlim_t kMin = 256;  // for a few executions and connections at once
// 128 executions with 12 descriptors each (pipes, sockets, process, cgroup, output), 1024 connections with 2 each, and
// 512 for waiting jails, tenants and the daemon.
constexpr rlim_t kEnough = 128 * 12 + 1024 * 2 + 512;

constexpr char kRaise[] =
    "raise the limit: LimitNOFILE=65536 below [Service] (systemctl edit warder.service); without systemd, ulimit -Hn "
    "65536";

std::string limit_text(const rlimit& own) {
  return fmt::format("the limit of open files (RLIMIT_NOFILE) is {}", own.rlim_max);
}

}  // namespace

Result<> check_open_files(const policies::Store& policies) {
  rlimit own{};
  if (::getrlimit(RLIMIT_NOFILE, &own) < 0) return fail_errno(errno, "getrlimit RLIMIT_NOFILE");
  for (const std::string& name : policies.names()) {
    const uint32_t requested = ::policies::limits_of(*policies.find(name)).standard.open_files;
    if (requested > own.rlim_max)
      return fail(Code::unavailable,
                  fmt::format("{}, and policy '{}' gives programs {} (limits.open_files), which is more",
                              limit_text(own), name, requested),
                  std::string(kRaise) + "; or lower limits.open_files in the policy");
  }
  return {};
}

Result<std::string> raise_open_files(const policies::Store& policies) {
  rlimit own{};
  if (::getrlimit(RLIMIT_NOFILE, &own) < 0) return fail_errno(errno, "getrlimit RLIMIT_NOFILE");
  own.rlim_cur = own.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &own) < 0) return fail_errno(errno, "setrlimit RLIMIT_NOFILE");
  const std::string limit = limit_text(own);
  if (own.rlim_max < kMin)
    return fail(Code::unavailable, fmt::format("{}, and the daemon needs at least {}", limit, kMin), kRaise);
  CHECKED(check_open_files(policies));
  if (own.rlim_max >= kEnough) return std::string();
  return fmt::format(
      "{}: enough for about {} executions at once, but policies allow more; calls and connections beyond this number "
      "are refused. {}",
      limit, own.rlim_max / 16, kRaise);
}
