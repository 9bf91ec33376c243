// Base64 as in RFC 4648, section 4, by libsodium: the standard alphabet, padded, no line breaks.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

std::string to_base64(std::string_view bytes);
// Errors: invalid: "not base64: byte 7", or what about the length or the padding is wrong.
Result<std::string> from_base64(std::string_view text);
// The same for text that people and programs send: with line ends and blanks as base64(1) prints them, without padding,
// or in the alphabet for URLs. Errors: as above; the byte counts without line ends and blanks.
Result<std::string> from_sent_base64(std::string_view text);
