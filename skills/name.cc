#include "skills/name.h"

#include <algorithm>

#include "supervisor/base/ascii.h"

namespace skills {
Result<> check_name(std::string_view name) {
  auto wrong = [](std::string_view hint) {
    return fail(Code::invalid, "Invalid skill name. Use alphanumeric and underscores only.", std::string(hint));
  };
  if (name.empty() || name.size() > kMaxNameBytes) return wrong("a name has 1 to 64 characters");
  const bool good =
      std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
  if (!good) return wrong("as in filter_active_users");
  if (is_digit(name[0])) return wrong("do not begin with a digit: code imports the skill by this name");
  if (slug_of(name).empty()) return wrong("use at least one letter");
  if (name.starts_with("__") && name.ends_with("__"))
    return wrong("Python reserves names of this form: __init__, __doc__");
  return {};
}

std::string slug_of(std::string_view name) {
  if (name.size() > kMaxNameBytes) return {};
  std::string slug;
  for (char c : name) {
    if (is_letter(c) || is_digit(c)) {
      slug += is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (c != '_' && c != '-') {
      return {};
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  if (!slug.empty() && slug.back() == '-') slug.pop_back();
  return slug;
}

bool is_slug(std::string_view text) { return !text.empty() && slug_of(text) == text; }

std::string name_of(std::string_view slug) {
  std::string name(slug);
  std::replace(name.begin(), name.end(), '-', '_');
  if (!name.empty() && is_digit(name[0])) name.insert(0, 1, '_');
  return name;
}

}  // namespace skills
