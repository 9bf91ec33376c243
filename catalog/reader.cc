#include "catalog/reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "catalog/searched.h"
#include "catalog/visible.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"

namespace catalog {
namespace {

constexpr size_t kMaxProblems = 20;  // in one document
constexpr size_t kMaxListed = 1000;  // functions, use cases, core servers
constexpr const char* kNoCategory = "general";

// A member that exists and is not null; nullptr otherwise.
const Json* find(const Json& object, const char* key) {
  auto it = object.find(key);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}
Json* find(Json& object, const char* key) {
  auto it = object.find(key);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

std::string displayed(std::string_view name) { return "'" + printable(name, 64) + "'"; }

Result<std::string> text_or(const Json& object, const char* key, std::string fallback) {
  const Json* value = find(object, key);
  if (!value) return fallback;
  if (!value->is_string()) return fail(Code::invalid, fmt::format("'{}' is not a string", key));
  return value->get<std::string>();
}

Result<std::string> label_or(const Json& object, const char* key, std::string fallback) {
  TRY(std::string label, text_or(object, key, std::move(fallback)));
  if (!label.empty() && !valid_label(label))
    return fail(Code::invalid,
                fmt::format("'{}' is longer than {} bytes or contains invisible characters", key, kMaxLabelBytes));
  return label;
}

Result<std::vector<std::string>> strings(const Json& object, const char* key) {
  std::vector<std::string> all;
  const Json* value = find(object, key);
  if (!value) return all;
  if (!value->is_array() || value->size() > kMaxListed)
    return fail(Code::invalid, fmt::format("'{}' is not a list of at most {} strings", key, kMaxListed));
  for (const Json& item : *value) {
    if (!item.is_string())
      return fail(Code::invalid, fmt::format("'{}' contains an element that is not a string", key));
    all.push_back(item.get<std::string>());
  }
  return all;
}

Result<std::vector<std::string>> read_tags(const Json& object) {
  TRY(std::vector<std::string> tags, strings(object, "tags"));
  std::sort(tags.begin(), tags.end());
  tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
  if (tags.size() > kMaxTags) return fail(Code::invalid, fmt::format("more than {} tags", kMaxTags));
  if (!std::all_of(tags.begin(), tags.end(), valid_label))
    return fail(Code::invalid,
                fmt::format("a tag is empty, longer than {} bytes or contains invisible characters", kMaxLabelBytes));
  return tags;
}

// U+FFFD replaces invalid and hidden characters, so two names could become one.
bool is_visible(std::string_view text) {
  return valid_utf8(text) == text && visible(text, Lines::preserved) == text && text.find("\xEF\xBF\xBD") == text.npos;
}

void clean_description(std::string& text) {
  text = visible(text, Lines::preserved);
  if (text.size() <= kMaxDescriptionBytes) return;
  text.resize(whole_utf8_prefix(std::string_view(text).substr(0, kMaxDescriptionBytes - 3)));
  text += "\xE2\x80\xA6";
}

// Members that become fields of a Tool; all other members stay as they are.
constexpr const char* kReadMembers[] = {"name", "mcp_server", "server", "category", "description", "tags", "kind"};

Result<std::string> read_rest(Json& definition) {
  for (const char* key : {"inputSchema", "outputSchema", "annotations"})
    if (const Json* value = find(definition, key); value && !value->is_object())
      return fail(Code::invalid, fmt::format("'{}' is not an object", key));
  for (const char* key : {"functions", "use_cases"}) CHECKED(strings(definition, key));
  for (const char* key : kReadMembers) definition.erase(key);
  make_visible(definition);
  std::string text = dump_json(definition);
  if (text.size() > kMaxDefinitionBytes)
    return fail(Code::exhausted,
                fmt::format("its definition has {} bytes, more than {}", text.size(), kMaxDefinitionBytes));
  return text;
}

// Values for a tool with a definition that lacks them.
struct Defaults {
  std::string name, server, category;
  std::vector<std::string> tags;
};

// Moves the members that are fields of a Tool out of the definition.
Result<Tool> read_tool(Json& definition, const Defaults& defaults) {
  if (!definition.is_object()) return fail(Code::invalid, "not an object");
  Tool tool;
  TRY(tool.name, text_or(definition, "name", {}));
  if (!defaults.name.empty()) tool.name = defaults.name;
  if (!valid_tool_name(tool.name))
    return fail(Code::invalid, fmt::format("the name {} is not 1 to {} bytes without spaces and invisible characters",
                                           displayed(tool.name), kMaxNameBytes));
  TRY(std::string server, label_or(definition, "server", defaults.server));
  TRY(tool.server, label_or(definition, "mcp_server", std::move(server)));
  TRY(tool.category, label_or(definition, "category", defaults.category));
  if (tool.category.empty()) tool.category = tool.server.empty() ? kNoCategory : tool.server;
  TRY(tool.description, text_or(definition, "description", {}));
  clean_description(tool.description);
  TRY(tool.tags, read_tags(definition));
  if (tool.tags.empty()) tool.tags = defaults.tags;
  TRY(std::string kind, text_or(definition, "kind", "tool"));
  if (kind != "tool" && kind != "skill") return fail(Code::invalid, "'kind' is neither \"tool\" nor \"skill\"");
  tool.kind = kind == "skill" ? ToolKind::skill : ToolKind::tool;
  TRY(tool.rest, read_rest(definition));
  tool.searched = searched_texts(definition);
  return tool;
}

class DefinitionsReader {
 public:
  Reading read_catalogue(const Json& document, Json& categories) {
    reading_.form = Form::catalogue;
    if (!categories.is_object()) {
      wrong("categories", "not an object");
      return std::move(reading_);
    }
    for (auto& [name, category] : categories.items()) {
      const std::string where = "category " + displayed(name);
      if (!valid_label(name) || !category.is_object()) {
        wrong(where, category.is_object() ? "cannot be a name" : "not an object");
        continue;
      }
      add_category(where, name, category);
      Json* tools = find(category, "tools");
      if (tools && !tools->is_object()) wrong(where, "'tools' is not an object");
      if (!tools || !tools->is_object()) continue;
      for (auto& [tool, definition] : tools->items())
        add(where + ", tool " + displayed(tool), definition, {tool, {}, name, {}});
    }
    auto core = strings(document, "core_mcps");
    if (!core) wrong("core_mcps", core.error().what);
    if (core) reading_.core_servers = *std::move(core);
    std::erase_if(reading_.core_servers, [](const std::string& server) { return !valid_label(server); });
    return std::move(reading_);
  }

  Reading read_list(Json& tools, const Defaults& defaults) {
    reading_.form = Form::tools_list;
    for (size_t i = 0; i < tools.size(); i++) add(fmt::format("tools[{}]", i), tools[i], defaults);
    return std::move(reading_);
  }

  Reading read_entry(Json& definition, const Defaults& defaults) {
    reading_.form = Form::one_tool;
    add("the tool", definition, defaults);
    return std::move(reading_);
  }

  void add_category(const std::string& where, const std::string& name, const Json& object) {
    auto description = text_or(object, "description", {});
    if (!description) return wrong(where, description.error().what);
    clean_description(*description);
    reading_.categories[name] = *std::move(description);
  }

 private:
  void add(const std::string& where, Json& definition, const Defaults& defaults) {
    auto tool = read_tool(definition, defaults);
    if (!tool) return wrong(where, tool.error().what);
    reading_.tools.push_back(*std::move(tool));
  }

  void wrong(const std::string& where, std::string_view message) {
    if (reading_.problems.size() >= kMaxProblems) {
      reading_.more_problems++;
    } else {
      reading_.problems.push_back(fmt::format("{}: {}", where, message));
    }
  }

  Reading reading_;
};

}  // namespace

bool valid_tool_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes && is_visible(text) &&
         std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) <= ' '; });
}

bool valid_label(std::string_view text) {
  return !text.empty() && text.size() <= kMaxLabelBytes && is_visible(text) && text.front() != ' ' &&
         text.back() != ' ' &&
         std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

Result<Reading> read_definitions(Json document, const DocumentOrigin& origin) {
  DefinitionsReader reader;
  Defaults defaults{{}, origin.server, origin.category, {}};
  Json* tools = nullptr;
  if (document.is_array()) {
    tools = &document;
  } else if (document.is_object()) {
    if (Json* categories = find(document, "categories")) return reader.read_catalogue(document, *categories);
    tools = find(document, "tools");
    if (Json* result = find(document, "result"); !tools && result && result->is_object())
      tools = find(*result, "tools");
    if (!tools && document.contains("name")) {
      defaults.server.clear();  // the file is named after the tool
      return reader.read_entry(document, defaults);
    }
  }
  if (!tools)
    return fail(Code::invalid, "contains no tool definitions",
                "a catalog has \"categories\", an answer to tools/list has \"tools\", a tool has a \"name\"");
  if (!tools->is_array()) return fail(Code::invalid, "\"tools\" is not a list");
  if (document.is_object()) {  // members for all tools of the list
    TRY(defaults.server, label_or(document, "server", defaults.server));
    TRY(defaults.category, label_or(document, "category", defaults.category));
    TRY(defaults.tags, read_tags(document));
    const std::string& category = defaults.category.empty() ? defaults.server : defaults.category;
    if (find(document, "description") && !category.empty()) reader.add_category("the list", category, document);
  }
  return reader.read_list(*tools, defaults);
}

}  // namespace catalog
