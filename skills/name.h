// Names of skills. A skill is saved under an identifier, `filter_high_risk`, by which code imports it; its folder and
// its URIs say `filter-high-risk`, because the Agent Skills format (agentskills.io/specification, "name") allows lower
// case letters, digits and single hyphens only. Names that differ in nothing else are one name.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

namespace skills {

constexpr size_t kMostNameBytes = 64;

// Letters, digits and underscores, not beginning with a digit; at least one letter or digit. Errors: invalid.
Result<> check_name(std::string_view name);
// Of a name, or of a slug itself; empty when there is no letter or digit in it, or too many.
std::string slug_of(std::string_view name);
bool is_slug(std::string_view text);
// The identifier that a slug stands for when nothing else is known: hyphens become underscores.
std::string name_of(std::string_view slug);

}  // namespace skills
