#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <list>

#include "policies/schema/expressions.h"
#include "policies/schema/json_schema_parts.h"
#include "supervisor/base/ascii.h"
#include "supervisor/base/json/exact_number.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/value_bytes.h"
#include "supervisor/base/log.h"

namespace policies {
namespace {

constexpr size_t kMaxSchemaPathBytes = 200;

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

std::string percent_decoded(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
      plain += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
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

// SchemaCompiler: walks the document once, checks keywords, notes resources and anchors. Then it resolves the
// references. Expressions are compiled only where an unknown part is refused.
class SchemaCompiler {
 public:
  SchemaCompiler(JsonSchema& into, JsonSchema::Unknown unknown, WorkMeter& meter)
      : into_(into), parts_(*into.parts_), unknown_(unknown), meter_(meter) {}

  Result<> run() {
    const Json& document = *into_.document_;
    parts_.resources[&document];
    CHECKED(walk(document, &document));
    for (const auto& [schema, slot] : references_) CHECKED(resolve(*schema, slot));
    return {};
  }

 private:
  using Node = JsonSchema::Parts::Node;

  // Step: adds a key to the place in the document while it exists. The key must live as long.
  class Step {
   public:
    Step(SchemaCompiler& of, std::string_view key) : path_(of.path_) { path_.push_back(key); }
    ~Step() { path_.pop_back(); }
    Step(const Step&) = delete;

   private:
    std::vector<std::string_view>& path_;
  };

  std::string slot() const {
    std::string text = root_;
    for (const std::string_view step : path_)
      if (text.size() <= kMaxSchemaPathBytes) text += "/" + escaped(step.substr(0, kMaxSchemaPathBytes));
    return printable(text, kMaxSchemaPathBytes);
  }

  tl::unexpected<Error> wrong(std::string_view message) const {
    return fail(Code::invalid, fmt::format("{}: {}", slot(), message));
  }

  Result<> spend(uint64_t steps) {
    if (meter_.spend(steps)) return {};
    return tl::unexpected<Error>(meter_.error());
  }

  Result<> walk(const Json& schema, Node resource) {
    constexpr uint64_t kStepsPerKeyword = 20;
    CHECKED(spend(kStepsPerKeyword));
    if (++count_ > JsonSchema::kMaxSchemas) return wrong(fmt::format("more than {} schemas", JsonSchema::kMaxSchemas));
    if (!schema.is_object() && !schema.is_boolean()) return wrong("a schema is an object, true or false");
    if (auto id = schema.find("$id"); id != schema.end() && schema.is_object()) {
      if (!id->is_string()) return wrong("$id: not a string");
      std::string_view text = id->get_ref<const std::string&>();
      if (text.ends_with('#')) text.remove_suffix(1);
      std::string uri = resolved(parts_.resources[resource].uri, text);
      CHECKED(spend(uri.size()));
      resource = &schema;
      by_uri_.emplace(uri, resource);
      parts_.resources[resource].uri = std::move(uri);
    }
    parts_.resource_of[&schema] = resource;
    if (schema.is_boolean()) return {};
    for (const auto& [key, value] : schema.items()) {
      CHECKED(spend(kStepsPerKeyword));
      const Step step(*this, key);
      CHECKED(keyword(schema, resource, key, value));
    }
    return {};
  }

  Result<> keyword(const Json& schema, Node resource, const std::string& key, const Json& value) {
    if (is_among(kOne, key)) {
      if (key == "items" && value.is_array()) return walk_list(value, resource);
      if (key.starts_with("unevaluated")) parts_.has_unevaluated = true;
      return walk(value, resource);
    }
    if (is_among(kLists, key)) return walk_list(value, resource);
    if (is_among(kMaps, key)) {
      if (!value.is_object()) return wrong("not an object of schemas");
      for (const auto& [name, sub] : value.items()) {
        const Step step(*this, name);
        CHECKED(walk(sub, resource));
        if (key == "patternProperties") CHECKED(check_expression(name));
      }
      return {};
    }
    if (is_among(kCounts, key)) {
      const bool good = is_number(value) && nearest_double(value) >= 0;
      return good ? Result<>{} : wrong("not a number of 0 or more");
    }
    if (is_among(kNumberKeywords, key)) {
      if (!is_number(value) || (key == "multipleOf" && nearest_double(value) <= 0))
        return wrong("not a number, or not a positive one");
      return {};
    }
    if (key == "type") return check_type(value);
    if (key == "enum" && !value.is_array()) return wrong("not a list");
    if (key == "required") return check_names(value);
    if (key == "uniqueItems" && !value.is_boolean()) return wrong("not true or false");
    if (key == "pattern") {
      if (!value.is_string()) return wrong("not a string");
      return check_expression(value.get_ref<const std::string&>());
    }
    if (key == "dependentRequired" || key == "dependencies") {
      if (!value.is_object()) return wrong("not an object");
      for (const auto& [name, sub] : value.items()) {
        const Step step(*this, name);
        CHECKED(sub.is_array() ? check_names(sub) : walk(sub, resource));
      }
    }
    if (key == "$anchor" || key == "$dynamicAnchor") {
      if (!value.is_string()) return wrong("not a string");
      auto& anchors = parts_.resources[resource];
      anchors.anchors.emplace(value.get<std::string>(), &schema);
      if (key == "$dynamicAnchor") anchors.dynamic_anchors.emplace(value.get<std::string>(), &schema);
    }
    if (key == "$ref" || key == "$dynamicRef") {
      if (!value.is_string()) return wrong("not a string");
      const bool shows_place = unknown_ == JsonSchema::Unknown::refuse;
      references_.emplace_back(&schema, shows_place ? slot() : std::string());
    }
    return {};
  }

  Result<> walk_list(const Json& list, Node resource) {
    if (!list.is_array()) return wrong("not a list of schemas");
    for (size_t i = 0; i < list.size(); i++) {
      const std::string number = std::to_string(i);
      const Step step(*this, number);
      CHECKED(walk(list[i], resource));
    }
    return {};
  }

  Result<> check_type(const Json& value) const {
    auto good = [](const Json& name) {
      return name.is_string() && is_among(kTypes, name.get_ref<const std::string&>());
    };
    const bool all = value.is_array() ? std::all_of(value.begin(), value.end(), good) : good(value);
    return all ? Result<>{} : wrong(fmt::format("{} is not a type", printable(dump_json(value), 64)));
  }

  Result<> check_names(const Json& value) const {
    const bool good =
        value.is_array() && std::all_of(value.begin(), value.end(), [](auto& n) { return n.is_string(); });
    return good ? Result<>{} : wrong("not a list of names");
  }

  Result<> check_expression(const std::string& pattern) {
    if (unknown_ == JsonSchema::Unknown::let_pass) return {};
    if (++expressions_ > JsonSchema::kMaxExpressions) return wrong("too many expressions");
    constexpr uint64_t kStepsPerExpression = 10'000;
    CHECKED(spend(kStepsPerExpression));
    auto compiled = SchemaExpressions::compiled(pattern);
    return compiled ? Result<>{} : wrong(compiled.error().what);
  }

  Result<> resolve(const Json& schema, const std::string& path) {
    const Node resource = parts_.resource_of[&schema];
    for (const char* key : {"$ref", "$dynamicRef"}) {
      auto value = schema.find(key);
      if (value == schema.end()) continue;
      const auto& text = value->get_ref<const std::string&>();
      CHECKED(spend(20 + text.size() + parts_.resources[resource].uri.size()));
      const Node target = find(resource, text);
      if (meter_.is_over()) return tl::unexpected<Error>(meter_.error());
      const bool is_dynamic = *key == '$' && key[1] == 'd';
      (is_dynamic ? parts_.dynamic_targets : parts_.targets)[&schema] = target;
      if (!target) {
        if (unknown_ == JsonSchema::Unknown::refuse)
          return fail(Code::invalid,
                      fmt::format("{}: {}: '{}' leads to no schema of this document", path, key, printable(text, 100)));
      } else if (is_dynamic) {
        auto anchor = target->find("$dynamicAnchor");
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
      auto it = by_uri_.find(resolved(parts_.resources[resource].uri, document));
      if (it == by_uri_.end()) return nullptr;
      resource = it->second;
    }
    if (fragment.empty()) return resource;
    if (fragment.front() != '/') {
      const auto& anchors = parts_.resources[resource].anchors;
      auto anchor = anchors.find(fragment);
      return anchor == anchors.end() ? nullptr : anchor->second;
    }
    try {
      const Json& result = resource->at(Json::json_pointer(fragment));
      // A schema at a place without a schema keyword was not walked yet, so it is walked here.
      if (parts_.resource_of.contains(&result)) return &result;
      root_ = "#" + fragment;
      return walk(result, resource) ? &result : nullptr;
    } catch (const Json::exception&) {
      return nullptr;
    }
  }

  JsonSchema& into_;
  JsonSchema::Parts& parts_;
  JsonSchema::Unknown unknown_;
  WorkMeter& meter_;
  size_t count_ = 0, expressions_ = 0;
  std::string root_ = "#";              // of the walk
  std::vector<std::string_view> path_;  // from the root
  std::map<std::string, Node> by_uri_;
  // Schemas with a reference, each with its place for messages. Grows during its own walk: the target of a reference
  // may have references.
  std::list<std::pair<Node, std::string>> references_;
};

JsonSchema::JsonSchema(std::shared_ptr<const Json> document)
    : document_(std::move(document)), parts_(std::make_unique<Parts>()) {}
JsonSchema::~JsonSchema() = default;

Result<std::shared_ptr<const JsonSchema>> JsonSchema::compile(std::shared_ptr<const Json> schema, Unknown unknown,
                                                              WorkMeter& meter) {
  if (rough_length(*schema, kMaxBytes + 1) > kMaxBytes)
    return fail(Code::invalid, fmt::format("the schema has more than {} bytes", kMaxBytes));
  std::shared_ptr<JsonSchema> json_schema(new JsonSchema(std::move(schema)));
  CHECKED(SchemaCompiler(*json_schema, unknown, meter).run());
  return std::shared_ptr<const JsonSchema>(std::move(json_schema));
}

}  // namespace policies
