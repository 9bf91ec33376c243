#include "jail/run_message.h"

#include "supervisor/base/json.h"

namespace jail {

std::string run_message(const Request& request, size_t max_message) {
  const Doing doing(LoopWork::program_answer, &request.tenant);
  Json run{{"type", "run"},
           {"execution", request.id},
           {"language", language_name(request.spec.language)},
           {"code", request.code},
           {"context_vars", request.context_vars.is_object() ? request.context_vars : Json::object()},
           {"deadline_ms", request.spec.limits.wall.count()},
           {"workspace", "/workspace"},
           {"max_message", max_message},
           {"tools", Json::array()}};
  if (request.session_call > 0) run["session"] = true;
  if (!request.trace.empty()) run["traceparent"] = request.trace;
  return dump_json(run);
}

}  // namespace jail
