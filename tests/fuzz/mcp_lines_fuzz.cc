// Bytes of a client, through framing, JSON-RPC, _meta and a tool's schema. The first byte says how the rest is cut.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/line_splitter.h"
#include "supervisor/protocol/mcp/arguments.h"
#include "supervisor/protocol/mcp/jsonrpc.h"
#include "supervisor/protocol/mcp/protocol.h"

namespace {

constexpr size_t kMaxLine = 4096;

void require(bool holds) {
  if (!holds) std::abort();
}

// A line of ours is one line of JSON, whatever the client sent.
void check_line(const std::string& line) {
  require(line.find('\n') == line.npos);
  require(parse_json(line).has_value());
}

void check_message(const Json& value, std::string_view line = {}) {
  static const Json kSchema = Json::parse(
      R"({"type":"object","properties":{"code":{"type":"string","maxLength":9},"n":{"type":"integer","minimum":1,
      "maximum":5},"kind":{"enum":["a",1,null]},"list":{"type":"array","maxItems":2,"items":{"type":"boolean"}}},
      "required":["code"],"additionalProperties":false})");
  auto message = mcp::read_message(Json(value), line);
  if (!message) return check_line(mcp::error_line(message.error().id, message.error().error));
  check_line(mcp::result_line(mcp::RequestId{message->id.wire.empty() ? "0" : message->id.wire}, ""));
  auto meta = mcp::read_meta(message->params);
  if (!meta)
    return check_line(
        mcp::error_line(message->id.wire.empty() ? std::nullopt : std::optional(message->id), meta.error()));
  if (auto problems = mcp::find_problems(kSchema, message->params)) {
    require(!problems->empty());
    require(problems->size() < 4096);
  }
}

void check_item(const LineSplitter::Item& item) {
  if (item.kind == LineSplitter::Kind::too_long) {
    if (item.found) require(item.found->raw_id.size() <= EnvelopeScan::kMaxIdBytes);
    return;
  }
  require(item.text.size() <= kMaxLine);
  require(item.text.find('\n') == item.text.npos);
  require(value_bytes(item.text) > 0);
  auto value = mcp::parse_line(item.text);
  if (!value) return check_line(mcp::error_line(value.error().id, value.error().error));
  check_line(dump_json(*value));
  if (value->is_array()) {
    for (const auto& entry : *value) check_message(entry);
  } else {
    check_message(*value, item.text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t piece = data[0] == 0 ? 1 : data[0] * 16u;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  LineSplitter lines(kMaxLine);
  while (!bytes.empty()) {
    const auto space = lines.space();
    const size_t n = std::min({piece, space.size(), bytes.size()});
    require(n > 0);
    std::memcpy(space.data(), bytes.data(), n);
    lines.commit(n);
    bytes.remove_prefix(n);
    while (auto item = lines.next()) check_item(*item);
    require(lines.capacity() <= 16 * 1024);
  }
  if (auto item = lines.rest()) check_item(*item);
  return 0;
}
