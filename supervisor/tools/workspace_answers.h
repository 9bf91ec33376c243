// The common parts of all tools' answers: URIs, detection of text and pictures.
// Used by: all folders of supervisor/tools. Errors: invalid, not_found.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/json_value.h"
#include "supervisor/mcp/registry.h"
#include "supervisor/tenants/tenant.h"

namespace tools {

constexpr std::string_view kWorkspaceScheme = "workspace:///";
constexpr std::string_view kSessionScheme = "session:///";
constexpr std::string_view kSessionTemplate = "session:///{session_id}";
constexpr std::string_view kWorkspaceTemplate = "workspace:///{+path}";
constexpr char kFolderType[] = "inode/directory";
constexpr std::string_view kExecutionScheme = "exec:///";
constexpr std::string_view kAccountName = "/stats";
constexpr std::string_view kOutputTemplate = "exec:///{execution_id}/{stream}";

// "image/png", "image/jpeg", "image/gif" or "image/webp", by the first bytes; empty: another type.
std::string_view image_type(std::string_view bytes);
// The type of a picture by its bytes, of a text by the name's ending. Other bytes are application/octet-stream, or
// application/pdf by the name.
std::string_view mime_type(std::string_view name, std::string_view bytes);

// True for UTF-8 without NUL, which a model can read as text.
bool is_text(std::string_view bytes);

// KeptOutput: the kept output that a URI names, for example exec:///<execution_id>/stdout.
struct KeptOutput {
  std::string execution;
  tenants::Stream stream;
};
// Empty if `name` does not begin with exec:///. Errors: invalid, not_found.
Result<std::optional<KeptOutput>> parse_kept_output(std::string_view name);

// The contents of a resource that is JSON text.
std::vector<mcp::ResourceContents> json_contents(std::string uri, std::string text);

// %41 becomes A. Errors: invalid.
Result<std::string> decode_percent(std::string_view text);
// For the path of a URI: writes each byte as %XX, except unreserved characters and '/'.
std::string encode_percent(std::string_view path);

}  // namespace tools
