#include "supervisor/tenants/resource_uris.h"

namespace tenants {

Result<std::optional<KeptOutput>> parse_kept_output(std::string_view name) {
  if (!name.starts_with(kExecutionScheme)) return std::nullopt;
  name.remove_prefix(kExecutionScheme.size());
  size_t slash = name.find('/');
  if (slash == name.npos)
    return fail(Code::invalid, "an execution has the URIs exec:///<execution_id>/stdout, .../stderr and .../result",
                "use the execution_id from the answer of execute_code");
  KeptOutput kept;
  kept.execution = name.substr(0, slash);
  CHECKED(check_execution_id(kept.execution));
  const std::string_view part = name.substr(slash + 1);
  TRY(kept.stream, parse_stream(part == kResultPart ? stream_name(Stream::value) : part));
  return kept;
}

}  // namespace tenants
