// Any bytes, through both readers of JSON: what the fast one takes, the slow one makes the same of.
#include <cstdint>
#include <cstdlib>

#include "supervisor/base/json.h"
#include "supervisor/base/json_value.h"
#include "supervisor/base/strict_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto fast = read_strict_json(text, kMaxJsonDepth);
  const auto slow = parse_json_slowly(text, kMaxJsonDepth);
  if (fast && (!slow || dump_json(*fast) != dump_json(*slow))) std::abort();
  const auto both = parse_json(text);
  if (both.has_value() != slow.has_value()) std::abort();
  if (!both && both.error().what != slow.error().what) std::abort();
  return 0;
}
