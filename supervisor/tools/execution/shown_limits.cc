#include "supervisor/tools/execution/shown_limits.h"

#include "policies/limits.h"
#include "policies/policy.h"
#include "policies/staging_rules.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace tools {
namespace {

// A whole number without a fraction: 30, not 30.0.
Json number_of(double value) {
  const auto full = static_cast<int64_t>(value);
  return static_cast<double>(full) == value ? Json(full) : Json(value);
}

Json schema_of(double standard, double maximum) {
  return {{"type", "number"}, {"default", number_of(standard)}, {"maximum", number_of(maximum)}};
}

constexpr std::string_view kNoNetwork = " No network.";  // of the description; untrue with egress
constexpr size_t kMaxNames = 12, kMaxNameBytes = 160;    // of all names in the description

// "Packages: numpy, pandas, ..."; empty: no names. Each word is paid for in every client's context.
std::string sentence_of(std::string_view about, const std::vector<std::string>& names) {
  std::string text;
  size_t shown_count = 0;
  for (const std::string& name : names) {
    if (shown_count == kMaxNames || text.size() + name.size() > kMaxNameBytes) break;
    text += (shown_count++ == 0 ? "" : ", ") + name;
  }
  if (shown_count == 0) return {};
  return std::string(about) + ": " + text + (shown_count < names.size() ? ", ..." : ".");
}

std::string packages_sentence(const policies::Policy& policy) {
  std::vector<std::string> names;
  for (const auto& layer : policy.layers) {
    names.insert(names.end(), layer->python.begin(), layer->python.end());
    names.insert(names.end(), layer->node.begin(), layer->node.end());
  }
  return sentence_of("Packages", names);
}

double seconds_of(const policies::Limits& limits) { return static_cast<double>(limits.wall.count()) / 1000; }
double megabytes_of(const policies::Limits& limits) { return static_cast<double>(limits.memory_bytes) / (1 << 20); }

}  // namespace

std::string shown_limits(const policies::Policy& policy) {
  const policies::Limits &standard = policy.limits.standard, &maximum = policy.limits.maximum;
  Json output = {{"timeout_seconds", schema_of(seconds_of(standard), seconds_of(maximum))},
                 {"memory_mb", schema_of(megabytes_of(standard), megabytes_of(maximum))},
                 {"language", {{"enum", policy.languages}}}};
  const policies::StagingRules& staging = policy.staging;
  const bool has_tool = policy.tools.offers("commit_workspace");  // else a proposal would be of little use
  if (staging.mode != policies::WorkspaceMode::direct || !staging.choose || !has_tool) output["workspace"] = nullptr;
  std::string more = packages_sentence(policy);
  if (const std::string hosts = sentence_of("Network, by HTTPS_PROXY", policy.egress.shown_hosts()); !hosts.empty())
    more += (more.empty() ? "" : " ") + hosts;
  if (!more.empty()) output[""] = std::move(more);
  if (policy.egress.is_on()) output["-"] = kNoNetwork;
  return dump_json(output);
}

void show_limits(mcp::ToolDefinition& tool, std::string_view text) {
  if (tool.name != "execute_code") return;
  const auto limits = parse_json(text);
  const auto properties = tool.input_schema.find("properties");
  if (!limits || !limits->is_object() || properties == tool.input_schema.end()) return;
  for (const auto& [name, schema] : limits->items()) {
    if (name == "-") {
      const size_t at = tool.description.find(kNoNetwork);
      if (at != tool.description.npos) tool.description.erase(at, kNoNetwork.size());
    } else if (name.empty()) {
      tool.description += " " + schema.get<std::string>();
    } else if (schema.is_null()) {
      properties->erase(name);
    } else if (schema.contains("type")) {
      (*properties)[name] = schema;
    } else {
      (*properties)[name].update(schema);
    }
  }
}

}  // namespace tools
