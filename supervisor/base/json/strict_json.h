// strict_json: reads JSON text without any defect, ten times as fast as nlohmann's parser, and numbers of any size
// (exact_number.h). For parse_json() in json.cc, which repairs other texts first. Touches only its arguments, so it may
// run on any thread. Facts: RapidJSON 1.1.0 checks UTF-8 and does not recurse with these flags. It refuses numbers
// beyond the range of doubles even where it passes digits on: such a text is read once more, with other digits in these
// numbers; the values come from the text itself. std::from_chars rounds as strtod(3) does.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"

enum class RepeatedKeys { last_counts, refuse };

// Empty where the text is no JSON, is nested too deep, has a lone surrogate or a refused repeated key: parse_json() and
// parse_json_file() find the reason. Errors: invalid: a number that is too long, or too many exact numbers.
std::optional<Result<Json>> read_strict_json(std::string_view text, int max_depth,
                                             RepeatedKeys repeated_keys = RepeatedKeys::last_counts);

// `text` with each number outside of strings that may be beyond the range of doubles replaced by a small number of the
// same length. For parsers that refuse large numbers.
std::string with_small_numbers(std::string_view text);
