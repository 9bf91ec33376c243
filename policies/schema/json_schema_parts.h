// JsonSchema::Parts: written by the compiler of a JSON Schema, read by its checks; see json_schema.h.
#pragma once
#include <re2/re2.h>

#include <map>
#include <memory>
#include <unordered_map>

#include "policies/schema/json_schema.h"

namespace policies {

struct JsonSchema::Parts {
  using Node = const Json*;
  struct Resource {  // a schema with an $id, or the document
    std::string uri;
    std::map<std::string, Node, std::less<>> anchors, dynamic_anchors;
  };
  std::unordered_map<Node, Resource> resources;
  std::unordered_map<Node, Node> resource_of;  // the resource of every schema
  std::unordered_map<Node, Node> targets;      // by the schema that has the $ref; nullptr: every value fits
  std::unordered_map<Node, Node> dynamic_targets;
  std::unordered_map<Node, std::string> dynamic_names;           // where the target is a dynamic anchor
  std::unordered_map<Node, std::unique_ptr<re2::RE2>> patterns;  // by the schema that has the `pattern`
  // The patterns of patternProperties, in their order, by the value of patternProperties. nullptr: not supported, fits
  // no name.
  std::unordered_map<Node, std::vector<std::unique_ptr<re2::RE2>>> name_patterns;
  bool has_unevaluated = false;
};

// The ECMA-262 pattern in the syntax of RE2: changes \uXXXX, \cX, \/ and named groups.
std::string re2_from_ecma(std::string_view pattern);

}  // namespace policies
