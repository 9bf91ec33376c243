// Letters and digits of ASCII. Bytes of other characters are neither, and stay as they are, in every locale. No errors.
#pragma once
#include <string>
#include <string_view>

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_letter(char c) { return is_lower(c) || is_upper(c); }
constexpr bool is_alnum(char c) { return is_letter(c) || is_digit(c); }
constexpr bool is_lower_or_digit(char c) { return is_lower(c) || is_digit(c); }
// A letter, a digit or '_': what names of many languages have.
constexpr bool is_word(char c) { return is_alnum(c) || c == '_'; }

constexpr char lower_case(char c) { return is_upper(c) ? static_cast<char>(c + ('a' - 'A')) : c; }
constexpr char upper_case(char c) { return is_lower(c) ? static_cast<char>(c - ('a' - 'A')) : c; }

inline std::string lower_case(std::string_view text) {
  std::string changed(text);
  for (char& c : changed) c = lower_case(c);
  return changed;
}
inline std::string upper_case(std::string_view text) {
  std::string changed(text);
  for (char& c : changed) c = upper_case(c);
  return changed;
}
// Whether two texts differ in nothing but the case of letters.
constexpr bool is_same_word(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); i++)
    if (lower_case(a[i]) != lower_case(b[i])) return false;
  return true;
}

// 0 to 15; -1: no hexadecimal digit.
constexpr int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  const char letter = lower_case(c);
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}
constexpr bool is_hex(char c) { return hex_digit(c) >= 0; }
constexpr bool is_lower_hex(char c) { return is_hex(c) && !is_upper(c); }
