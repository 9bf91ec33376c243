// Base64 as in RFC 4648, section 4, by libsodium: the standard alphabet, padded, no line breaks.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

std::string to_base64(std::string_view bytes);
// Errors: invalid: "not base64: byte 7", or what about the length or the padding is wrong.
Result<std::string> from_base64(std::string_view text);
