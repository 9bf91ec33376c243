#include "supervisor/tools/execution/layer_question.h"

#include <algorithm>

#include "policies/policy.h"
#include "supervisor/base/json/fields.h"

namespace tools {
namespace {

constexpr size_t kMaxModuleBytes = 200, kMaxOffered = 24;

// Both lists are sorted.
bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::binary_search(names.begin(), names.end(), name);
}

Result<Json> answer_of(const policies::PackageLayers& machine, const policies::Policy& policy, const Json& arguments) {
  Fields in(arguments, "layer_of");
  TRY(const std::string module, in.string("module", kMaxModuleBytes));
  TRY(const std::string kind, in.one_of("kind", {"python", "node"}));
  CHECKED(in.done());
  const auto names_in = [&kind](const policies::PackageLayer& layer) -> const std::vector<std::string>& {
    return kind == "python" ? layer.python : layer.node;
  };
  Json answer = {{"layer", nullptr}, {"offered", Json::array()}};
  for (const auto& layer : machine) {
    const bool is_given =
        std::find(policy.layer_names.begin(), policy.layer_names.end(), layer->name) != policy.layer_names.end();
    if (is_given || !has(names_in(*layer), module)) continue;
    answer["layer"] = layer->name;
    break;
  }
  for (const auto& layer : policy.layers)
    for (const auto& name : names_in(*layer))
      if (answer["offered"].size() < kMaxOffered) answer["offered"].push_back(name);
  return answer;
}

}  // namespace

Operation layer_question(std::function<policies::PackageLayers()> layers_of_machine) {
  return code_operation("layer_of", [layers_of_machine = std::move(layers_of_machine)](
                                        const tenants::Requester& requester, Json arguments) {
    return ready(answer_of(layers_of_machine(), *requester.policy, arguments));
  });
}

}  // namespace tools
