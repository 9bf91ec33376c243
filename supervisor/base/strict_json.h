// strict_json: JSON text that is right in every byte, read ten times as fast as nlohmann's parser does it.
// For parse_json() in json.cc, which asks the slower reader about everything else. Touches nothing but its arguments,
// so it may run on any thread. Source of facts: RapidJSON 1.1.0 checks UTF-8 and does not recurse with these flags; the
// digits of its numbers are read by std::from_chars, which rounds as strtod(3) does.
#pragma once
#include <optional>
#include <string_view>

#include "supervisor/base/json_fwd.h"
#include "supervisor/base/result.h"

// The same value that the slower reader makes of it; nothing where that reader must look, be it for the words of an
// error, for a repair, or for a number beyond the range of doubles.
std::optional<Json> read_strict_json(std::string_view text, int max_depth);
// parse_json() without the fast reader, by nlohmann's parser alone. The tests compare the two.
Result<Json> parse_json_slowly(std::string_view text, int max_depth);
