// Resources: the resources of several providers. Answers resources/list, by page, resources/read and
// resources/templates/list. Used by: Server. Errors: invalid_params, resource_not_found, or the provider's error.
#pragma once
#include <vector>

#include "supervisor/protocol/mcp/answers.h"
#include "supervisor/protocol/mcp/registry.h"

namespace mcp {

class Resources {
 public:
  void add(ResourceProvider provider) { providers_.push_back(std::move(provider)); }
  bool empty() const { return providers_.empty(); }

  // `identity` is the server's name as JSON text.
  Task<Answer> list(RequestContext& context, Json params, const std::string& identity);
  Task<Answer> read(RequestContext& context, Json params, const std::string& identity);
  // All templates, in one page.
  std::string template_members(Version version, const std::string& identity) const;

  // The provider of a URI, whether or not the resource exists; nullptr: no provider has this URI.
  const ResourceProvider* provider_of(std::string_view uri) const;

 private:
  std::vector<ResourceProvider> providers_;
};

}  // namespace mcp
