// A JSON Schema of a stranger, a value, and paths of a selection: whatever they are, the work ends within its meter,
// and a message stays short. A check says the same twice, and the same of a value with its keys in another order. With
// too few steps it gives no answer, never another one. What is selected is a part of the value.
// Input: three JSON texts, one on each line: the schema, the value, a list of paths.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policies/schema/json_schema.h"
#include "supervisor/upstream/selection.h"
#include "tests/fuzz/metered_jobs.h"

namespace {

using fuzz::FewSteps;
using fuzz::require;
using policies::JsonSchema;
using upstream::Selection;

constexpr size_t kMaxMessage = 1000;
constexpr std::chrono::milliseconds kTime{200}, kGrace{800};
constexpr int kJobs = 9;  // with a full meter
// With few steps, values up to this many bytes: compilations of expressions are the dear part.
constexpr size_t kMaxSmall = 2000;

void check(const std::shared_ptr<const Json>& schema, const Json& value, JsonSchema::Unknown unknown, bool is_small) {
  auto compiled = JsonSchema::compile(schema, unknown, FreshMeter(kTime));
  require(compiled || fuzz::is_good_message(compiled.error().what, kMaxMessage));
  for (const uint64_t steps : fuzz::kFewSteps) {
    if (!is_small) break;
    const auto early = JsonSchema::compile(schema, unknown, FewSteps(steps));
    if (!early && fuzz::is_unfinished(early.error())) continue;
    require(early.has_value() == compiled.has_value() || fuzz::is_unfinished(compiled.error()));
  }
  if (!compiled) return;
  const auto fits = (*compiled)->check(value, FreshMeter(kTime));
  require(fits || fuzz::is_good_message(fits.error().what, kMaxMessage));
  if (!fits && fuzz::is_unfinished(fits.error())) return;
  const auto reordered = (*compiled)->check(fuzz::with_keys_reversed(value), FreshMeter(kTime));
  require(reordered.has_value() == fits.has_value() || fuzz::is_unfinished(reordered.error()));
  for (const uint64_t steps : fuzz::kFewSteps) {
    if (!is_small) break;
    const auto early = (*compiled)->check(value, FewSteps(steps));
    if (!early && fuzz::is_unfinished(early.error())) continue;
    require(early.has_value() == fits.has_value() && (early || early.error().what == fits.error().what));
  }
}

// Whether `part` can be selected from `value`: lists keep their length, objects may lose members, and a path that goes
// on below a text or a number gives null.
bool is_part(const Json& part, const Json& value) {
  if (value.is_array())
    return part.is_array() && part.size() == value.size() &&
           std::equal(part.begin(), part.end(), value.begin(), [](auto& a, auto& b) { return is_part(a, b); });
  if (!value.is_object()) return part.is_null() || part == value;
  if (!part.is_object()) return false;
  for (auto member = part.begin(); member != part.end(); ++member) {
    const auto it = value.find(member.key());
    if (it == value.end() || !is_part(*member, *it)) return false;
  }
  return true;
}

// The value at the end of a path through objects; nullptr: there is none, or the path leads through a list.
const Json* value_at(const Json& value, std::string_view path) {
  const Json* at = &value;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    if (!at->is_object()) return nullptr;
    const auto member = at->find(std::string(path.substr(begin, end - begin)));
    if (member == at->end()) return nullptr;
    at = &*member;
    begin = end + 1;
  }
  return at;
}

void select(const Json& value, const std::vector<std::string>& paths, bool is_small) {
  const auto selection = Selection::of(paths);
  if (!selection) {
    require(selection.error().code == Code::invalid && fuzz::is_good_message(selection.error().what, kMaxMessage));
    return;
  }
  const auto selected = selection->apply(value, FreshMeter(kTime));
  if (!selected) {
    require(fuzz::is_unfinished(selected.error()));
    return;
  }
  require(selection->is_empty() ? *selected == value : is_part(*selected, value));
  for (const std::string& path : paths) {
    const Json *document = value_at(value, path), *part = value_at(*selected, path);
    require((document == nullptr) == (part == nullptr) && (document == nullptr || *part == *document));
  }
  const auto retry = selection->apply(*selected, FreshMeter(kTime));
  require(!retry || *retry == *selected);
  for (const uint64_t steps : fuzz::kFewSteps) {
    if (!is_small) break;
    const auto early = selection->apply(value, FewSteps(steps));
    require(early ? *early == *selected : early.error().code == Code::unavailable);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto schema = parse_json(fuzz::take_line(text)), value = parse_json(fuzz::take_line(text));
  auto listed = parse_json(fuzz::take_line(text));
  if (!schema || !value) return 0;
  const auto started = thread_time();
  const auto shared = std::make_shared<const Json>(*std::move(schema));
  const bool is_small = size <= kMaxSmall;
  check(shared, *value, JsonSchema::Unknown::let_pass, is_small);
  check(shared, *value, JsonSchema::Unknown::refuse, is_small);
  std::vector<std::string> paths;
  if (listed && listed->is_array())
    for (const Json& path : *listed)
      if (path.is_string()) paths.push_back(path.get<std::string>());
  select(*value, paths, is_small);
  require(thread_time() - started < kJobs * kTime + kGrace);
  return 0;
}
