#include "supervisor/records/workflows/workflow.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "supervisor/base/json/json.h"
#include "supervisor/base/log.h"

namespace workflows {

Result<> check_workflow_name(std::string_view name) {
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  if (!name.empty() && name.size() <= 64 && name[0] != '.' && name.find_first_not_of(kAllowed) == name.npos) return {};
  return fail(Code::invalid, fmt::format("workflow: '{}' is not the name of a workflow", printable(name, 64)),
              "use 1 to 64 characters of A-Z, a-z, 0-9, '.', '_' and '-', not beginning with '.'");
}

Result<> check_step_name(std::string_view name) {
  const bool has_control =
      std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (!name.empty() && name.size() <= kMaxStepNameBytes && !has_control && valid_utf8(name) == name) return {};
  return fail(Code::invalid, fmt::format("step: '{}' is not the name of a step", printable(name, 64)),
              fmt::format("use 1 to {} bytes of text without line ends", kMaxStepNameBytes));
}

uint32_t hash_seed(const WorkflowDisk& disk, std::string_view tenant) {
  uint32_t seed = 0;
  std::array<unsigned char, crypto_generichash_BYTES_MIN> hash;
  const std::string_view key = disk.hash_secret();
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(tenant.data()), tenant.size(),
                     reinterpret_cast<const unsigned char*>(key.data()), key.size());
  std::memcpy(&seed, hash.data(), sizeof seed);
  return std::max(seed, 1u);  // Python takes 0 as "no random hashes"
}

std::string_view state_name(StepState state) { return state == StepState::finished ? "finished" : "failed"; }

std::optional<StepState> find_state(std::string_view name) {
  for (const StepState state : {StepState::finished, StepState::failed})
    if (state_name(state) == name) return state;
  return {};
}

}  // namespace workflows
