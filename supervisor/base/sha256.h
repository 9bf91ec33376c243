// SHA-256 by libsodium. No errors.
#pragma once
#include <string>
#include <string_view>

// 64 hexadecimal digits in small letters.
std::string sha256_hex(std::string_view bytes);
