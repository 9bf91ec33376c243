#include "catalog/packed.h"

#include <array>
#include <bit>
#include <cstdint>

namespace catalog {
namespace {

// A fragment's byte is its index + 1. The first fragment that fits is used: longer fragments stand before their parts.
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

// For each pair of first bytes, the fragments that begin with it, one bit each.
class Beginnings {
 public:
  Beginnings() {
    for (size_t i = 0; i < kFragments.size(); i++) bits_[slot(kFragments[i])] |= uint32_t{1} << i;
  }
  uint32_t of(std::string_view text) const { return bits_[slot(text)]; }

 private:
  static size_t slot(std::string_view text) {
    return static_cast<unsigned char>(text[0]) % 128 * 128u + static_cast<unsigned char>(text[1]) % 128;
  }
  std::array<uint32_t, size_t{128} * 128> bits_{};
};

}  // namespace

std::string packed(std::string_view json) {
  static const Beginnings beginnings;
  std::string text;
  text.reserve(json.size());
  for (size_t at = 0; at < json.size();) {
    const std::string_view rest = json.substr(at);
    uint32_t candidates = rest.size() < 2 ? 0 : beginnings.of(rest);
    while (candidates != 0 && !rest.starts_with(kFragments[static_cast<size_t>(std::countr_zero(candidates))]))
      candidates &= candidates - 1;
    if (candidates != 0) {
      const auto match = static_cast<size_t>(std::countr_zero(candidates));
      text += static_cast<char>(match + 1);
      at += kFragments[match].size();
    } else {
      text += rest[0];
      at++;
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
