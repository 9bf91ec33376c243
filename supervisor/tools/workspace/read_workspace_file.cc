#include <algorithm>

#include "supervisor/base/base64.h"
#include "supervisor/base/busy_time.h"
#include "supervisor/base/fields.h"
#include "supervisor/base/json.h"
#include "supervisor/base/media_type.h"
#include "supervisor/tenants/resource_uris.h"
#include "supervisor/tools/workspace/workspace_paths.h"
#include "supervisor/tools/workspace/workspace_tools.h"

namespace tools {
namespace {

constexpr size_t kUsualBytes = 64 << 10;
constexpr size_t kMaxBytes = 1 << 20;
constexpr size_t kMaxSequence = 4;  // bytes of one UTF-8 character

enum class Encoding { any, text, base64 };

struct FileOrder {
  std::string filename;
  std::optional<tenants::KeptOutput> kept;  // set: read this and not `path`
  RelativePath path;
  uint64_t offset = 0;
  std::optional<size_t> limit;
  Encoding encoding = Encoding::any;
};

Result<FileOrder> read_file_order(tenants::Tenant& tenant, const Json& arguments) {
  Fields in(arguments, "read_workspace_file");
  FileOrder order;
  TRY(order.filename, in.string("filename"));
  TRY(int64_t offset, in.integer_or("offset", 0, INT64_MAX, 0));
  if (in.has("limit")) {
    TRY(int64_t limit, in.integer("limit", 1, INT64_MAX));
    order.limit = std::min(static_cast<size_t>(limit), kMaxBytes);  // `more` is true if bytes are left out
  }
  TRY(std::string encoding, in.one_of("encoding", {"auto", "utf-8", "base64"}, "auto"));
  CHECKED(in.done());
  TRY(order.kept, tenants::parse_kept_output(order.filename));
  if (!order.kept) {
    TRY(order.path, workspace_path(tenant, order.filename));
    order.filename = order.path.text();
  }
  order.offset = static_cast<uint64_t>(offset);
  if (encoding == "utf-8") order.encoding = Encoding::text;
  if (encoding == "base64") order.encoding = Encoding::base64;
  return order;
}

Result<tenants::FileRange> read(tenants::Tenant& tenant, const FileOrder& order, uint64_t offset, size_t limit) {
  if (order.kept) return tenant.executions().read(order.kept->execution, order.kept->stream, offset, limit);
  return tenant.workspace().read(order.path, offset, limit);
}

// Cuts `range` to whole UTF-8 characters: it begins after a character that began earlier, and ends before a character
// that ends later. A range with less than one character grows to that character, also beyond `limit`.
Result<> keep_whole_characters(tenants::Tenant& tenant, const FileOrder& order, size_t limit,
                               tenants::FileRange& range) {
  auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  if (range.offset > 0 && !range.bytes.empty() && continues(range.bytes[0])) {
    TRY(tenants::FileRange start, read(tenant, order, range.offset, kMaxSequence - 1));
    auto next = std::find_if_not(start.bytes.begin(), start.bytes.end(), continues);
    TRY(range, read(tenant, order, range.offset + static_cast<uint64_t>(next - start.bytes.begin()), limit));
  }
  if (!range.more()) return {};  // a cut character at the file's end is an error of the file
  size_t whole = whole_utf8_prefix(range.bytes);
  if (whole == 0 && range.bytes.size() < kMaxSequence) {
    TRY(range, read(tenant, order, range.offset, kMaxSequence));
    whole = range.more() ? whole_utf8_prefix(range.bytes) : range.bytes.size();
  }
  range.bytes.resize(whole);
  return {};
}

Json answer_of(const FileOrder& order, const tenants::FileRange& range, std::string content, const char* encoding) {
  Json answer = {{"success", true}, {"filename", order.filename}};
  answer["content"] = std::move(content);
  answer["size"] = range.size;
  answer["offset"] = range.offset;
  answer["length"] = range.bytes.size();
  answer["encoding"] = encoding;
  answer["more"] = range.more();
  return answer;
}

// The answer as text only, without structured content. With both, a megabyte would be sent twice. A client that gives
// its model only the structured content (Claude Code) would drop the picture. The protocol requires structured content
// only for a tool with an output schema.
mcp::ToolResult as_text(const Json& answer) { return mcp::ToolResult::text(dump_json(answer)); }

// The answer with an image block, for a whole picture: base64 in the text would only cost the model tokens.
std::optional<mcp::ToolResult> as_image(tenants::Tenant& tenant, const FileOrder& order,
                                        const tenants::FileRange& start) {
  std::string_view type = image_type(start.bytes);
  if (type.empty() || order.encoding != Encoding::any || order.offset != 0 || start.size > kMaxBytes) return {};
  if (order.limit && *order.limit < start.size) return {};
  auto whole = read(tenant, order, 0, kMaxBytes);
  if (!whole || whole->more()) return {};
  Json answer = answer_of(order, *whole, "", "image");
  answer["mime_type"] = std::string(type);
  mcp::ToolResult result = as_text(answer);
  result.content.push_back(mcp::Image{to_base64(whole->bytes), std::string(type)});
  return result;
}

}  // namespace

mcp::ToolDefinition read_workspace_file_definition() {
  mcp::ToolDefinition tool;
  tool.name = "read_workspace_file";
  tool.description = "Read a file of /workspace, or kept output (exec:///...).";
  tool.input_schema = Json::parse(R"({
    "type": "object",
    "properties": {
      "filename": {"type": "string"},
      "offset": {"type": "integer"},
      "limit": {"type": "integer"},
      "encoding": {"type": "string", "enum": ["auto", "utf-8", "base64"]}
    },
    "required": ["filename"]
  })");
  tool.annotations.read_only = true;
  tool.annotations.destructive = false;
  tool.annotations.idempotent = true;
  tool.annotations.open_world = false;
  tool.meta = {{"anthropic/maxResultSizeChars",
                500'000}};  // characters; the caller chose the range, so the client need not cut it
  return tool;
}

Result<mcp::ToolResult> read_workspace_file(tenants::Tenant& tenant, const Json& arguments) {
  const NamedWork named_work(LoopWork::workspace, &tenant.name());
  TRY(FileOrder order, read_file_order(tenant, arguments));
  const size_t limit = order.limit.value_or(kUsualBytes);
  TRY(tenants::FileRange range, read(tenant, order, order.offset, limit));
  if (auto image = as_image(tenant, order, range)) return std::move(*image);
  if (order.encoding != Encoding::base64) {
    tenants::FileRange text = range;
    CHECKED(keep_whole_characters(tenant, order, limit, text));
    bool readable = order.encoding == Encoding::text ? valid_utf8(text.bytes) == text.bytes : is_text(text.bytes);
    if (readable) {
      std::string content = text.bytes;
      return as_text(answer_of(order, text, std::move(content), "utf-8"));
    }
    if (order.encoding == Encoding::text)
      return fail(Code::invalid, "'" + order.filename + "' is not UTF-8 text in this range",
                  "read it with encoding base64");
  }
  return as_text(answer_of(order, range, to_base64(range.bytes), "base64"));
}

}  // namespace tools
