#include "supervisor/records/workflows/workflow.h"

#include <fmt/format.h>

#include <algorithm>

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

std::string_view state_name(StepState state) { return state == StepState::finished ? "finished" : "failed"; }

std::optional<StepState> find_state(std::string_view name) {
  for (const StepState state : {StepState::finished, StepState::failed})
    if (state_name(state) == name) return state;
  return {};
}

}  // namespace workflows
