// PiiShape: one built-in kind of personal data or secret: an RE2 expression, and a function that checks each match.
// Source: the tables in pii_*.cc. Used by: pii/detect.cc.
#pragma once
#include <optional>
#include <span>
#include <string_view>

namespace policies {

struct PiiSpan {
  size_t begin = 0, end = 0;
};

struct PiiShape {
  const char* type;
  const char* expression;  // without capturing groups
  // The finding in a match `shape`; empty if the match is not personal data. May read the text around the match.
  std::optional<PiiSpan> (*accept)(std::string_view text, PiiSpan shape);
  // For a match that is not a finding: no other shape begins before the returned position. So long runs
  // are not examined from each of their members.
  size_t (*beyond)(std::string_view text, PiiSpan shape) = nullptr;
};

// The order decides between shapes that begin at the same place.
std::span<const PiiShape> pii_shapes();        // recognised by their form
std::span<const PiiShape> announced_shapes();  // recognised by a word before them
std::span<const PiiShape> secret_shapes();
std::span<const PiiShape> announced_secret_shapes();

}  // namespace policies
