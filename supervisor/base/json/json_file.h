// json_file: reads the JSON of a file that a person writes, more strictly than parse_json() (json.h): each object has a
// key once, the bytes are UTF-8, and an error has its line and column. Used by: the readers of the configuration, the
// policies, the tool definitions and the credentials. A text without a defect costs what parse_json() costs; the work
// grows with the size of the text, which the caller limits.
#pragma once
#include <string_view>

#include "supervisor/base/json/json.h"

// Errors: invalid, with the place in the text: "not JSON: line 3, column 7: a comma before }" and a remedy; "line 9,
// column 3: the key \"calls\" is there twice, first in line 2". Lines and columns begin with 1; a column is a
// character.
Result<Json> parse_json_file(std::string_view text, int max_depth = kMaxJsonDepth);
