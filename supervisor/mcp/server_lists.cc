// The part of Server that makes lists: tools and resource templates, and the answer to server/discover. Each list is
// made once for each version and each choice of tools. Lists that handlers make are not here.
#include "supervisor/mcp/definitions.h"
#include "supervisor/mcp/server.h"

namespace mcp {

namespace {

constexpr size_t kMostLists = 256;

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
  if (cache_.size() > kMostLists) cache_.clear();  // so many choices come from changes of policies
  std::string& members = cache_[{method, version, choice}];
  if (members.empty()) members = list_members(method, version, choice);
  return members;
}

}  // namespace mcp
