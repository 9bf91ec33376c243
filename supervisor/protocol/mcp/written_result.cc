#include "supervisor/protocol/mcp/written_result.h"

#include <utility>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/json/json_value.h"

namespace mcp {
namespace {

std::optional<ResourceContents> read_contents(const Json& block) {
  const auto it = block.find("resource");
  if (it == block.end() || !it->is_object()) return {};
  const bool is_text = it->contains("text");
  return ResourceContents{text_member(*it, "uri"), text_member(*it, "mimeType"),
                          is_text ? ResourceContents::Kind::text : ResourceContents::Kind::blob,
                          text_member(*it, is_text ? "text" : "blob")};
}

std::optional<Block> read_block(const Json& block) {
  const std::string type = text_member(block, "type");
  if (type == "text") return Text{text_member(block, "text")};
  if (type == "image") return Image{text_member(block, "data"), text_member(block, "mimeType")};
  if (type == "audio") return Audio{text_member(block, "data"), text_member(block, "mimeType")};
  if (type == "resource") return read_contents(block);
  if (type != "resource_link") return {};
  ResourceLink link{text_member(block, "uri"),         text_member(block, "name"),     text_member(block, "title"),
                    text_member(block, "description"), text_member(block, "mimeType"), {}};
  if (const auto size = block.find("size"); size != block.end() && size->is_number_unsigned())
    link.size = size->get<uint64_t>();
  return link;
}

}  // namespace

std::string write_result(const ToolResult& result) {
  std::string members;
  append_tool_result(members, result, kNewestModern);
  append_key(members, "_meta");
  std::string meta;
  for (const auto& [key, text] : result.meta) {
    append_key(meta, key);
    meta += text;
  }
  return "{" + members + "{" + meta + "}}";
}

Result<ToolResult> read_result_text(std::string_view text) {
  TRY(const Json written, parse_json(text));
  return read_result(written);
}

Result<ToolResult> read_result(const Json& written) {
  const auto content = written.is_object() ? written.find("content") : written.end();
  if (!written.is_object() || content == written.end() || !content->is_array())
    return fail(Code::invalid, "it is not the result of a tool");
  ToolResult result;
  for (const Json& item : *content) {
    auto block = item.is_object() ? read_block(item) : std::nullopt;
    if (!block) return fail(Code::invalid, "it is not the result of a tool: content");
    result.content.push_back(*std::move(block));
  }
  const auto is_error = written.find("isError");
  result.is_error = is_error != written.end() && is_error->is_boolean() && is_error->get<bool>();
  if (const auto structured = written.find("structuredContent"); structured != written.end())
    result.structured = *structured;
  if (const auto meta = written.find("_meta"); meta != written.end() && meta->is_object())
    for (const auto& [key, value] : meta->items()) result.meta[key] = dump_json(value);
  return result;
}

}  // namespace mcp
