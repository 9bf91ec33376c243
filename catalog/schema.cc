#include "catalog/schema.h"

#include <algorithm>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace catalog {
namespace {

constexpr size_t kMaxLiteral = 64;       // bytes; a choice with a longer value is just a string
constexpr size_t kShownChoices = 8;      // shown in one line, of a choice
constexpr size_t kShownProperties = 12;  // shown in one line, of an inner object
constexpr int kMaxReferences = 16;       // references that lead one to the next

class TypeReader {
 public:
  explicit TypeReader(const Json& root) : root_(root) {}

  Type read(const Json& schema, int depth) {
    if (depth == 0 || ++types_ > kMaxTypes || !schema.is_object()) return {};
    const Json* intended = follow(schema);
    if (!intended) return {};
    if (auto value = intended->find("const"); value != intended->end()) return choice({*value});
    if (auto values = intended->find("enum"); values != intended->end() && values->is_array())
      return choice({values->begin(), values->begin() + static_cast<long>(std::min(values->size(), kMaxTypes))});
    for (const char* key : {"anyOf", "oneOf"})
      if (auto options = intended->find(key); options != intended->end() && options->is_array() && !options->empty())
        return either(*options, depth);
    auto type = intended->find("type");
    if (type != intended->end() && type->is_array()) {
      Type all{Type::Kind::either, {}, {}, {}};
      for (const Json& name : *type) add(all, named(name, *intended, depth));
      return single(std::move(all));
    }
    if (type == intended->end()) {
      if (intended->contains("properties") || intended->contains("allOf")) return object(*intended, depth);
      if (intended->contains("items")) return named("array", *intended, depth);
      return {};
    }
    return named(*type, *intended, depth);
  }

 private:
  // The schema behind "$ref": "#/..."; nullptr if the target does not exist or the references form a circle.
  const Json* follow(const Json& schema) const {
    const Json* at = &schema;
    for (int i = 0; i < kMaxReferences; i++) {
      auto reference = at->find("$ref");
      if (reference == at->end()) return at;
      if (!reference->is_string()) return nullptr;
      const auto& text = reference->get_ref<const std::string&>();
      if (!text.starts_with("#")) return nullptr;
      try {
        const Json::json_pointer pointer(text.substr(1));
        if (!root_.contains(pointer)) return nullptr;
        at = &root_.at(pointer);
      } catch (const Json::exception&) {  // not a pointer
        return nullptr;
      }
      if (!at->is_object()) return nullptr;
    }
    return nullptr;
  }

  static Type choice(const std::vector<Json>& values) {
    Type type{Type::Kind::choice, {}, {}, {}};
    for (const Json& value : values) {
      std::string text = value.is_structured() ? "" : dump_json(value);
      if (text.empty() || text.size() > kMaxLiteral || values.size() > kMaxChoices) {
        bool strings = std::all_of(values.begin(), values.end(), [](const Json& v) { return v.is_string(); });
        return Type{strings ? Type::Kind::string : Type::Kind::any, {}, {}, {}};
      }
      type.choices.push_back(std::move(text));
    }
    return type.choices.empty() ? Type{} : type;
  }

  static void add(Type& either, Type part) {
    if (std::find(either.parts.begin(), either.parts.end(), part) == either.parts.end())
      either.parts.push_back(std::move(part));
  }
  static Type single(Type either) {
    if (either.parts.empty()) return {};
    for (const Type& part : either.parts)
      if (part.kind == Type::Kind::any) return {};
    return either.parts.size() == 1 ? Type(either.parts.front()) : either;
  }

  Type either(const Json& options, int depth) {
    Type all{Type::Kind::either, {}, {}, {}};
    for (const Json& option : options) add(all, read(option, depth - 1));
    return single(std::move(all));
  }

  Type named(const Json& name, const Json& schema, int depth) {
    if (name == "string") return {Type::Kind::string, {}, {}, {}};
    if (name == "integer") return {Type::Kind::integer, {}, {}, {}};
    if (name == "number") return {Type::Kind::number, {}, {}, {}};
    if (name == "boolean") return {Type::Kind::boolean, {}, {}, {}};
    if (name == "null") return {Type::Kind::null, {}, {}, {}};
    // Some servers write a type of their programming language ("dict") where JSON Schema says "object".
    if (name == "object" || (name != "array" && schema.contains("properties"))) return object(schema, depth);
    if (name != "array") return {};
    Type type{Type::Kind::array, {}, {}, {}};
    if (auto items = schema.find("items"); items != schema.end()) {
      Type item = read(*items, depth - 1);
      if (item.kind != Type::Kind::any) type.parts.push_back(std::move(item));
    }
    return type;
  }

  Type object(const Json& schema, int depth) {
    Type type{Type::Kind::object, {}, {}, {}};
    collect(schema, type, depth);
    if (auto all = schema.find("allOf"); all != schema.end() && all->is_array()) {
      for (const Json& item : *all)
        if (const Json* part = item.is_object() ? follow(item) : nullptr) collect(*part, type, depth);
    }
    type.open = is_open(schema, type);
    std::stable_partition(type.properties.begin(), type.properties.end(),
                          [](const Property& p) { return p.need == Property::Need::required; });
    return type;
  }

  // An object that does not say which members it has takes any, as one that allows more does. JSON Schema would let in
  // unknown members beside `properties`, too: there they are nearly always mistakes.
  static bool is_open(const Json& schema, const Type& type) {
    if (schema.contains("patternProperties") || type.properties.size() == kMaxProperties) return true;
    if (auto more = schema.find("additionalProperties"); more != schema.end()) return *more != Json(false);
    return type.properties.empty() && !schema.contains("properties");
  }

  void collect(const Json& schema, Type& type, int depth) {
    auto properties = schema.find("properties");
    if (properties == schema.end() || !properties->is_object()) return;
    std::vector<std::string> names;
    if (auto required = schema.find("required"); required != schema.end() && required->is_array()) {
      for (const Json& item : *required) {
        if (!item.is_string()) continue;
        const auto& name = item.get_ref<const std::string&>();
        if (properties->contains(name) && std::find(names.begin(), names.end(), name) == names.end())
          names.push_back(name);
      }
    }
    const size_t needed = names.size();
    for (const auto& [name, unused] : properties->items())
      if (std::find(names.begin(), names.begin() + static_cast<long>(needed), name) ==
          names.begin() + static_cast<long>(needed))
        names.push_back(name);
    for (size_t i = 0; i < names.size() && type.properties.size() < kMaxProperties; i++) {
      const Json& schema_of = (*properties)[names[i]];
      Property property;
      property.name = names[i];
      property.need = i < needed ? Property::Need::required : Property::Need::optional;
      property.type = read(schema_of, depth - 1);
      if (schema_of.is_object()) {
        if (auto about = schema_of.find("description"); about != schema_of.end() && about->is_string())
          property.description = about->get<std::string>();
        if (auto standard = schema_of.find("default"); standard != schema_of.end())
          property.standard = dump_json(*standard);
      }
      type.properties.push_back(std::move(property));
    }
  }

  const Json& root_;
  size_t types_ = 0;
};

std::string choice_literal(const std::string& text, Dialect dialect) {
  if (dialect == Dialect::javascript) return text;
  if (text == "true") return "True";
  if (text == "false") return "False";
  return text == "null" ? "None" : text;
}

}  // namespace

bool Type::operator==(const Type& other) const {
  return kind == other.kind && choices == other.choices && parts == other.parts && properties == other.properties &&
         open == other.open;
}

Type read_type(const Json& schema) { return TypeReader(schema).read(schema, kMaxTypeDepth); }

std::string type_text(const Type& type, Dialect dialect, int depth) {
  const bool python = dialect == Dialect::python;
  switch (type.kind) {
    case Type::Kind::any:
      return python ? "Any" : "any";
    case Type::Kind::null:
      return python ? "None" : "null";
    case Type::Kind::boolean:
      return python ? "bool" : "boolean";
    case Type::Kind::integer:
      return python ? "int" : "number";
    case Type::Kind::number:
      return python ? "float" : "number";
    case Type::Kind::string:
      return python ? "str" : "string";
    case Type::Kind::choice: {
      std::string text;
      for (size_t i = 0; i < type.choices.size() && i < kShownChoices; i++)
        text += (i == 0 ? "" : " | ") + choice_literal(type.choices[i], dialect);
      return type.choices.size() > kShownChoices ? text + " | ..." : text;
    }
    case Type::Kind::either: {
      std::string text;
      for (const Type& part : type.parts) text += (text.empty() ? "" : " | ") + type_text(part, dialect, depth);
      return text;
    }
    case Type::Kind::array: {
      if (type.parts.empty()) return python ? "list" : "any[]";
      const Type& item = type.parts.front();
      std::string text = type_text(item, dialect, depth);
      if (python) return "list[" + text + "]";
      const bool several = item.kind == Type::Kind::either || item.kind == Type::Kind::choice;
      return several ? "(" + text + ")[]" : text + "[]";
    }
    case Type::Kind::object: {
      if (type.properties.empty() || depth <= 0) return python ? "dict" : "Object";
      std::string text = "{";
      for (size_t i = 0; i < type.properties.size() && i < kShownProperties; i++) {
        const Property& property = type.properties[i];
        text += (i == 0 ? "" : ", ") + property.name + (property.need == Property::Need::optional ? "?: " : ": ") +
                type_text(property.type, dialect, depth - 1);
      }
      return text + (type.properties.size() > kShownProperties ? ", ...}" : "}");
    }
  }
  return "any";
}

}  // namespace catalog
