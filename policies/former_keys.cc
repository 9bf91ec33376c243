#include "policies/former_keys.h"

#include <fmt/format.h>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace policies {
namespace {

struct FormerKey {
  const char* object;  // of the policy
  const char* former;
  const char* present;
};

constexpr FormerKey kFormerKeys[] = {
    {"pool", "least", "min_idle"},
    {"pool", "most", "max_idle"},
    {"sessions", "most", "max"},
    {"named_workspaces", "most", "max"},
};

}  // namespace

std::vector<std::string> rename_former_keys(Json& document, std::vector<Error>& problems) {
  std::vector<std::string> renamed;
  if (!document.is_object()) return renamed;
  for (const auto& key : kFormerKeys) {
    const auto object = document.find(key.object);
    if (object == document.end() || !object->is_object()) continue;
    const auto it = object->find(key.former);
    if (it == object->end()) continue;
    const std::string former = fmt::format("{}.{}", key.object, key.former);
    const std::string present = fmt::format("{}.{}", key.object, key.present);
    if (object->contains(key.present)) {
      const std::string why = fmt::format("{}: is the former name of {}, which is also given", former, present);
      problems.push_back(Error{Code::invalid, 0, why, "write only " + present, {}});
    } else {
      Json value = std::move(*it);
      (*object)[key.present] = std::move(value);
      renamed.push_back(fmt::format("{} is now named {}", former, present));
    }
    object->erase(key.former);
  }
  return renamed;
}

}  // namespace policies
