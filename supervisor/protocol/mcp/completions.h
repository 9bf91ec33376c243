// Completions: the handlers that complete an argument of a prompt or of a resource template. The first handler that
// knows the reference and its argument answers. Used by Server. Errors: not_found, no handler knows them.
#pragma once
#include <vector>

#include "supervisor/protocol/mcp/answers.h"
#include "supervisor/protocol/mcp/registry.h"

namespace mcp {

class Completions {
 public:
  void add(CompletionHandler handler) { handlers_.push_back(std::move(handler)); }
  bool empty() const { return handlers_.empty(); }
  Task<Answer> complete(RequestContext& context, Json params, const std::string& identity);

 private:
  Task<Result<Completion>> ask(RequestContext& context, const CompletionRequest& request);
  std::vector<CompletionHandler> handlers_;
};

}  // namespace mcp
