// Any bytes, through the reader of JSON: what nlohmann's parser accepts is read, too; what is read is written and read
// again as the same text, and its numbers can be compared.
#include <cstdint>
#include <cstdlib>

#include "supervisor/base/json/exact_number.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/json/strict_json.h"

namespace {

void examine_numbers(const Json& value) {
  if (value.is_structured()) {
    for (const Json& item : value) examine_numbers(item);
    return;
  }
  if (!is_number(value)) return;
  const double nearest = nearest_double(value);
  if (nearest != nearest || compare_numbers(value, value) != 0 || !are_equal(value, value)) std::abort();
  (void)is_whole_number(value);
  (void)canonical_number(value);
  (void)is_multiple_of(value, Json(7));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = parse_json(text);
  if (with_small_numbers(text).size() != text.size()) std::abort();
  if (!read) {
    // A NUL ends the text for nlohmann's parser.
    const bool is_other = text.find('\0') != text.npos || read.error().what.starts_with("nested");
    if (!is_other && read.error().what.starts_with("not JSON") && Json::accept(text)) std::abort();
    return 0;
  }
  const std::string written = dump_json(*read);
  const auto retry = parse_json(written);
  if (!retry || dump_json(*retry) != written) std::abort();
  examine_numbers(*read);
  return 0;
}
