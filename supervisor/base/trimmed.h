// Text without the blanks around it. `blanks`: the characters to remove.
#pragma once
#include <string_view>

inline std::string_view trimmed_end(std::string_view text, std::string_view blanks = " \t") {
  return text.substr(0, text.find_last_not_of(blanks) + 1);  // npos + 1 is 0
}

inline std::string_view trimmed(std::string_view text, std::string_view blanks = " \t") {
  text = trimmed_end(text, blanks);
  const size_t first = text.find_first_not_of(blanks);
  return first == text.npos ? std::string_view() : text.substr(first);
}
