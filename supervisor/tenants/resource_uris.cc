#include "supervisor/tenants/resource_uris.h"

namespace tenants {

std::optional<std::string> execution_of_part(std::string_view uri, std::string_view part) {
  if (!uri.starts_with(kExecutionScheme)) return std::nullopt;
  uri.remove_prefix(kExecutionScheme.size());
  const size_t slash = uri.find('/');
  if (slash == uri.npos || uri.substr(slash + 1) != part) return std::nullopt;
  std::string id(uri.substr(0, slash));
  return check_execution_id(id) ? std::optional(std::move(id)) : std::nullopt;
}

Result<std::optional<SavedOutput>> parse_saved_output(std::string_view name) {
  if (!name.starts_with(kExecutionScheme)) return std::nullopt;
  name.remove_prefix(kExecutionScheme.size());
  size_t slash = name.find('/');
  if (slash == name.npos)
    return fail(Code::invalid, "an execution has the URIs exec:///<execution_id>/stdout, .../stderr and .../result",
                "use the execution_id from the answer of execute_code");
  SavedOutput output;
  output.execution = name.substr(0, slash);
  CHECKED(check_execution_id(output.execution));
  const std::string_view part = name.substr(slash + 1);
  TRY(output.stream, parse_stream(part == kResultPart ? stream_name(Stream::value) : part));
  return output;
}

}  // namespace tenants
