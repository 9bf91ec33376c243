#include "catalog/packed.h"

#include <array>

namespace catalog {
namespace {

// Byte i + 1. Of those that fit, the first is taken: longer ones stand before their parts.
constexpr auto kFragments = std::to_array<std::string_view>({
    R"(","type":"string"},")",
    R"(","type":"integer"},")",
    R"(","type":"string"}},"required":[")",
    R"(","type":"integer"}},"required":[")",
    R"(","type":"boolean"},")",
    R"("items":{"type":"string"},"type":"array"},")",
    R"({"inputSchema":{"properties":{")",
    R"("],"type":"object"}})",
    R"("},"type":"object"})",
    R"("type":"string"})",
    R"("type":"integer"})",
    R"("type":"number"})",
    R"("type":"boolean"})",
    R"("type":"object"})",
    R"("type":"array"})",
    R"(,"outputSchema":{"properties":{")",
    R"("additionalProperties":false,)",
    R"("annotations":{"readOnlyHint":true)",
    R"("required":[")",
    R"("properties":{")",
    R"(":{"description":")",
    R"("description":")",
    R"("default":)",
    R"("minimum":)",
    R"("maximum":)",
    R"("enum":[")",
    R"("items":{)",
    R"("type":")",
    R"("},")",
    R"(":{")",
    R"(",")",
});
static_assert(kFragments.size() < ' ');

}  // namespace

std::string packed(std::string_view json) {
  std::string text;
  while (!json.empty()) {
    const char first = json.front();
    size_t found = kFragments.size();
    if (first == '"' || first == ',' || first == '{')  // what a fragment begins with
      for (found = 0; found < kFragments.size() && !json.starts_with(kFragments[found]);) found++;
    if (found < kFragments.size()) {
      text += static_cast<char>(found + 1);
      json.remove_prefix(kFragments[found].size());
    } else {
      text += first;
      json.remove_prefix(1);
    }
  }
  return text;
}

std::string unpacked(std::string_view text) {
  std::string json;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte != 0 && byte <= kFragments.size()) {
      json += kFragments[byte - 1];
    } else {
      json += c;
    }
  }
  return json;
}

}  // namespace catalog
