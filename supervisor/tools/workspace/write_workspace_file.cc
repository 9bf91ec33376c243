#include <fmt/format.h>

#include "supervisor/base/base64.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/log.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/tenants/workspace.h"
#include "supervisor/tools/workspace/workspace_paths.h"
#include "supervisor/tools/workspace/workspace_tools.h"

namespace tools {
namespace {

constexpr size_t kMaxContentBytes = 64 << 20;  // bytes; the connection bounds requests earlier

struct WriteArguments {
  std::string filename;
  RelativePath path;
  std::string bytes;
  tenants::WriteMode mode = tenants::WriteMode::replace;
};

// Moves the content out of `arguments`, because it may be large.
Result<WriteArguments> read_write_arguments(tenants::Tenant& tenant, Json& arguments) {
  Fields in(arguments, "write_workspace_file");
  WriteArguments to_write;
  TRY(to_write.filename, in.string("filename"));
  const Json* content = in.find("content");
  if (!content || !content->is_string() || content->get_ref<const std::string&>().size() > kMaxContentBytes)
    return tl::unexpected<Error>(in.string("content", kMaxContentBytes).error());
  TRY(std::string encoding, in.one_of("encoding", {"utf-8", "base64"}, "utf-8"));
  TRY(std::string mode, in.one_of("mode", {"replace", "append", "create"}, "replace"));
  CHECKED(in.done());
  if (to_write.filename.ends_with('/'))
    return fail(Code::invalid,
                "filename: '" + printable(to_write.filename, 256) + "' names a folder, and files only are written",
                "name a file; the folders of its path are made with it", "workspace");
  if (to_write.filename.find('\\') != std::string::npos)
    return fail(Code::invalid, "filename: '" + printable(to_write.filename, 256) + "' has a backslash",
                "write folders with /: data/x.csv", "workspace");
  TRY(to_write.path, workspace_path(tenant, to_write.filename));
  to_write.filename = to_write.path.text();
  to_write.bytes = std::move(arguments["content"].get_ref<std::string&>());
  if (encoding == "base64") {
    TRY(to_write.bytes, from_sent_base64(to_write.bytes));
  }
  if (mode == "append") to_write.mode = tenants::WriteMode::append;
  if (mode == "create") to_write.mode = tenants::WriteMode::create;
  return to_write;
}

}  // namespace

mcp::ToolDefinition write_workspace_file_definition() {
  mcp::ToolDefinition tool;
  tool.name = "write_workspace_file";
  tool.description = "Write a file in /workspace.";
  tool.input_schema = Json::parse(R"({
    "type": "object",
    "properties": {
      "filename": {"type": "string"},
      "content": {"type": "string"},
      "encoding": {"type": "string", "enum": ["utf-8", "base64"]},
      "mode": {"type": "string", "enum": ["replace", "append", "create"]}
    },
    "required": ["filename", "content"]
  })");
  return tool;
}

Task<Result<Json>> write_workspace_file(tenants::Tenant& tenant, Json arguments) {
  CO_TRY(WriteArguments to_write, read_write_arguments(tenant, arguments));
  const size_t count = to_write.bytes.size();
  CO_TRY(const uint64_t size,
         co_await tenant.workspace().write(to_write.path, std::move(to_write.bytes), to_write.mode));
  Json answer = {{"success", true},
                 {"message", fmt::format("Written {} bytes to {}", count, to_write.filename)},
                 {"filename", to_write.filename},
                 {"size", size}};
  co_return answer;
}

}  // namespace tools
