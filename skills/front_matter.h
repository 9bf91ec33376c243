// Front matter: the head of a SKILL.md between two lines `---`, as JSON.
// Read is the part of YAML that such heads are written in: scalars (plain, quoted, `|` and `>` blocks), and below a key
// one list or one map of scalars. Anchors, aliases, tags, flow collections and deeper nesting are refused, and with
// them everything by which a small document becomes a large one. Types are YAML 1.2's core schema. Errors: invalid,
// naming the line.
#pragma once
#include <string_view>

#include "supervisor/base/json_value.h"
#include "supervisor/base/result.h"

namespace skills {

struct FrontMatter {
  Json fields;            // an object, in the order of the document
  std::string_view body;  // what follows, of the text that was given
};
Result<FrontMatter> parse_front_matter(std::string_view text);

}  // namespace skills
