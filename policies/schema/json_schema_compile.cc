#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <list>

#include "policies/schema/json_schema_parts.h"
#include "supervisor/base/exact_number.h"
#include "supervisor/base/json.h"
#include "supervisor/base/log.h"

namespace policies {
namespace {

constexpr size_t kMaxSchemaPatternBytes = 4096;
constexpr size_t kMaxSchemaPatterns = 500;
constexpr int64_t kSchemaPatternMemory = 1 << 20;

constexpr auto kOne = std::to_array<std::string_view>({"additionalItems", "additionalProperties", "contains", "else",
                                                       "if", "items", "not", "propertyNames", "then",
                                                       "unevaluatedItems", "unevaluatedProperties", "contentSchema"});
constexpr auto kLists = std::to_array<std::string_view>({"allOf", "anyOf", "oneOf", "prefixItems"});
constexpr auto kMaps =
    std::to_array<std::string_view>({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"});
constexpr auto kCounts = std::to_array<std::string_view>(
    {"maxContains", "maxItems", "maxLength", "maxProperties", "minContains", "minItems", "minLength", "minProperties"});
constexpr auto kNumberKeywords =
    std::to_array<std::string_view>({"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"});
constexpr auto kTypes =
    std::to_array<std::string_view>({"array", "boolean", "integer", "null", "number", "object", "string"});

template <size_t n>
bool is_among(const std::array<std::string_view, n>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::string escaped(std::string_view token) {
  std::string text;
  for (char c : token) text += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return text;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string percent_decoded(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 && hex_value(text[i + 2]) >= 0) {
      plain += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool is_absolute(std::string_view uri) {
  const size_t colon = uri.find(':');
  return colon != uri.npos && colon > 0 && uri.substr(0, colon).find_first_of("/?#") == uri.npos;
}

// RFC 3986, 5.2, without dot segments: schemas of tools do not use them.
std::string resolved(const std::string& base, std::string_view reference) {
  if (is_absolute(reference) || base.empty()) return std::string(reference);
  if (reference.empty()) return base;
  const size_t scheme = base.find(':');
  const bool hierarchical = scheme != base.npos && base.compare(scheme, 3, "://") == 0;
  const size_t path = hierarchical ? base.find('/', scheme + 3) : (scheme == base.npos ? 0 : scheme + 1);
  if (reference.front() == '/') return (path == base.npos ? base : base.substr(0, path)) + std::string(reference);
  if (path == base.npos) return base + "/" + std::string(reference);
  const size_t slash = base.rfind('/');
  if (slash == base.npos || slash < path) return base.substr(0, path) + std::string(reference);
  return base.substr(0, slash + 1) + std::string(reference);
}

}  // namespace

std::string re2_from_ecma(std::string_view pattern) {
  std::string text;
  for (size_t i = 0; i < pattern.size(); i++) {
    const std::string_view rest = pattern.substr(i);
    if (rest.starts_with("(?<") && rest.size() > 3 && rest[3] != '=' && rest[3] != '!') {
      text += "(?P<";
      i += 2;
    } else if (rest[0] == '\\' && rest.size() > 5 && rest[1] == 'u' &&
               std::all_of(rest.begin() + 2, rest.begin() + 6, [](char c) { return hex_value(c) >= 0; })) {
      text += "\\x{" + std::string(rest.substr(2, 4)) + "}";
      i += 5;
    } else if (rest[0] == '\\' && rest.size() > 2 && rest[1] == 'c') {
      text += fmt::format("\\x{{{:x}}}", static_cast<unsigned char>(rest[2]) % 32);
      i += 2;
    } else if (rest[0] == '\\' && rest.size() > 1) {
      if (rest[1] == '/' || rest[1] == '-') {
        text += rest[1] == '/' ? "/" : "\\-";
      } else {
        text += rest.substr(0, 2);
      }
      i++;
    } else {
      text += rest[0];
    }
  }
  return text;
}

// SchemaCompiler: walks the document once, checks keywords, compiles patterns, notes resources and anchors. Then it
// resolves the references.
class SchemaCompiler {
 public:
  SchemaCompiler(JsonSchema& into, JsonSchema::Unknown unknown)
      : into_(into), parts_(*into.parts_), unknown_(unknown) {}

  Result<> run() {
    parts_.resources[&into_.document_];
    CHECKED(walk(into_.document_, &into_.document_, "#"));
    for (const auto& [schema, where] : references_) CHECKED(resolve(*schema, where));
    return {};
  }

 private:
  using Node = JsonSchema::Parts::Node;

  static tl::unexpected<Error> wrong(const std::string& where, std::string_view what) {
    return fail(Code::invalid, fmt::format("{}: {}", printable(where, 200), what));
  }

  // Handles a part that cannot be checked: returns an error, or adds the part to unchecked().
  Result<> unknown(const std::string& where, std::string what) {
    if (unknown_ == JsonSchema::Unknown::refuse) return wrong(where, what);
    if (into_.unchecked_.size() < 20) into_.unchecked_.push_back(fmt::format("{}: {}", printable(where, 200), what));
    return {};
  }

  Result<> walk(const Json& schema, Node resource, const std::string& where) {
    if (++count_ > JsonSchema::kMaxSchemas)
      return wrong(where, fmt::format("more than {} schemas", JsonSchema::kMaxSchemas));
    if (!schema.is_object() && !schema.is_boolean()) return wrong(where, "a schema is an object, true or false");
    if (auto id = schema.find("$id"); id != schema.end() && schema.is_object()) {
      if (!id->is_string()) return wrong(where, "$id: not a string");
      std::string_view text = id->get_ref<const std::string&>();
      if (text.ends_with('#')) text.remove_suffix(1);
      const std::string uri = resolved(parts_.resources[resource].uri, text);
      resource = &schema;
      parts_.resources[resource].uri = uri;
      by_uri_.emplace(uri, resource);
    }
    parts_.resource_of[&schema] = resource;
    if (schema.is_boolean()) return {};
    for (const auto& [key, value] : schema.items()) CHECKED(keyword(schema, resource, where, key, value));
    return {};
  }

  Result<> keyword(const Json& schema, Node resource, const std::string& where, const std::string& key,
                   const Json& value) {
    const std::string at = where + "/" + escaped(key);
    if (is_among(kOne, key)) {
      if (key == "items" && value.is_array()) return walk_list(value, resource, at);
      if (key.starts_with("unevaluated")) parts_.has_unevaluated = true;
      return walk(value, resource, at);
    }
    if (is_among(kLists, key)) return walk_list(value, resource, at);
    if (is_among(kMaps, key)) {
      if (!value.is_object()) return wrong(at, "not an object of schemas");
      for (const auto& [name, sub] : value.items()) CHECKED(walk(sub, resource, at + "/" + escaped(name)));
      return key == "patternProperties" ? add_name_patterns(value, at) : Result<>{};
    }
    if (is_among(kCounts, key)) {
      const bool good = is_number(value) && nearest_double(value) >= 0;
      return good ? Result<>{} : wrong(at, "not a number of 0 or more");
    }
    if (is_among(kNumberKeywords, key)) {
      if (!is_number(value) || (key == "multipleOf" && nearest_double(value) <= 0))
        return wrong(at, "not a number, or not a positive one");
      return {};
    }
    if (key == "type") return check_type(value, at);
    if (key == "enum" && !value.is_array()) return wrong(at, "not a list");
    if (key == "required") return check_names(value, at);
    if (key == "uniqueItems" && !value.is_boolean()) return wrong(at, "not true or false");
    if (key == "pattern") return add_pattern(schema, value, at);
    if (key == "dependentRequired" || key == "dependencies") {
      if (!value.is_object()) return wrong(at, "not an object");
      for (const auto& [name, sub] : value.items()) {
        const std::string inner = at + "/" + escaped(name);
        CHECKED(sub.is_array() ? check_names(sub, inner) : walk(sub, resource, inner));
      }
    }
    if (key == "$anchor" || key == "$dynamicAnchor") {
      if (!value.is_string()) return wrong(at, "not a string");
      auto& anchors = parts_.resources[resource];
      anchors.anchors.emplace(value.get<std::string>(), &schema);
      if (key == "$dynamicAnchor") anchors.dynamic_anchors.emplace(value.get<std::string>(), &schema);
    }
    if (key == "$ref" || key == "$dynamicRef") {
      if (!value.is_string()) return wrong(at, "not a string");
      references_.emplace_back(&schema, where);
    }
    return {};
  }

  Result<> walk_list(const Json& list, Node resource, const std::string& at) {
    if (!list.is_array()) return wrong(at, "not a list of schemas");
    for (size_t i = 0; i < list.size(); i++) CHECKED(walk(list[i], resource, fmt::format("{}/{}", at, i)));
    return {};
  }

  static Result<> check_type(const Json& value, const std::string& at) {
    auto good = [](const Json& name) {
      return name.is_string() && is_among(kTypes, name.get_ref<const std::string&>());
    };
    const bool all = value.is_array() ? std::all_of(value.begin(), value.end(), good) : good(value);
    return all ? Result<>{} : wrong(at, fmt::format("{} is not a type", printable(dump_json(value), 64)));
  }

  static Result<> check_names(const Json& value, const std::string& at) {
    const bool good =
        value.is_array() && std::all_of(value.begin(), value.end(), [](auto& n) { return n.is_string(); });
    return good ? Result<>{} : wrong(at, "not a list of names");
  }

  // nullptr: the pattern cannot be checked, and every text fits.
  Result<std::unique_ptr<re2::RE2>> expression(const std::string& pattern, const std::string& at) {
    if (pattern.size() > kMaxSchemaPatternBytes || ++patterns_ > kMaxSchemaPatterns) {
      CHECKED(unknown(at, "too many or too long expressions"));
      return nullptr;
    }
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(kSchemaPatternMemory);
    auto made = std::make_unique<re2::RE2>(re2_from_ecma(pattern), options);
    if (made->ok()) return made;
    CHECKED(unknown(at, fmt::format("an invalid expression: {}", printable(made->error(), 100))));
    return nullptr;
  }

  Result<> add_pattern(const Json& schema, const Json& value, const std::string& at) {
    if (!value.is_string()) return wrong(at, "not a string");
    TRY(auto made, expression(value.get_ref<const std::string&>(), at));
    if (made) parts_.patterns[&schema] = std::move(made);
    return {};
  }

  Result<> add_name_patterns(const Json& value, const std::string& at) {
    auto& list = parts_.name_patterns[&value];
    for (const auto& [pattern, sub] : value.items()) {
      TRY(auto made, expression(pattern, at + "/" + escaped(pattern)));
      list.push_back(std::move(made));
    }
    return {};
  }

  Result<> resolve(const Json& schema, const std::string& where) {
    const Node resource = parts_.resource_of[&schema];
    for (const char* key : {"$ref", "$dynamicRef"}) {
      auto value = schema.find(key);
      if (value == schema.end()) continue;
      const Node target = find(resource, value->get_ref<const std::string&>());
      const bool is_dynamic = *key == '$' && key[1] == 'd';
      (is_dynamic ? parts_.dynamic_targets : parts_.targets)[&schema] = target;
      if (!target) {
        const std::string text = printable(value->get_ref<const std::string&>(), 100);
        CHECKED(unknown(where, fmt::format("{}: '{}' leads to no schema of this document", key, text)));
      } else if (is_dynamic) {
        auto anchor = target->find("$dynamicAnchor");
        const auto& text = value->get_ref<const std::string&>();
        if (target->is_object() && anchor != target->end() && text.ends_with("#" + anchor->get<std::string>()))
          parts_.dynamic_names[&schema] = anchor->get<std::string>();
      }
    }
    return {};
  }

  Node find(Node resource, std::string_view reference) {
    const size_t hash = reference.find('#');
    const std::string_view document = reference.substr(0, hash);
    const std::string fragment = hash == reference.npos ? "" : percent_decoded(reference.substr(hash + 1));
    if (!document.empty()) {
      auto known = by_uri_.find(resolved(parts_.resources[resource].uri, document));
      if (known == by_uri_.end()) return nullptr;
      resource = known->second;
    }
    if (fragment.empty()) return resource;
    if (fragment.front() != '/') {
      const auto& anchors = parts_.resources[resource].anchors;
      auto anchor = anchors.find(fragment);
      return anchor == anchors.end() ? nullptr : anchor->second;
    }
    try {
      const Json& found = resource->at(Json::json_pointer(fragment));
      // A schema at a place without a schema keyword was not walked yet, so it is walked here.
      if (parts_.resource_of.contains(&found)) return &found;
      return walk(found, resource, "#" + fragment) ? &found : nullptr;
    } catch (const Json::exception&) {
      return nullptr;
    }
  }

  JsonSchema& into_;
  JsonSchema::Parts& parts_;
  JsonSchema::Unknown unknown_;
  size_t count_ = 0, patterns_ = 0;
  std::map<std::string, Node> by_uri_;
  // Grows during its own walk: the target of a reference may have references.
  std::list<std::pair<Node, std::string>> references_;
};

JsonSchema::JsonSchema() : parts_(std::make_unique<Parts>()) {}
JsonSchema::~JsonSchema() = default;

Result<std::shared_ptr<const JsonSchema>> JsonSchema::compile(const Json& schema, Unknown unknown) {
  if (dump_json(schema).size() > kMaxBytes)
    return fail(Code::invalid, fmt::format("the schema has more than {} bytes", kMaxBytes));
  std::shared_ptr<JsonSchema> made(new JsonSchema);
  made->document_ = schema;
  CHECKED(SchemaCompiler(*made, unknown).run());
  return std::shared_ptr<const JsonSchema>(std::move(made));
}

}  // namespace policies
