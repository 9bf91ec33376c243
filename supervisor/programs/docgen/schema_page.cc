#include "supervisor/programs/docgen/schema_page.h"
#include "supervisor/base/ascii.h"

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/version.h"

namespace docgen {
namespace {

class SchemaKeys {
 public:
  explicit SchemaKeys(const Json& schema) : document_(schema) { add_properties(schema, ""); }
  std::string text() && { return std::move(text_); }

 private:
  // "#/$defs/NAME" of this schema, followed; other schemas as they are.
  const Json& resolved(const Json& schema) const {
    const auto it = schema.find("$ref");
    if (it == schema.end()) return schema;
    const std::string name = it->get<std::string>();
    return document_.at(Json::json_pointer(name.substr(1)));
  }

  static std::string words_of(const Json& list) {
    std::string words;
    for (const auto& item : list)
      words += (words.empty() ? "" : "|") + (item.is_string() ? item.get<std::string>() : item.dump());
    return words;
  }

  std::string kind_of(const Json& schema) const {
    if (schema.contains("enum")) return words_of(schema["enum"]);
    if (schema.contains("const")) return words_of(Json::array({schema["const"]}));
    for (const char* choice : {"oneOf", "anyOf"}) {
      if (!schema.contains(choice) || schema.contains("properties")) continue;
      std::string kinds;
      for (const auto& item : schema[choice]) kinds += (kinds.empty() ? "" : ", or ") + kind_of(resolved(item));
      return kinds;
    }
    const Json type = schema.value("type", Json());
    std::string kind = type.is_array() ? words_of(type) : type.is_string() ? type.get<std::string>() : "";
    if (type == "array" && schema.contains("items")) kind = "list of " + kind_of(resolved(schema["items"]));
    if (schema.contains("minimum") && schema.contains("maximum"))
      kind += " " + schema["minimum"].dump() + ".." + schema["maximum"].dump();
    return kind;
  }

  void add_key(const std::string& path, const Json& schema) {
    const Json& own = resolved(schema);
    const Json& described = schema.contains("description") ? schema : own;
    const std::string kind = kind_of(own);
    text_ += ".TP\n" + bold(path) + (kind.empty() ? "" : " " + italic(kind)) + "\n";
    text_ += roff(described.value("description", std::string("An object:"))) + "\n";
    add_properties(own, path + ".");
    if (own.contains("items")) add_properties(resolved(own["items"]), path + "[].");
    if (const auto it = own.find("additionalProperties"); it != own.end() && it->is_object())
      add_properties(resolved(*it), path + ".NAME.");
  }

  void add_properties(const Json& schema, const std::string& prefix) {
    const auto properties = schema.find("properties");
    if (properties == schema.end()) return;
    for (const auto& [key, value] : properties->items()) add_key(prefix + key, value);
  }

  const Json& document_;
  std::string text_;
};

// Text that is shown as it is, with its line ends.
std::string verbatim(const std::string& text) { return ".PP\n.nf\n" + roff(text) + "\n.fi\n"; }

}  // namespace

std::string schema_page(const std::string& name, const Json& schema, const ManualText& text) {
  std::string out = ".\\\" Generated from the JSON schema; see supervisor/programs/docgen.\n";
  out += ".TH " + upper_case(roff(name)) + " 5 \"\" \"Warder " + kWarderVersion + "\" \"Warder\"\n";
  out += ".SH NAME\n" + roff(name) + " \\- " + roff(text.summary) + "\n";
  out += ".SH DESCRIPTION\n" + roff(schema.value("description", std::string())) + "\n";
  for (size_t i = 0; i + 1 < text.sections.size(); i++)
    out += ".SH " + upper_case(text.sections[i].first) + "\n" + paragraphs(text.sections[i].second);
  out += ".SH KEYS\n" + SchemaKeys(schema).text();
  if (schema.contains("examples")) {
    out += ".SH EXAMPLE\n";
    for (const auto& example : schema["examples"]) out += verbatim(example.dump(2));
  }
  const auto& [heading, body] = text.sections.back();
  return out + ".SH " + upper_case(heading) + "\n" + paragraphs(body);
}

}  // namespace docgen
