// Letters and digits of ASCII. All other bytes stay as they are, in every locale. No errors.
#pragma once
#include <string>
#include <string_view>

constexpr char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

inline std::string lower_case(std::string_view text) {
  std::string changed(text);
  for (char& c : changed) c = lower_case(c);
  return changed;
}

// 0 to 15; -1: no hexadecimal digit.
constexpr int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char letter = lower_case(c);
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}
