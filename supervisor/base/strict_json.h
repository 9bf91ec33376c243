// strict_json: reads JSON text without any defect, ten times as fast as nlohmann's parser. For parse_json() in json.cc,
// which gives all other texts to the slower reader. Touches only its arguments, so it may run on any thread. Facts:
// RapidJSON 1.1.0 checks UTF-8 and does not recurse with these flags. std::from_chars reads the digits of numbers, and
// rounds as strtod(3) does.
#pragma once
#include <optional>
#include <string_view>

#include "supervisor/base/json_fwd.h"
#include "supervisor/base/result.h"

// The same value that the slower reader makes of `text`. Empty where the slower reader must look: for the text of an
// error, for a repair, or for a number beyond the range of doubles.
std::optional<Json> read_strict_json(std::string_view text, int max_depth);
// parse_json() without the fast reader, by nlohmann's parser alone. The tests compare both readers.
Result<Json> parse_json_slowly(std::string_view text, int max_depth);
