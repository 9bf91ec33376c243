// URIs of the resources of a tenant: files of its workspace, kept output of its executions, logs of its sessions.
// Used by: supervisor/executions/runs/, supervisor/tools/. Errors: invalid, not_found.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/base/result.h"
#include "supervisor/tenants/executions.h"

namespace tenants {

constexpr std::string_view kWorkspaceScheme = "workspace:///";
constexpr std::string_view kWorkspaceTemplate = "workspace:///{+path}";
constexpr std::string_view kSessionScheme = "session:///";
constexpr std::string_view kSessionTemplate = "session:///{session_id}";
constexpr std::string_view kExecutionScheme = "exec:///";
constexpr std::string_view kResultPart = "result";  // of an execution in the foreground it is the stored value
constexpr std::string_view kStatsPart = "stats", kCodePart = "code", kReceiptPart = "receipt";
constexpr std::string_view kOutputTemplate = "exec:///{execution_id}/{stream}";

// The execution that exec:///<execution_id>/<part> names; nullopt for any other URI.
std::optional<std::string> execution_of_part(std::string_view uri, std::string_view part);

// SavedOutput: the kept output that a URI names, for example exec:///<execution_id>/stdout.
struct SavedOutput {
  std::string execution;
  Stream stream;
};
// Empty if `name` does not begin with exec:///. Errors: invalid, not_found.
Result<std::optional<SavedOutput>> parse_saved_output(std::string_view name);

}  // namespace tenants
