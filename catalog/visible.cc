#include "catalog/visible.h"

#include <algorithm>

#include "supervisor/base/json/json_value.h"

namespace catalog {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct HiddenRange {
  char32_t first, last;
};
constexpr HiddenRange kHidden[] = {
    {0x00, 0x1F},      {0x7F, 0x9F},     {0x061C, 0x061C},  // controls; Arabic letter mark
    {0x200B, 0x200B},  {0x200E, 0x200F}, {0x2028, 0x202E},  // no width; directions; line ends and directions
    {0x2060, 0x206F},  {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB},  // invisible operators, isolates; byte order; annotations
    {0xE0000, 0xE007F}                                      // tags
};

bool is_hidden(char32_t c) {
  return std::any_of(std::begin(kHidden), std::end(kHidden),
                     [c](const HiddenRange& range) { return c >= range.first && c <= range.last; });
}

// Length of the sequence that begins with this byte.
size_t length_of(unsigned char lead) { return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4; }

char32_t code_point(std::string_view sequence) {
  const auto lead = static_cast<unsigned char>(sequence[0]);
  char32_t c = sequence.size() == 1 ? lead : lead & (0x7F >> sequence.size());
  for (size_t i = 1; i < sequence.size(); i++) c = c << 6 | (static_cast<unsigned char>(sequence[i]) & 0x3F);
  return c;
}

// True for nearly all texts of definitions: they need no change.
bool is_plain_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 0x7F; });
}

bool has_plain_names(const Json& object) {
  return std::all_of(object.items().begin(), object.items().end(),
                     [](const auto& item) { return is_plain_ascii(item.key()); });
}

}  // namespace

std::string visible(std::string_view text, Lines lines) {
  if (is_plain_ascii(text)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const std::string_view sequence = text.substr(at, length_of(static_cast<unsigned char>(text[at])));
    at += sequence.size();
    const char first = sequence[0];
    if (first == '\r') continue;
    if (first == '\n' || first == '\t') {
      out += lines == Lines::preserved ? first : ' ';
    } else {
      out += is_hidden(code_point(sequence)) ? kReplacement : sequence;
    }
  }
  return out;
}

void make_visible(Json& document) {
  if (document.is_string()) {
    auto& text = document.get_ref<std::string&>();
    if (!is_plain_ascii(text)) text = visible(text, Lines::preserved);
  } else if (document.is_array()) {
    for (Json& item : document) make_visible(item);
  } else if (document.is_object() && has_plain_names(document)) {
    for (Json& item : document) make_visible(item);
  } else if (document.is_object()) {
    Json result = Json::object();
    for (const auto& [name, value] : document.items()) {
      make_visible(value);
      result[visible(name, Lines::joined)] = std::move(value);
    }
    document = std::move(result);
  }
}

}  // namespace catalog
