#include "catalog/python_names.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "supervisor/base/ascii.h"

namespace catalog {
namespace {

constexpr size_t kMaxName = 100;

// Python's keywords, and the name of the call function in a stub. Sorted.
constexpr auto kReservedNames = std::to_array<std::string_view>(
    {"False", "None",   "True",     "__debug__", "_call", "and",  "as",     "assert",   "async",   "await",
     "break", "class",  "continue", "def",       "del",   "elif", "else",   "except",   "finally", "for",
     "from",  "global", "if",       "import",    "in",    "is",   "lambda", "nonlocal", "not",     "or",
     "pass",  "raise",  "return",   "try",       "while", "with", "yield"});
static_assert(std::is_sorted(kReservedNames.begin(), kReservedNames.end()));

std::string python_name(std::string_view name) {
  std::string text;
  for (char c : name.substr(0, kMaxName)) {
    const bool is_good = is_word(c);
    text += is_good ? c : '_';
  }
  if (text.empty() || is_digit(text[0])) text.insert(0, "x");
  if (std::binary_search(kReservedNames.begin(), kReservedNames.end(), text)) text += '_';
  return text;
}

}  // namespace

std::vector<std::string> python_parameters(const std::vector<Property>& properties) {
  // A property that needs no change has its own name, even if an earlier property would become the same name.
  std::set<std::string, std::less<>> own;
  for (const Property& property : properties)
    if (python_name(property.name) == property.name) own.insert(property.name);
  std::vector<std::string> names;
  for (const Property& property : properties) {
    const std::string plain = python_name(property.name);
    std::string name = plain;
    for (int i = 2; plain != property.name && own.contains(name); i++) name = plain + "_" + std::to_string(i);
    own.insert(name);
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace catalog
