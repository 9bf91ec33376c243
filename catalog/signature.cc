#include "catalog/signature.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "catalog/python_names.h"
#include "catalog/schema.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace catalog {
namespace {

constexpr size_t kMaxParametersInSignature = 16;  // parameters, functions
constexpr size_t kMaxStandardBytes = 24;          // longer defaults are not shown

std::string with_functions(std::string_view name, const Json& functions) {
  std::string text = fmt::format("{}.{{", name);
  for (size_t i = 0; i < functions.size(); i++) {
    if (!functions[i].is_string()) continue;
    if (i == kMaxParametersInSignature || text.size() > kMaxSignatureBytes / 2) {
      text += fmt::format(", +{}", functions.size() - i);
      break;
    }
    text += (i == 0 ? "" : ", ") + functions[i].get_ref<const std::string&>();
  }
  return text + "}";
}

}  // namespace

std::string signature(std::string_view name, const Json& rest) {
  const auto input = rest.find("inputSchema");
  const auto functions = rest.find("functions");
  if (input == rest.end() && functions != rest.end() && functions->is_array() && !functions->empty())
    return with_functions(name, *functions);
  std::string text = std::string(name) + "(";
  if (input == rest.end()) text += "...";
  const Type parameters = input == rest.end() ? Type{} : read_type(*input);
  const std::vector<std::string> names = python_parameters(parameters.properties);
  size_t shown_count = 0;
  for (const Property& parameter : parameters.properties) {
    if (shown_count == kMaxParametersInSignature || text.size() > kMaxSignatureBytes * 2 / 3) {
      text += fmt::format(", +{}", parameters.properties.size() - shown_count);
      break;
    }
    if (shown_count > 0) text += ", ";
    text += names[shown_count++];
    if (parameter.need == Property::Need::optional) text += '?';
    text += ": " + type_text(parameter.type, Dialect::python, 2);
    if (!parameter.standard.empty() && parameter.standard.size() <= kMaxStandardBytes && parameter.standard != "null")
      text += " = " + parameter.standard;
  }
  text += ")";
  if (const auto output = rest.find("outputSchema"); output != rest.end())
    text += " -> " + type_text(read_type(*output), Dialect::python, 1);
  if (text.size() > kMaxSignatureBytes) {
    text.resize(whole_utf8_prefix(std::string_view(text).substr(0, kMaxSignatureBytes - 3)));
    text += "\xE2\x80\xA6";
  }
  return text;
}

}  // namespace catalog
