#include "supervisor/upstream/definitions.h"

#include <fmt/format.h>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/value_bytes.h"
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

Result<Definitions> Definitions::read(Json tools, WorkMeter& meter) {
  constexpr uint64_t kStepsPerTool = 1000, kStepsPerByte = 1;
  Definitions all;
  if (!tools.is_array()) return all;
  for (Json& definition : tools) {
    if (all.tools.size() == kMaxTools) break;
    if (!meter.spend(kStepsPerTool + kStepsPerByte * rough_length(definition, kMaxBytes)))
      return tl::unexpected<Error>(meter.error());
    auto tool = KnownTool::read(std::move(definition));
    if (tool) all.tools.emplace((*tool)->name(), *std::move(tool));
  }
  return all;
}

Json Definitions::described() const {
  Json all = Json::array();
  for (const auto& [name, known] : tools) {
    Json& tool = all.emplace_back(known->definition());
    if (auto declared = tool.find("outputSchema"); declared != tool.end()) {
      if (const Json* wrapped = wrapped_schema(name, *declared)) {
        Json inside = *wrapped;
        for (const char* key : {"$defs", "definitions"})  // targets of $ref
          if (auto models = declared->find(key); models != declared->end()) inside[key] = *models;
        *declared = std::move(inside);
      }
      continue;
    }
    Json schema = observed->schema_of(name);
    if (schema.is_null()) continue;
    // A declared outputSchema describes an object, as structuredContent is one. A value from a text may be of any type.
    schema["description"] = "Observed in results; the server declares no schema.";
    tool["outputSchema"] = std::move(schema);
  }
  return all;
}

Result<bool> Definitions::is_same(const Definitions& other, WorkMeter& meter) const {
  if (tools.size() != other.tools.size()) return false;
  for (const auto& [name, tool] : tools) {
    const auto before = other.tools.find(name);
    if (!meter.spend(rough_length(tool->definition(), kMaxBytes))) return tl::unexpected<Error>(meter.error());
    if (before == other.tools.end() || before->second->definition() != tool->definition()) return false;
  }
  return true;
}

void Definitions::inherit(const Definitions& before) {
  observed = before.observed->of_tools([&](const std::string& name) {
    const auto now = tools.find(name);
    const auto then = before.tools.find(name);
    return now != tools.end() && then != before.tools.end() && now->second->definition() == then->second->definition();
  });
}

Result<Json> read_stored(int folder, const ServerConfig& config) {
  TRY(const RelativePath path, RelativePath::parse(config.name + ".json"));
  TRY(Fd file, open_regular_beneath(folder, path, O_RDONLY));
  TRY(const std::string text, read_complete(file.get(), Definitions::kMaxBytes));
  TRY(Json document, parse_json(text));
  if (!document.is_object() || document.value("started", Json()) != fingerprint(config))
    return fail(Code::not_found, "the definitions are of another configuration of this server");
  return document;
}

Result<Definitions> load_definitions(Json document, WorkMeter& meter) {
  const auto tools = document.find("tools");
  TRY(Definitions all, Definitions::read(tools == document.end() ? Json() : std::move(*tools), meter));
  if (const auto seen = document.find("observed"); seen != document.end())
    all.observed = ObservedResults::from_json(*seen, [&](const std::string& name) { return all.tools.contains(name); });
  return all;
}

Result<> save_definitions(int folder, const ServerConfig& config, const Definitions& definitions) {
  Json document{{"started", fingerprint(config)}, {"tools", Json::array()}};
  for (const auto& [name, tool] : definitions.tools) document["tools"].push_back(tool->definition());
  if (Json observed = definitions.observed->to_json(); !observed.empty()) document["observed"] = std::move(observed);
  const std::string text = dump_json(document);
  if (text.size() > Definitions::kMaxBytes) return fail(Code::exhausted, "the definitions are too large to be stored");
  TRY(const RelativePath path, RelativePath::parse(config.name + ".json"));
  TRY(const RelativePath fresh, RelativePath::parse(config.name + ".new"));
  TRY(Fd file, open_beneath(folder, fresh, O_WRONLY | O_CREAT | O_TRUNC, 0600));
  CHECKED(write_all(file.get(), text));
  return rename_beneath(folder, fresh, path, Existing::replace);
}

}  // namespace upstream
