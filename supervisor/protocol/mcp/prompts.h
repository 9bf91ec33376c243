// Prompts: all prompts that a server offers, fixed ones and those of providers. Answers prompts/list, by page, and
// prompts/get. Fixed prompts come first, then each provider's, in the order of registration. If two prompts have the
// same name, the first one counts. Used by: Server. Errors: invalid_params, or the provider's error.
#pragma once
#include <vector>

#include "supervisor/protocol/mcp/answers.h"
#include "supervisor/protocol/mcp/registry.h"

namespace mcp {

class Prompts {
 public:
  // Throws std::invalid_argument for a name registered before.
  void add(Prompt prompt, PromptHandler handler);
  void add(PromptProvider provider) { providers_.push_back(std::move(provider)); }
  bool empty() const { return fixed_.empty() && providers_.empty(); }

  // `identity` is the server's name as JSON text; `caching` applies to the fixed prompts.
  Task<Answer> list(RequestContext& context, Json params, const std::string& identity, Caching caching);
  Task<Answer> get(RequestContext& context, Json params, const std::string& identity);

 private:
  struct Fixed {
    Prompt prompt;
    PromptHandler handler;
  };
  Task<Result<PromptResult>> fill_in(RequestContext& context, const std::string& name, const Json& arguments);

  std::vector<Fixed> fixed_;
  std::vector<PromptProvider> providers_;
};

}  // namespace mcp
