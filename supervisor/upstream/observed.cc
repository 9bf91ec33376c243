#include "supervisor/upstream/observed.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/ascii.h"
#include "supervisor/base/json/exact_number.h"
#include "supervisor/base/json/json_value.h"

namespace upstream {
namespace {

enum Kind : uint32_t { null = 1, boolean = 2, integer = 4, number = 8, string = 16, array = 32, object = 64 };
constexpr uint32_t kAll = 127;
constexpr std::pair<Kind, const char*> kNames[] = {
    {boolean, "boolean"}, {integer, "integer"}, {number, "number"}, {string, "string"}, {null, "null"}};

Kind kind_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::boolean:
      return boolean;
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return integer;
    case Json::value_t::number_float:
      return number;
    case Json::value_t::string:
      return string;
    case Json::value_t::array:
      return array;
    case Json::value_t::object:
      return object;
    default:
      return !is_exact_number(value) ? null : is_whole_number(value) ? integer : number;
  }
}

bool is_identifier(const std::string& name) {
  if (name.empty() || name.size() > Shape::kMaxName || is_digit(name[0])) return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return is_word(c); });
}

uint32_t count_of(const Json& saved, const char* key) {
  auto it = saved.find(key);
  return it != saved.end() && it->is_number_unsigned()
             ? static_cast<uint32_t>(std::min<uint64_t>(it->get<uint64_t>(), 1u << 30))
             : 0;
}

}  // namespace

void Shape::see(const Json& value, int depth) {
  kinds_ |= kind_of(value);
  if (value.is_object()) see_object(value, depth);
  if (!value.is_array() || depth == kMaxDepth) return;
  if (items_.empty()) items_.emplace_back();
  for (size_t i = 0; i < std::min(value.size(), kMaxItems); i++) items_.front().see(value[i], depth + 1);
}

void Shape::see_object(const Json& value, int depth) {
  if (objects_ < UINT32_MAX) objects_++;
  if (map_) return;
  map_ = depth == kMaxDepth || value.size() > kMaxMembers;
  for (auto member = value.begin(); !map_ && member != value.end(); ++member) {
    map_ = !is_identifier(member.key()) || (members_.size() == kMaxMembers && !members_.contains(member.key()));
    if (map_) break;
    Member& item = members_[member.key()];
    item.seen++;
    item.shape.see(member.value(), depth + 1);
  }
  if (map_) members_.clear();
}

Json Shape::schema() const {
  Json choices = Json::array();
  for (const auto& [kind, name] : kNames)
    if ((kinds_ & kind) && !(kind == integer && (kinds_ & number))) choices.push_back({{"type", name}});
  if (kinds_ & array) {
    Json list{{"type", "array"}};
    if (!items_.empty())
      if (Json items = items_.front().schema(); !items.empty()) list["items"] = std::move(items);
    choices.push_back(std::move(list));
  }
  if (kinds_ & object) {
    Json record{{"type", "object"}};
    // Names that do not repeat are more likely keys than fields.
    const auto often = [this](const Member& member) { return 2 * member.seen > objects_; };
    size_t rare = 0;
    for (const auto& [name, member] : members_) rare += often(member) ? 0 : 1;
    if (!map_ && !members_.empty() && 2 * rare <= members_.size()) {
      record["properties"] = Json::object();
      record["required"] = Json::array();
      for (const auto& [name, member] : members_) {
        if (!often(member)) continue;
        record["properties"][name] = member.shape.schema();
        if (member.seen == objects_) record["required"].push_back(name);
      }
    }
    choices.push_back(std::move(record));
  }
  if (choices.empty()) return Json::object();
  if (choices.size() == 1) return choices[0];
  return {{"anyOf", std::move(choices)}};
}

Json Shape::to_json() const {
  Json saved{{"kinds", kinds_}};
  if (objects_ > 0) saved["objects"] = objects_;
  if (map_) saved["map"] = true;
  for (const auto& [name, member] : members_) {
    Json& item = saved["members"][name];
    item = member.shape.to_json();
    item["seen"] = member.seen;
  }
  if (!items_.empty()) saved["items"] = items_.front().to_json();
  return saved;
}

Shape Shape::from_json(const Json& saved, int depth) {
  Shape shape;
  if (!saved.is_object() || depth > kMaxDepth) return shape;
  shape.kinds_ = count_of(saved, "kinds") & kAll;
  shape.objects_ = count_of(saved, "objects");
  shape.map_ = saved.value("map", Json()) == true;
  if (auto members = saved.find("members"); members != saved.end() && members->is_object())
    for (const auto& [name, one] : members->items())
      if (one.is_object() && is_identifier(name) && shape.members_.size() < kMaxMembers)
        shape.members_[name] = {count_of(one, "seen"), from_json(one, depth + 1)};
  if (auto items = saved.find("items"); items != saved.end()) shape.items_.push_back(from_json(*items, depth + 1));
  return shape;
}

bool Observed::see(const Json& value) {
  if (results >= kMax || reported >= kMaxReported) return false;
  results++;
  shape.see(value);
  if (results < kNeeded) return false;
  Json now = shape.schema();
  if (now == schema) return false;
  schema = std::move(now);
  reported++;
  return true;
}

Json Observed::to_json() const { return {{"results", results}, {"told", reported}, {"shape", shape.to_json()}}; }

Observed Observed::from_json(const Json& saved) {
  Observed observed;
  if (!saved.is_object()) return observed;
  observed.results = count_of(saved, "results");
  observed.reported = count_of(saved, "told");
  observed.shape = Shape::from_json(saved.value("shape", Json()));
  if (observed.results >= kNeeded) observed.schema = observed.shape.schema();
  return observed;
}

bool ObservedResults::see(const std::string& tool, const Json& value) {
  std::lock_guard lock(mutex_);
  return tools_[tool].see(value);
}

Json ObservedResults::schema_of(const std::string& tool) const {
  std::lock_guard lock(mutex_);
  const auto seen = tools_.find(tool);
  return seen == tools_.end() ? Json() : seen->second.schema;
}

std::shared_ptr<ObservedResults> ObservedResults::of_tools(const Filter& passes) const {
  auto copy = std::make_shared<ObservedResults>();
  std::lock_guard lock(mutex_);
  for (const auto& [tool, seen] : tools_)
    if (passes(tool)) copy->tools_.emplace(tool, seen);
  return copy;
}

Json ObservedResults::to_json() const {
  std::lock_guard lock(mutex_);
  Json all = Json::object();
  for (const auto& [tool, seen] : tools_) all[tool] = seen.to_json();
  return all;
}

std::shared_ptr<ObservedResults> ObservedResults::from_json(const Json& stored, const Filter& passes) {
  auto all = std::make_shared<ObservedResults>();
  if (!stored.is_object()) return all;
  for (const auto& [tool, seen] : stored.items())
    if (passes(tool)) all->tools_.emplace(tool, Observed::from_json(seen));
  return all;
}

}  // namespace upstream
