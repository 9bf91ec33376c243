#include "supervisor/upstream/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "supervisor/base/log.h"

namespace upstream {

Result<Selection> Selection::of(const std::vector<std::string>& paths) {
  const std::set<std::string_view> different(paths.begin(), paths.end());
  if (different.size() > kMaxPaths)
    return fail(Code::invalid, fmt::format("select: {} paths; at most {} are allowed", different.size(), kMaxPaths),
                "name a common part of them, like \"items\", or select from the result in code");
  Selection selection;
  for (const std::string& path : paths) {
    Branch* at = &selection.root_;
    size_t steps = 0;
    for (size_t begin = 0; begin <= path.size();) {
      if (++steps > kMaxSteps)
        return fail(Code::invalid, fmt::format("select: '{}' has more than {} steps", printable(path, 100), kMaxSteps));
      const size_t dot = std::min(path.find('.', begin), path.size());
      const std::string_view name = std::string_view(path).substr(begin, dot - begin);
      auto child =
          std::find_if(at->children.begin(), at->children.end(), [&](auto& item) { return item.name == name; });
      if (child == at->children.end()) child = at->children.insert(child, Branch{std::string(name), false, {}});
      at = &*child;
      begin = dot + 1;
    }
    at->is_whole = true;
  }
  return selection;
}

Result<Json> Selection::apply(Json value, WorkMeter& meter) const {
  if (is_empty()) return value;
  auto selected = take(value, root_, meter);
  return selected;
}

// Moves the parts out of `value`.
Result<Json> Selection::take(Json& value, const Branch& branch, WorkMeter& meter) {
  constexpr uint64_t kStepsPerPart = 10, kBytesPerStep = 64;
  if (!meter.spend(kStepsPerPart)) return tl::unexpected<Error>(meter.error());
  if (value.is_array()) {
    Json parts = Json::array();
    for (Json& item : value) {
      TRY(Json part, take(item, branch, meter));
      parts.push_back(std::move(part));
    }
    return parts;
  }
  if (branch.is_whole) return std::move(value);
  if (!value.is_object()) return Json();
  Json parts = Json::object();
  for (const Branch& child : branch.children) {
    if (!meter.spend(kStepsPerPart + child.name.size() / kBytesPerStep)) return tl::unexpected<Error>(meter.error());
    const auto member = value.find(child.name);
    if (member == value.end()) continue;
    TRY(parts[child.name], take(*member, child, meter));
  }
  return parts;
}

}  // namespace upstream
