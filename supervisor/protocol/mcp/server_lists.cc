// The part of Server that makes lists: tools and resource templates, and the answer to server/discover. Each list is
// made once for each version and each choice of tools. Lists that handlers make are not here.
#include "supervisor/base/json/json.h"
#include "supervisor/protocol/mcp/definitions.h"
#include "supervisor/protocol/mcp/server.h"
#include "supervisor/protocol/mcp/task_calls.h"

namespace mcp {

namespace {

constexpr size_t kMaxLists = 256;

}  // namespace

bool Server::is_offered(const std::shared_ptr<ConnectionUser>& user, std::string_view tool) const {
  const auto offers = tools_of_ ? tools_of_(user) : nullptr;
  return !offers || offers(tool);
}

std::string Server::choice_for(const std::shared_ptr<ConnectionUser>& user) const {
  const auto offers = tools_of_ ? tools_of_(user) : nullptr;
  std::string choice;
  for (const ToolDefinition& tool : tools_) choice += !offers || offers(tool.name) ? '1' : '0';
  return variant_of_ ? choice + variant_of_(user) : choice;
}

std::string Server::list_members(Method method, Version version, const std::string& choice) const {
  if (method == Method::discover) return discover_members();
  if (method == Method::templates_list) return resources_.template_members(version, identity_);
  std::string members;
  Caching caching = kListCaching;
  if (method == Method::tools_list) {
    if (tools_of_ || variant_of_) caching.scope = Caching::Scope::requester;
    std::vector<ToolDefinition> chosen;
    for (size_t i = 0; i < tools_.size(); i++)
      if (choice[i] == '1') chosen.push_back(tools_[i]);
    const std::string_view variant = std::string_view(choice).substr(tools_.size());
    if (adapt_)
      for (ToolDefinition& tool : chosen) adapt_(tool, variant);
    append_list(members, "tools", chosen, version, append_tool);
  }
  finish_result(members, version, identity_, {}, caching);
  return members;
}

const std::string& Server::cached(Method method, Version version, std::string choice) {
  if (cache_.size() > kMaxLists) cache_.clear();  // so many choices come from changes of policies
  std::string& members = cache_[{method, version, choice}];
  if (members.empty()) members = list_members(method, version, choice);
  return members;
}

std::string Server::capabilities(Version version) const {
  Json offered = Json::object();
  if (!tools_.empty()) offered["tools"] = Json::object();
  if (reported_.contains(Changed::tools)) offered["tools"]["listChanged"] = true;
  if (!resources_.empty()) offered["resources"] = Json::object();
  if (reported_.contains(Changed::resources)) offered["resources"] = {{"subscribe", true}, {"listChanged", true}};
  if (!prompts_.empty()) offered["prompts"] = Json::object();
  if (reported_.contains(Changed::prompts)) offered["prompts"]["listChanged"] = true;
  if (!completions_.empty() && version >= Version::v2025_03_26) offered["completions"] = Json::object();
  if (logging_) offered["logging"] = Json::object();
  if (task_calls_ && has_core_tasks(version)) {
    const Json empty = Json::object();
    offered["tasks"] = {{"list", empty}, {"cancel", empty}, {"requests", {{"tools", {{"call", empty}}}}}};
  }
  Json extensions = extensions_;
  if (task_calls_ && era_of(version) == Era::modern) extensions[kTasksExtension] = Json::object();
  if (has_extensions(version) && !extensions.empty()) offered["extensions"] = std::move(extensions);
  return dump_json(offered);
}

std::string Server::initialize_members(Version version) const {
  std::string members;
  append_key(members, "protocolVersion");
  append_json_string(members, version_name(version));
  append_key(members, "capabilities");
  members += capabilities(version);
  append_key(members, "serverInfo");
  append_server_info(members, info_, version);
  if (!info_.instructions.empty()) {
    append_key(members, "instructions");
    append_json_string(members, info_.instructions);
  }
  return members;
}

std::string Server::discover_members() const {
  std::string members;
  append_key(members, "supportedVersions");
  members += '[';
  append_json_string(members, version_name(kNewestModern));
  members += ']';
  append_key(members, "capabilities");
  members += capabilities(kNewestModern);
  if (!info_.instructions.empty()) {
    append_key(members, "instructions");
    append_json_string(members, info_.instructions);
  }
  finish_result(members, kNewestModern, identity_, {}, kListCaching);
  return members;
}

}  // namespace mcp
