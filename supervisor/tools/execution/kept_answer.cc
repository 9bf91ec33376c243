#include "supervisor/tools/execution/kept_answer.h"

#include <utility>

#include "supervisor/base/json.h"
#include "supervisor/base/json_value.h"

namespace tools {
namespace {

std::string text_member(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// The blocks that answers of execute_code have.
std::optional<mcp::Block> read_block(const Json& block) {
  const std::string type = text_member(block, "type");
  if (type == "text") return mcp::Text{text_member(block, "text")};
  if (type == "image") return mcp::Image{text_member(block, "data"), text_member(block, "mimeType")};
  if (type != "resource_link") return {};
  mcp::ResourceLink link{text_member(block, "uri"),         text_member(block, "name"),     text_member(block, "title"),
                         text_member(block, "description"), text_member(block, "mimeType"), {}};
  if (const auto size = block.find("size"); size != block.end() && size->is_number_unsigned())
    link.size = size->get<uint64_t>();
  return link;
}

}  // namespace

std::string write_kept_answer(const mcp::ToolResult& result) {
  std::string members;
  mcp::append_tool_result(members, result, mcp::kNewestModern);
  mcp::append_key(members, "_meta");
  std::string meta;
  for (const auto& [key, text] : result.meta) {
    mcp::append_key(meta, key);
    meta += text;
  }
  return "{" + members + "{" + meta + "}}";
}

Result<mcp::ToolResult> read_kept_answer(std::string_view text) {
  TRY(const Json kept, parse_json(text));
  const auto content = kept.is_object() ? kept.find("content") : kept.end();
  if (!kept.is_object() || content == kept.end() || !content->is_array())
    return fail(Code::invalid, "the kept answer has another form");
  mcp::ToolResult result;
  for (const Json& one : *content) {
    auto block = one.is_object() ? read_block(one) : std::nullopt;
    if (!block) return fail(Code::invalid, "the kept answer has another form");
    result.content.push_back(*std::move(block));
  }
  const auto is_error = kept.find("isError");
  result.is_error = is_error != kept.end() && is_error->is_boolean() && is_error->get<bool>();
  if (const auto meta = kept.find("_meta"); meta != kept.end() && meta->is_object())
    for (const auto& [key, value] : meta->items()) result.meta[key] = dump_json(value);
  return result;
}

}  // namespace tools
