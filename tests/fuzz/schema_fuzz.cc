// A JSON Schema of a stranger, a value, and paths of a selection: whatever they are, the work ends within its meter,
// and a message stays short. Input: three JSON texts, one on each line: the schema, the value, a list of paths.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policies/schema/json_schema.h"
#include "supervisor/base/json.h"
#include "supervisor/base/json_value.h"
#include "supervisor/upstream/selection.h"
#include "tests/fresh_meter.h"

namespace {

using policies::JsonSchema;

constexpr size_t kMaxMessage = 1000;
constexpr std::chrono::milliseconds kTime{200}, kGrace{800};

void require(bool holds) {
  if (!holds) std::abort();
}

std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

void check(const std::shared_ptr<const Json>& schema, const Json& value, JsonSchema::Unknown unknown) {
  auto compiled = JsonSchema::compile(schema, unknown, FreshMeter(kTime));
  require(compiled || compiled.error().what.size() < kMaxMessage);
  if (!compiled) return;
  const auto fits = (*compiled)->check(value, FreshMeter(kTime));
  require(fits || fits.error().what.size() < kMaxMessage);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto schema = parse_json(take_line(text)), value = parse_json(take_line(text)), listed = parse_json(take_line(text));
  if (!schema || !value) return 0;
  const auto began = thread_time();
  const auto shared = std::make_shared<const Json>(*std::move(schema));
  check(shared, *value, JsonSchema::Unknown::let_pass);
  check(shared, *value, JsonSchema::Unknown::refuse);
  std::vector<std::string> paths;
  if (listed && listed->is_array())
    for (const Json& path : *listed)
      if (path.is_string()) paths.push_back(path.get<std::string>());
  if (auto selection = upstream::Selection::of(paths)) (void)selection->apply(*std::move(value), FreshMeter(kTime));
  require(thread_time() - began < 5 * kTime + kGrace);
  return 0;
}
