#include "supervisor/protocol/mcp/content.h"

#include <fmt/format.h>

#include "supervisor/base/base64.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/media_type.h"

namespace mcp {

namespace {

struct BlockWriter {
  std::string& out;
  Version version;

  void operator()(const Text& block) const { text(block.text); }
  void operator()(const Image& block) const { media("image", block.base64, block.mime_type); }
  void operator()(const Audio& block) const {
    if (has_audio(version)) {
      media("audio", block.base64, block.mime_type);
    } else {
      text(fmt::format("[{}, {} bytes as base64]", block.mime_type, block.base64.size()));
    }
  }
  void operator()(const ResourceLink& block) const {
    if (!has_resource_links(version)) {
      text(fmt::format("{}: {}", block.name, block.uri));
      return;
    }
    out += '{';
    append_member(out, "type", "resource_link");
    append_member(out, "uri", block.uri);
    append_member(out, "name", block.name);
    append_optional(out, "title", block.title);
    append_optional(out, "description", block.description);
    append_optional(out, "mimeType", block.mime_type);
    if (block.size) {
      append_key(out, "size");
      out += std::to_string(*block.size);
    }
    out += '}';
  }
  void operator()(const ResourceContents& block) const {
    out += '{';
    append_member(out, "type", "resource");
    append_key(out, "resource");
    append_contents(out, block);
    out += '}';
  }

 private:
  void text(std::string_view text) const {
    out += R"({"type":"text","text":)";
    append_json_string(out, text);
    out += '}';
  }
  void media(std::string_view type, std::string_view base64, std::string_view mime_type) const {
    out += '{';
    append_member(out, "type", type);
    append_member(out, "data", base64);
    append_member(out, "mimeType", mime_type);
    out += '}';
  }
};

struct BlockSize {
  size_t operator()(const Text& block) const { return block.text.size(); }
  size_t operator()(const Image& block) const { return block.base64.size(); }
  size_t operator()(const Audio& block) const { return block.base64.size(); }
  size_t operator()(const ResourceLink& block) const { return block.uri.size() + block.name.size(); }
  size_t operator()(const ResourceContents& block) const { return block.data.size(); }
};

}  // namespace

ToolResult ToolResult::text(std::string text) {
  ToolResult result;
  result.content.push_back(Text{std::move(text)});
  return result;
}

ToolResult ToolResult::error(std::string text) {
  ToolResult result = ToolResult::text(std::move(text));
  result.is_error = true;
  return result;
}

ToolResult ToolResult::data(Json value) {
  ToolResult result = ToolResult::text(dump_json(value));
  result.structured = std::move(value);
  return result;
}

ToolResult ToolResult::error(const Error& error) {
  Json value = {{"success", false}, {"error", error.what}, {"code", code_name(error.code)}};
  if (!error.rule.empty()) value["rule"] = error.rule;
  if (!error.hint.empty()) value["remedy"] = error.hint;
  ToolResult result = data(std::move(value));
  result.is_error = true;
  return result;
}

ToolResult not_run_while_draining() {
  ToolResult result =
      ToolResult::error(Error{Code::unavailable,
                              0,
                              "the server is shutting down and takes no new calls; this call did not run",
                              "call again in some seconds, after the restart",
                              {}});
  result.meta[std::string(meta_key::kNotRun)] = R"("draining")";
  return result;
}

ToolResult shortened(ToolResult result, size_t bytes, size_t max_text_bytes) {
  ToolResult shorter;
  shorter.is_error = result.is_error;
  shorter.content.emplace_back(
      Text{fmt::format("The result had {} bytes, more than a task keeps; this is the beginning of its text. Return "
                       "less, or write it to a "
                       "file in the workspace.",
                       bytes)});
  for (Block& block : result.content) {
    Text* text = std::get_if<Text>(&block);
    if (!text) continue;
    if (text->text.size() > max_text_bytes)
      text->text = valid_utf8(std::string_view(text->text).substr(0, max_text_bytes));
    shorter.content.emplace_back(std::move(*text));
    break;
  }
  return shorter;
}

size_t min_size(const ToolResult& result) {
  size_t bytes = 0;
  for (const Block& block : result.content) bytes += std::visit(BlockSize{}, block);
  return bytes;
}

void append_block(std::string& out, const Block& block, Version version) {
  std::visit(BlockWriter{out, version}, block);
}

void append_blocks(std::string& out, const std::vector<Block>& blocks, Version version) {
  out += '[';
  for (size_t i = 0; i < blocks.size(); i++) {
    if (i > 0) out += ',';
    append_block(out, blocks[i], version);
  }
  out += ']';
}

void append_contents(std::string& out, const ResourceContents& contents) {
  out += '{';
  append_member(out, "uri", contents.uri);
  append_optional(out, "mimeType", contents.mime_type);
  append_member(out, contents.kind == ResourceContents::Kind::blob ? "blob" : "text", contents.data);
  out += '}';
}

void append_tool_result(std::string& members, const ToolResult& result, Version version) {
  append_key(members, "content");
  // Before 2026-07-28 structured content must be an object.
  const bool structured = result.structured && has_structured_content(version) &&
                          (era_of(version) == Era::modern || result.structured->is_object());
  if (result.content.empty() && result.structured && !structured) {
    append_blocks(members, {Text{dump_json(*result.structured)}}, version);  // or the result would arrive empty
  } else {
    append_blocks(members, result.content, version);
  }
  if (structured) {
    append_key(members, "structuredContent");
    members += dump_json(*result.structured);
  }
  if (result.is_error) {
    append_key(members, "isError");
    members += "true";
  }
}

std::vector<ResourceContents> file_contents(std::string uri, std::string mime_type, std::string bytes) {
  ResourceContents contents;
  contents.mime_type = std::move(mime_type);
  if (is_text(bytes)) {
    contents.data = std::move(bytes);
  } else {
    contents.kind = ResourceContents::Kind::blob;
    contents.data = to_base64(bytes);
  }
  contents.uri = std::move(uri);
  std::vector<ResourceContents> resource_contents;
  resource_contents.push_back(std::move(contents));
  return resource_contents;
}

std::vector<ResourceContents> json_contents(std::string uri, std::string text) {
  ResourceContents contents;
  contents.mime_type = "application/json";
  contents.data = std::move(text);
  contents.uri = std::move(uri);
  std::vector<ResourceContents> resource_contents;
  resource_contents.push_back(std::move(contents));
  return resource_contents;
}

}  // namespace mcp
