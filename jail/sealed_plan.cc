#include "jail/sealed_plan.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include "jail/host.h"
#include "jail/machine_files.h"
#include "jail/plan.h"
#include "policies/seccomp.h"
#include "policies/uncounted_memory.h"
#include "policies/unnamed_files.h"

namespace jail {
namespace {

// The bytes of 64 hexadecimal digits.
std::optional<LayerHash> hash_of_digits(std::string_view digits) {
  LayerHash hash{};
  if (digits.size() != 2 * sizeof hash.bytes) return {};
  for (size_t i = 0; i < sizeof hash.bytes; i++) {
    const char* pair = digits.data() + 2 * i;
    const auto read = std::from_chars(pair, pair + 2, hash.bytes[i], 16);
    if (read.ec != std::errc() || read.ptr != pair + 2) return {};
  }
  return hash;
}

// Two names may stand for one layer: an overlay refuses a folder that it has twice.
Result<> put_layers(const Spec& spec, Plan& plan) {
  for (const auto& layer : spec.layers) {
    const auto hash = hash_of_digits(layer->hash);
    if (!hash) return fail(Code::internal, "a layer has no hash");
    const bool is_known = std::any_of(plan.layers, plan.layers + plan.layer_count, [&](const LayerHash& layer_hash) {
      return memcmp(layer_hash.bytes, hash->bytes, sizeof layer_hash.bytes) == 0;
    });
    if (is_known) continue;
    if (plan.layer_count == kMaxLayers) return fail(Code::internal, "too many layers for a plan");
    plan.layers[plan.layer_count++] = *hash;
  }
  return {};
}

}  // namespace

Result<Fd> seal_plan(const Host& host, const Spec& spec, Role role) {
  auto plan = std::make_unique<Plan>();
  plan->version = kPlanVersion;
  plan->role = role;
  plan->identity = host.identity;
  plan->root = host.root;
  plan->landlock_required = spec.isolation.landlock == policies::Need::required;
  plan->memory_uncounted = !host.cgroups;
  plan->shows_network = spec.tests_host && role == Role::jail;
  plan->shown_processors = shown_processors(spec.displayed.cpus > 0 ? spec.displayed.cpus : spec.limits.cpus);
  plan->shown_memory_bytes = spec.displayed.memory_bytes > 0 ? spec.displayed.memory_bytes : spec.limits.memory_bytes;
  policies::Limits display = spec.limits;
  display.memory_bytes = plan->shown_memory_bytes;
  plan->tmp_bytes = policies::temporary_bytes(display);
  plan->tmp_files = spec.limits.tmp_files;

  auto limits =
      resource_limits_of(spec.language, spec.limits, host.cgroups ? Enforcement::with_cgroup : Enforcement::alone);
  if (limits.size() > kMaxResourceLimits) return fail(Code::internal, "too many resource limits for a plan");
  std::copy(limits.begin(), limits.end(), plan->resource_limits);
  plan->resource_limit_count = static_cast<uint32_t>(limits.size());

  std::vector<sock_filter> filter;
  if (!host.cgroups) filter = policies::refuse_uncounted_memory();
  if (!host.has_project_quotas) {
    const auto refused = policies::refuse_unnamed_files();
    filter.insert(filter.end(), refused.begin(), refused.end());
  }
  filter.insert(filter.end(), spec.filter->program.begin(), spec.filter->program.end());
  if (spec.filter->program.empty() || filter.size() > kMaxFilter)
    return fail(Code::internal, "the seccomp filter does not fit a plan");
  std::copy(filter.begin(), filter.end(), plan->filter);
  plan->filter_length = static_cast<uint32_t>(filter.size());
  plan->seccomp_flags = spec.filter->flags;

  size_t used = 0;
  auto put = [&](const std::vector<std::string>& list, uint32_t* offsets, size_t max, uint32_t& count) {
    if (list.size() > max) return false;
    for (const auto& text : list) {
      if (used + text.size() + 1 > kMaxStrings) return false;
      offsets[count++] = static_cast<uint32_t>(used);
      memcpy(plan->strings + used, text.c_str(), text.size() + 1);
      used += text.size() + 1;
    }
    return true;
  };
  auto command = spec.command.empty() ? command_of(spec.language, spec.limits) : spec.command;
  auto environment = environment_of(spec.environment, spec.listens ? Network::by_proxy : Network::none);
  if (spec.hash_seed) set_hash_seed(*spec.hash_seed, command, environment);
  if (!put(command, plan->arguments, kMaxArguments, plan->argument_count))
    return fail(Code::invalid, "the command is too long", "at most 60 arguments and 15 kB in all, with the environment",
                "command");
  if (!put(environment, plan->environment, kMaxEnvironment, plan->environment_count))
    return fail(Code::invalid, "the policy's environment is too large", "at most 50 variables and 15 kB in all",
                "environment");

  CHECKED(put_layers(spec, *plan));

  Fd fd(memfd_create("warder-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return fail_errno(errno, "memfd_create");
  if (::write(fd.get(), plan.get(), sizeof *plan) != sizeof *plan) return fail_errno(errno, "write the plan");
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
    return fail_errno(errno, "seal the plan");
  return fd;
}

}  // namespace jail
