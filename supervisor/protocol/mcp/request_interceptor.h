// RequestInterceptor: answers requests before the server does, because their data lies on another machine. The answer
// of the other machine is final: this server's response filter does not see it.
// Made by: the program (supervisor/cluster/link/request_router.h). Used by: Server.
#pragma once
#include <cstddef>
#include <optional>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/task.h"
#include "supervisor/protocol/mcp/answers.h"
#include "supervisor/protocol/mcp/method.h"

namespace mcp {

class RequestContext;

class RequestInterceptor {
 public:
  virtual ~RequestInterceptor() = default;
  // Whether the request may be for another machine. Called for every request with a handler, so it must be quick.
  virtual bool concerns(Method method, const RequestContext& context) const = 0;
  // Takes `params` where it answers. nullopt: this server answers, and `params` is unchanged. An answer larger than
  // `max_bytes` becomes an error.
  virtual Task<std::optional<Answer>> answer(Method method, RequestContext& context, Json& params,
                                             size_t max_bytes) = 0;
};

}  // namespace mcp
