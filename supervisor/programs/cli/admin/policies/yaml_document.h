// read_yaml(): a YAML document as JSON, with the line of each value. The part of YAML 1.2 that JSON has: no tags,
// anchors or aliases, and keys that are texts. Plain scalars are null, true, false, numbers or texts by the core schema
// (https://yaml.org/spec/1.2.2/, section 10.3). Source: libyaml's events. Used by: policy_import.cc, ../workflows/.
// Errors: invalid, with the line: "line 4: ...".
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/result.h"

namespace admin {

struct YamlDocument {
  Json value;
  std::map<std::string, size_t> lines;  // by place: "steps[2].config.tool" -> 14
};

constexpr size_t kMaxYamlBytes = 1 << 20;
constexpr size_t kMaxYamlValues = 100'000;

Result<YamlDocument> read_yaml(std::string_view text);
// A file of at most kMaxYamlBytes. Errors name the file.
Result<std::string> read_document_text(const std::string& file);
// A file of YAML, or of JSON, which then has no lines. Errors name the file; not_found, too.
Result<YamlDocument> read_document_file(const std::string& file);

}  // namespace admin
