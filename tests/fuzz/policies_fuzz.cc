// Policy files: whatever stands in one is a policy or a list of problems, never a crash or a hang. The first byte
// chooses the kind of file: p policy, t tenants, s system call profile.
#include <cstdlib>
#include <string_view>

#include "policies/policy.h"
#include "policies/seccomp.h"
#include "policies/tenant_rules.h"
#include "supervisor/base/json.h"
#include "supervisor/base/json_value.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check_problems(const std::vector<Error>& problems) {
  require(!problems.empty());
  for (const auto& problem : problems) require(!problem.what.empty() && valid_utf8(problem.what) == problem.what);
}

void policy(const Json& document) {
  auto parsed =
      policies::parse_policy("p", "p.json", policies::merged(Json::object(), document), policies::HostCapacity{2});
  if (!parsed) return check_problems(parsed.error());
  const auto [limits, clamps] = policies::resolve(parsed->limits, {});
  require(clamps.empty());
  require(limits.wall <= parsed->limits.maximum.wall && limits.memory_bytes <= parsed->limits.maximum.memory_bytes);
  require(!parsed->languages.empty());
  (void)parsed->allows_workspace("default");
}

void tenants(const Json& document) {
  auto parsed = policies::TenantRules::parse(document);
  if (!parsed) return check_problems(parsed.error());
  if (auto match = parsed->find({1000, 1000, {27}})) require(policies::valid_name(match->tenant));
}

void profile(const Json& document) {
  auto parsed = policies::parse_seccomp("s", document, nullptr);
  if (!parsed) return check_problems(parsed.error());
  auto program = policies::compile_seccomp(*parsed);
  if (program) require(!program->empty() && program->size() <= policies::kMaxFilterInstructions);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  auto document = parse_json({reinterpret_cast<const char*>(data) + 1, size - 1});
  if (!document) return 0;
  switch (data[0]) {
    case 'p':
      policy(*document);
      break;
    case 't':
      tenants(*document);
      break;
    case 's':
      profile(*document);
      break;
    default:
      break;
  }
  return 0;
}
