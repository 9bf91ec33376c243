// Percent-encoding of URIs (RFC 3986, section 2.1).
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

// %41 becomes A. Errors: invalid.
Result<std::string> decode_percent(std::string_view text);
// For the path of a URI: writes each byte as %XX, except unreserved characters and '/'.
std::string encode_percent(std::string_view path);
