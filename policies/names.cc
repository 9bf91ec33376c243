#include "policies/names.h"

#include <algorithm>

#include "supervisor/base/ascii.h"

namespace policies {

bool matches_pattern(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = pattern.npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      p++, t++;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == pattern.npos;
}

bool valid_name(std::string_view name) {
  return valid_workspace_name(name) && std::none_of(name.begin(), name.end(), is_upper);
}

bool valid_workspace_name(std::string_view name) {
  if (name.empty() || name.size() > 64 || name[0] == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return is_word(c) || c == '.' || c == '-'; });
}

}  // namespace policies
