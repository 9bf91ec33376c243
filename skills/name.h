// Names of skills. A skill is saved under an identifier, `filter_high_risk`, and code imports it by this name. Its
// folder and its URIs have the slug `filter-high-risk`, because the Agent Skills format (agentskills.io/specification,
// "name") allows lower case letters, digits and single hyphens only. Names with the same slug are one name.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

namespace skills {

constexpr size_t kMaxNameBytes = 64;

// Letters, digits and underscores, not beginning with a digit; at least one letter or digit; not of the form __name__.
// Errors: invalid.
Result<> check_name(std::string_view name);
// The slug of a name or of a slug. Empty if the text has other characters, no letter or digit, or is too long.
std::string slug_of(std::string_view name);
bool is_slug(std::string_view text);
// The identifier for a slug, if the skill names no other: hyphens become underscores.
std::string name_of(std::string_view slug);

}  // namespace skills
