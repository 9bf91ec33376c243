// Resources: what several providers hold, as one list by pages and one place to read from.
#pragma once
#include <vector>

#include "supervisor/mcp/answers.h"
#include "supervisor/mcp/registry.h"

namespace mcp {

class Resources {
 public:
  void add(ResourceProvider provider) { providers_.push_back(std::move(provider)); }
  bool empty() const { return providers_.empty(); }

  // `identity` is our name as JSON text.
  Task<Answer> list(RequestContext& context, Json params, const std::string& identity);
  Task<Answer> read(RequestContext& context, Json params, const std::string& identity);
  // All in one page.
  std::string template_members(Version version, const std::string& identity) const;

  // Whose URI it is, whether there is such a resource or not; nullptr: nobody's.
  const ResourceProvider* provider_of(std::string_view uri) const;

 private:
  std::vector<ResourceProvider> providers_;
};

}  // namespace mcp
