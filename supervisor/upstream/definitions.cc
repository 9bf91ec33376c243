#include "supervisor/upstream/definitions.h"

#include <fmt/format.h>

#include "supervisor/base/json.h"
#include "supervisor/base/path.h"
#include "supervisor/upstream/wrapped_result.h"

namespace upstream {
namespace {

// The configuration that decides which tools a server has, without the values of secrets.
Json fingerprint(const ServerConfig& config) {
  Json names = Json::array();
  for (const auto& [name, value] : config.environment) names.push_back(name + "=" + value);
  Json all{{"command", config.command}, {"environment", names}, {"folder", config.folder}};
  if (config.remote()) all["url"] = config.url;
  return all;
}

}  // namespace

Definitions Definitions::read(const Json& tools) {
  Definitions all;
  if (!tools.is_array()) return all;
  for (const Json& tool : tools) {
    if (all.tools.size() == kMaxTools) break;
    if (!tool.is_object()) continue;
    auto name = tool.find("name");
    if (name == tool.end() || !name->is_string() || name->get_ref<const std::string&>().empty() ||
        name->get_ref<const std::string&>().size() > 128)
      continue;
    ToolEntry entry{tool, nullptr, {}};
    if (auto schema = tool.find("inputSchema"); schema != tool.end()) {
      auto compiled = policies::JsonSchema::compile(*schema, policies::JsonSchema::Unknown::let_pass);
      if (compiled) entry.input = *std::move(compiled);  // else only the server checks the arguments
      auto mirrored = read_mirrored(*schema);
      if (!mirrored) continue;  // the specification excludes tools with an invalid x-mcp-header
      entry.mirrored = *std::move(mirrored);
    }
    all.tools.emplace(name->get<std::string>(), std::move(entry));
  }
  return all;
}

Json Definitions::list() const {
  Json all = Json::array();
  for (const auto& [name, entry] : tools) all.push_back(entry.definition);
  return all;
}

Json Definitions::described() const {
  Json all = list();
  for (Json& tool : all) {
    if (auto declared = tool.find("outputSchema"); declared != tool.end()) {
      if (const Json* wrapped = wrapped_schema(tool["name"].get_ref<const std::string&>(), *declared)) {
        Json inside = *wrapped;
        for (const char* key : {"$defs", "definitions"})  // targets of $ref
          if (auto models = declared->find(key); models != declared->end()) inside[key] = *models;
        *declared = std::move(inside);
      }
      continue;
    }
    auto seen = observed.find(tool["name"].get_ref<const std::string&>());
    if (seen == observed.end() || seen->second.schema.is_null()) continue;
    Json schema = seen->second.schema;
    // A declared outputSchema describes an object, as structuredContent is one. A value from a text may be of any type.
    schema["description"] = "Observed in results; the server declares no schema.";
    tool["outputSchema"] = std::move(schema);
  }
  return all;
}

void Definitions::inherit(Definitions&& before) {
  for (auto& [name, seen] : before.observed) {
    auto now = tools.find(name), then = before.tools.find(name);
    if (now != tools.end() && then != before.tools.end() && now->second.definition == then->second.definition)
      observed.emplace(name, std::move(seen));
  }
}

bool Definitions::observe(std::string_view tool, const Json& result) {
  auto entry = tools.find(tool);
  if (entry == tools.end() || entry->second.definition.contains("outputSchema")) return false;
  return observed[entry->first].see(result);
}

Result<Definitions> load_definitions(int folder, const ServerConfig& config) {
  TRY(const RelativePath path, RelativePath::parse(config.name + ".json"));
  TRY(Fd file, open_regular_beneath(folder, path, O_RDONLY));
  TRY(const std::string text, read_whole(file.get(), Definitions::kMaxBytes));
  TRY(const Json document, parse_json(text));
  if (!document.is_object() || document.value("started", Json()) != fingerprint(config))
    return fail(Code::not_found, "the definitions are of another configuration of this server");
  Definitions all = Definitions::read(document.value("tools", Json()));
  const Json seen = document.value("observed", Json());
  for (const auto& [name, one] : seen.items())
    if (all.tools.contains(name)) all.observed[name] = Observed::from_json(one);
  return all;
}

Result<> save_definitions(int folder, const ServerConfig& config, const Definitions& definitions) {
  Json document{{"started", fingerprint(config)}, {"tools", definitions.list()}};
  for (const auto& [name, seen] : definitions.observed) document["observed"][name] = seen.to_json();
  const std::string text = dump_json(document);
  if (text.size() > Definitions::kMaxBytes) return fail(Code::exhausted, "the definitions are too large to be stored");
  TRY(const RelativePath path, RelativePath::parse(config.name + ".json"));
  TRY(const RelativePath fresh, RelativePath::parse(config.name + ".new"));
  TRY(Fd file, open_beneath(folder, fresh, O_WRONLY | O_CREAT | O_TRUNC, 0600));
  CHECKED(write_all(file.get(), text));
  return rename_beneath(folder, fresh, path, Existing::replace);
}

}  // namespace upstream
