// Front matter: the head of a SKILL.md between two lines `---`, as JSON.
// The parser reads a part of YAML: scalars (plain, quoted, `|` and `>` blocks), and below a key one list or one map of
// scalars. Anchors, aliases, tags, flow collections and deeper nesting are refused, so a small document cannot become a
// large value. Types follow YAML 1.2's core schema. Used by: skill.cc. Errors: invalid, naming the line.
#pragma once
#include <string_view>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/result.h"

namespace skills {

struct FrontMatter {
  Json fields;            // an object, in the order of the document
  std::string_view body;  // the rest of the given text
};
Result<FrontMatter> parse_front_matter(std::string_view text);

}  // namespace skills
