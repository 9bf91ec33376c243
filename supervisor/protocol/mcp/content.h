// ToolResult and its blocks: what a handler answers with, in no particular protocol version. The append_ functions
// write the wire form; only they know which kinds of content each version can carry. Used by: handlers, Server.
// Text and base64 data are written to the wire without becoming a JSON value first: a megabyte costs only its escaping.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/result.h"
#include "supervisor/protocol/mcp/protocol.h"

namespace mcp {

struct Text {
  std::string text;
};
struct Image {
  std::string base64;
  std::string mime_type;
};
struct Audio {
  std::string base64;
  std::string mime_type;
};
struct ResourceLink {
  std::string uri;
  std::string name;
  std::string title;  // empty: left out, as with the other optional strings here
  std::string description;
  std::string mime_type;
  std::optional<uint64_t> size;  // bytes
};
// The contents of one resource: text, or base64 when `blob`.
struct ResourceContents {
  enum class Kind { text, blob };
  std::string uri;
  std::string mime_type;
  Kind kind = Kind::text;
  std::string data;
};
// The contents of a resource that is JSON text.
std::vector<ResourceContents> json_contents(std::string uri, std::string text);
// The contents of a resource that is a file: text, or base64 of other bytes.
std::vector<ResourceContents> file_contents(std::string uri, std::string mime_type, std::string bytes);
using Block = std::variant<Text, Image, Audio, ResourceLink, ResourceContents>;

// The answer to tools/call. `is_error`: the tool could not do its task, and `content` says why, in words for the model.
struct ToolResult {
  std::vector<Block> content;
  std::optional<Json> structured;  // wire: structuredContent, since 2025-06-18
  bool is_error = false;
  ResultMeta meta;

  static ToolResult text(std::string text);
  static ToolResult error(std::string text);
  // {success: false, error, code, rule?, remedy?} as text and as structured content: the form of every failure.
  static ToolResult error(const Error& error);
  // `value` as structured content and as compact JSON text.
  static ToolResult data(Json value);
};

// The answer to a call that came after Server::drain(): the next daemon will take the call.
ToolResult not_run_while_draining();

// The beginning of a result that is too large to be kept, and a text that says so.
ToolResult shortened(ToolResult result, size_t bytes, size_t max_text_bytes);

// The least number of bytes that the result needs on the wire.
size_t min_size(const ToolResult& result);
// Appends content, structuredContent and isError. A kind of content that the version lacks becomes text: a link becomes
// its name and uri, audio its type and size.
void append_tool_result(std::string& members, const ToolResult& result, Version version);
void append_block(std::string& out, const Block& block, Version version);
void append_blocks(std::string& out, const std::vector<Block>& blocks, Version version);
// As an array element of resources/read.
void append_contents(std::string& out, const ResourceContents& contents);

}  // namespace mcp
