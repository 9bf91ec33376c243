#include "catalog/searched.h"

#include "catalog/reader.h"
#include "supervisor/base/json/json_value.h"

namespace catalog {
namespace {

constexpr int kMaxSchemaDepth = 8;  // deeper parameters are not searched for

// Adds the names of parameters, and the descriptions of parameters.
void collect_parameters(const Json& schema, SearchedTexts& texts, int depth) {
  if (depth == 0 || !schema.is_object() || texts.parameters.size() + texts.about.size() > kMaxDefinitionBytes) return;
  if (auto properties = schema.find("properties"); properties != schema.end() && properties->is_object()) {
    for (const auto& [name, property] : properties->items()) {
      texts.parameters.append(name).append(" ");
      if (!property.is_object()) continue;
      if (auto text = property.find("description"); text != property.end() && text->is_string())
        texts.about.append(text->get_ref<const std::string&>()).append(" ");
      collect_parameters(property, texts, depth - 1);
    }
  }
  if (auto items = schema.find("items"); items != schema.end()) collect_parameters(*items, texts, depth - 1);
}

std::string collect_strings(const Json& rest, std::initializer_list<const char*> keys) {
  std::string text;
  for (const char* key : keys) {
    auto value = rest.find(key);
    if (value == rest.end()) continue;
    if (value->is_string()) text.append(value->get_ref<const std::string&>()).append(" ");
    if (!value->is_array()) continue;
    for (const Json& item : *value)
      if (item.is_string()) text.append(item.get_ref<const std::string&>()).append(" ");
  }
  return text;
}

}  // namespace

SearchedTexts searched_texts(const Json& rest) {
  SearchedTexts texts;
  texts.title = collect_strings(rest, {"title"});
  texts.uses = collect_strings(rest, {"functions", "use_cases", "usage"});
  if (auto schema = rest.find("inputSchema"); schema != rest.end()) collect_parameters(*schema, texts, kMaxSchemaDepth);
  return texts;
}

}  // namespace catalog
