// What the fuzz functions of Work's jobs share: the lines of an input, values with their keys in another order, and a
// meter that ends a job after few steps. The clock decides nothing here, so a finding can be repeated.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "tests/fresh_meter.h"

namespace fuzz {

inline void require(bool holds) {
  if (!holds) std::abort();
}

// Removes the first line of `text` and returns it without its newline.
inline std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// An equal value: in each object the last key comes first. The order of keys has no meaning in JSON.
inline Json with_keys_reversed(const Json& value) {
  if (value.is_array()) {
    Json items = Json::array();
    for (const Json& item : value) items.push_back(with_keys_reversed(item));
    return items;
  }
  if (!value.is_object()) return value;
  std::vector<Json::const_iterator> members;
  for (auto member = value.begin(); member != value.end(); ++member) members.push_back(member);
  Json reversed = Json::object();
  for (auto member = members.rbegin(); member != members.rend(); ++member)
    reversed[member->key()] = with_keys_reversed(**member);
  return reversed;
}

// FewSteps: a meter that allows `steps` steps, and then says that the job was cancelled. At most
// WorkMeter::kStepsPerCheck - 1 steps.
class FewSteps {
 public:
  explicit FewSteps(uint64_t steps) : meter_(bounded_work(std::chrono::hours(1))) {
    require(steps < WorkMeter::kStepsPerCheck && meter_.spend(1));  // the first look gives kStepsPerCheck
    require(meter_.spend(WorkMeter::kStepsPerCheck - 1 - steps));
    meter_.cancel();
  }
  operator WorkMeter&() { return meter_; }

 private:
  WorkMeter meter_;
};

// The numbers of steps that a job with few steps gets. Small jobs end before, between and after them.
constexpr uint64_t kFewSteps[] = {0, 7, 40, 150, 700, 3000, 9999};

// Whether a job ended because of its meter, or because of a bound of its own, and so gave no answer.
inline bool is_unfinished(const Error& error) {
  return error.code == Code::unavailable || error.code == Code::exhausted;
}

// Whether a text of ours may be shown: valid UTF-8, not empty, and not longer than `max_bytes`.
inline bool is_good_message(const std::string& text, size_t max_bytes) {
  return !text.empty() && text.size() <= max_bytes && valid_utf8(text) == text;
}

}  // namespace fuzz
