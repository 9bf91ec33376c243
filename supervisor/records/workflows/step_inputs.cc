#include "supervisor/records/workflows/step_inputs.h"

#include <fmt/format.h>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace workflows {

Result<StepInputs> StepInputs::of(const Json& inputs, std::string digest) {
  if (!inputs.is_object()) return fail(Code::invalid, "step.inputs: not an object of texts");
  StepInputs step_inputs;
  if (inputs.empty()) return step_inputs;
  if (inputs.size() > kMaxInputs)
    return fail(Code::invalid, fmt::format("step.inputs: {} values, {} are allowed", inputs.size(), kMaxInputs));
  for (const auto& [name, text] : inputs.items()) {
    if (!text.is_string()) return fail(Code::invalid, "step.inputs: a value is not a text");
    if (name.size() > kMaxInputBytes || text.get_ref<const std::string&>().size() > kMaxInputBytes)
      return fail(Code::invalid, fmt::format("step.inputs: a name or text has more than {} bytes", kMaxInputBytes));
  }
  step_inputs.text_ = dump_json(inputs);
  if (step_inputs.text_.size() > kMaxInputsBytes)
    return fail(Code::invalid,
                fmt::format("step.inputs: {} bytes, {} are allowed", step_inputs.text_.size(), kMaxInputsBytes));
  const bool is_hex = digest.find_first_not_of("0123456789abcdef") == digest.npos;
  if (digest.empty() || digest.size() > 32 || !is_hex)
    return fail(Code::invalid, "step.digest: not 1 to 32 hexadecimal digits");
  step_inputs.digest_ = std::move(digest);
  return step_inputs;
}

std::string StepInputs::key_end() const { return digest_.empty() ? std::string() : "-" + digest_; }

std::optional<InputDifference> find_difference(std::string_view recorded, std::string_view now) {
  if (recorded.empty() || now.empty() || recorded == now) return std::nullopt;
  const auto before = parse_json(recorded), present = parse_json(now);
  if (!before || !present || !before->is_object() || !present->is_object()) return std::nullopt;
  for (const auto& [name, text] : present->items()) {
    const auto it = before->find(name);
    if (it == before->end() || *it == text || !it->is_string() || !text.is_string()) continue;
    return InputDifference{name, it->get<std::string>(), text.get<std::string>()};
  }
  return std::nullopt;
}

}  // namespace workflows
