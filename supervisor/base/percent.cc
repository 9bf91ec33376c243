#include "supervisor/base/percent.h"

#include <fmt/format.h>

#include "supervisor/base/ascii.h"

Result<std::string> decode_percent(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    bool full = i + 2 < text.size();
    int high = full ? hex_digit(text[i + 1]) : -1;
    int low = full ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0)
      return fail(Code::invalid, "the URI has a '%' without two hexadecimal digits", "write '%' as %25");
    plain += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return plain;
}

std::string encode_percent(std::string_view path) {
  std::string text;
  for (char c : path) {
    bool plain = is_alnum(c) || std::string_view("-._~/").find(c) != std::string_view::npos;
    if (plain) {
      text += c;
    } else {
      text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return text;
}
