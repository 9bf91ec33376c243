// Shapes: the built-in kinds of personal data and secrets, each an RE2 expression and what else must hold of it.
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
  const char* expression;  // no groups that capture
  // What of the text [begin, end) is the finding; nothing if it is none. May look around.
  std::optional<PiiSpan> (*accept)(std::string_view text, PiiSpan shape);
  // Where nothing of any shape can have begun before, when it is none: long runs are not looked at from each of their
  // members.
  size_t (*beyond)(std::string_view text, PiiSpan shape) = nullptr;
};

// The order decides between shapes that begin at the same place.
std::span<const PiiShape> pii_shapes();        // known by their form
std::span<const PiiShape> announced_shapes();  // known by a word before them
std::span<const PiiShape> secret_shapes();
std::span<const PiiShape> announced_secret_shapes();

}  // namespace policies
