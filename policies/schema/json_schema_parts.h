// JsonSchema::Parts: written by the compiler of a JSON Schema, read by its checks; see json_schema.h.
#pragma once
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
  std::unordered_map<Node, std::string> dynamic_names;  // where the target is a dynamic anchor
  bool has_unevaluated = false;
};

}  // namespace policies
