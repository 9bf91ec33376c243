#include "supervisor/tenants/resource_uris.h"

namespace tenants {

Result<std::optional<KeptOutput>> parse_kept_output(std::string_view name) {
  if (!name.starts_with(kExecutionScheme)) return std::nullopt;
  name.remove_prefix(kExecutionScheme.size());
  size_t slash = name.find('/');
  if (slash == name.npos)
    return fail(Code::invalid, "the output of an execution has the URI exec:///<execution_id>/stdout or .../stderr",
                "use the execution_id from the answer of execute_code");
  KeptOutput kept;
  kept.execution = name.substr(0, slash);
  CHECKED(check_execution_id(kept.execution));
  TRY(kept.stream, parse_stream(name.substr(slash + 1)));
  return kept;
}

}  // namespace tenants
