#include "policies/merged.h"

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace policies {

Json merged(const Json& base, const Json& child) {
  if (!base.is_object() || !child.is_object()) return child;
  Json both = base;
  for (const auto& [key, value] : child.items()) both[key] = both.contains(key) ? merged(both[key], value) : value;
  return both;
}

}  // namespace policies
