#include <algorithm>

#include "policies/limits.h"
#include "policies/policy_parts.h"
#include "supervisor/base/base64.h"
#include "supervisor/base/busy_time.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/large_value.h"
#include "supervisor/base/media_type.h"
#include "supervisor/executions/runs/background.h"
#include "supervisor/tenants/kept_stream.h"
#include "supervisor/tenants/resource_uris.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/tools/workspace/file_lines.h"
#include "supervisor/tools/workspace/workspace_paths.h"
#include "supervisor/tools/workspace/workspace_tools.h"

namespace tools {
namespace {

constexpr size_t kUsualBytes = 64 << 10;
constexpr size_t kMaxBytes = 1 << 20;
constexpr size_t kMaxSequence = 4;  // bytes of one UTF-8 character
constexpr std::chrono::seconds kResultWait{20};

enum class Encoding { any, text, base64 };

// The file, the kept output or the result that a call reads.
struct FileOrder {
  std::string filename;
  RangeReader read;
  uint64_t size = 0;
  uint64_t offset = 0;
  std::optional<size_t> limit;
  Encoding encoding = Encoding::any;
  std::optional<LineQuery> lines;  // set: lines, not bytes
};

Result<LineQuery> read_line_query(Fields& in) {
  if (in.has("offset") || in.has("limit"))
    return fail(Code::invalid, "read_workspace_file: offset and limit count bytes, and the other arguments lines",
                "use start_line and end_line");
  LineQuery query;
  TRY(int64_t first, in.integer_or("start_line", 1, INT64_MAX, 1));
  TRY(int64_t last, in.integer_or("end_line", first, INT64_MAX, INT64_MAX));
  query.first = static_cast<uint64_t>(first), query.last = static_cast<uint64_t>(last);
  if (in.has("pattern")) {
    TRY(query.pattern, in.string("pattern"));
  }
  return query;
}

RangeReader reader_of(tenants::SavedStream stream) {
  return [stream = std::make_shared<const tenants::SavedStream>(std::move(stream))](uint64_t offset, size_t limit) {
    return stream->read(offset, limit);
  };
}

RangeReader reader_of(std::string text) {
  return [text = std::make_shared<const std::string>(std::move(text))](uint64_t offset, size_t limit) {
    tenants::FileRange range;
    range.offset = offset;
    range.size = text->size();
    if (offset < text->size()) range.bytes = text->substr(offset, limit);
    return Result<tenants::FileRange>(std::move(range));
  };
}

Result<tenants::SavedStream> open_file(tenants::Tenant& tenant, FileOrder& order) {
  TRY(const auto saved, tenants::parse_saved_output(order.filename));
  if (saved) return tenant.executions().open_stream(saved->execution, saved->stream);
  TRY(const RelativePath path, workspace_path(tenant, order.filename));
  order.filename = path.text();
  TRY(Fd file, tenant.workspace().open_file(path));
  return tenants::SavedStream::of_file(std::move(file));
}

// `text`: what `filename` names; absent: a file or kept output.
Result<FileOrder> read_file_order(tenants::Tenant& tenant, const Json& arguments, std::optional<std::string> text) {
  Fields in(arguments, "read_workspace_file");
  FileOrder order;
  TRY(order.filename, in.string("filename"));
  if (in.has("start_line") || in.has("end_line") || in.has("pattern")) {
    TRY(order.lines, read_line_query(in));
  }
  TRY(int64_t offset, in.integer_or("offset", 0, INT64_MAX, 0));
  if (in.has("limit")) {
    TRY(int64_t limit, in.integer("limit", 1, INT64_MAX));
    order.limit = std::min(static_cast<size_t>(limit), kMaxBytes);  // `more` is true if bytes are left out
  }
  TRY(std::string encoding, in.one_of("encoding", {"auto", "utf-8", "base64"}, "auto"));
  CHECKED(in.done());
  order.offset = static_cast<uint64_t>(offset);
  if (encoding == "utf-8") order.encoding = Encoding::text;
  if (encoding == "base64") order.encoding = Encoding::base64;
  if (text) {
    order.size = text->size();
    order.read = reader_of(*std::move(text));
  } else {
    TRY(tenants::SavedStream stream, open_file(tenant, order));
    order.size = stream.size();
    order.read = reader_of(std::move(stream));
  }
  return order;
}

// Cuts `range` to whole UTF-8 characters: it begins after a character that began earlier, and ends before a character
// that ends later. A range with less than one character grows to that character, also beyond `limit`.
Result<> keep_whole_characters(const FileOrder& order, size_t limit, tenants::FileRange& range) {
  auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  if (range.offset > 0 && !range.bytes.empty() && continues(range.bytes[0])) {
    TRY(tenants::FileRange start, order.read(range.offset, kMaxSequence - 1));
    auto next = std::find_if_not(start.bytes.begin(), start.bytes.end(), continues);
    TRY(range, order.read(range.offset + static_cast<uint64_t>(next - start.bytes.begin()), limit));
  }
  if (!range.more()) return {};  // a cut character at the file's end is an error of the file
  size_t full = whole_utf8_prefix(range.bytes);
  if (full == 0 && range.bytes.size() < kMaxSequence) {
    TRY(range, order.read(range.offset, kMaxSequence));
    full = range.more() ? whole_utf8_prefix(range.bytes) : range.bytes.size();
  }
  range.bytes.resize(full);
  return {};
}

void add_gap(Json& answer, const std::optional<tenants::FileRange::Gap>& gap) {
  if (gap) answer["left_out"] = {{"offset", gap->offset}, {"bytes", gap->bytes}};
}

Json answer_of(const FileOrder& order, const tenants::FileRange& range, std::string content, const char* encoding) {
  Json answer = {{"success", true}, {"filename", order.filename}};
  answer["content"] = std::move(content);
  answer["size"] = range.size;
  answer["offset"] = range.offset;
  answer["length"] = range.bytes.size();
  answer["encoding"] = encoding;
  answer["more"] = range.more();
  add_gap(answer, range.gap);
  return answer;
}

// The answer as text only, without structured content. With both, a megabyte would be sent twice. A client that gives
// its model only the structured content (Claude Code) would drop the picture. The protocol requires structured content
// only for a tool with an output schema.
mcp::ToolResult as_text(const Json& answer) { return mcp::ToolResult::text(dump_json(answer)); }

// The answer with an image block, for a whole picture: base64 in the text would only cost the model tokens.
std::optional<mcp::ToolResult> as_image(const FileOrder& order, const tenants::FileRange& start) {
  std::string_view type = image_type(start.bytes);
  if (type.empty() || order.encoding != Encoding::any || order.offset != 0 || start.size > kMaxBytes) return {};
  if (order.limit && *order.limit < start.size) return {};
  auto full = order.read(0, kMaxBytes);
  if (!full || full->more()) return {};
  Json answer = answer_of(order, *full, "", "image");
  answer["mime_type"] = std::string(type);
  mcp::ToolResult result = as_text(answer);
  result.content.push_back(mcp::Image{to_base64(full->bytes), std::string(type)});
  return result;
}

Json line_answer(const FileOrder& order, MatchedLines lines) {
  Json answer = {{"success", true}, {"filename", order.filename}};
  answer["content"] = std::move(lines.text);
  if (order.lines->pattern) {
    answer["matches"] = lines.count;
  } else if (lines.count > 0) {
    answer["start_line"] = lines.first;
    answer["end_line"] = lines.last;
  }
  if (lines.all_lines) answer["lines"] = *lines.all_lines;
  if (lines.cut > 0) answer["cut_lines"] = lines.cut;
  answer["more"] = lines.next_line || (!lines.all_lines && !order.lines->pattern);
  if (lines.next_line) answer["next_line"] = *lines.next_line;
  return answer;
}

// The bytes of a range, as text, base64 or a picture.
Result<mcp::ToolResult> read_bytes(const FileOrder& order) {
  const size_t limit = order.limit.value_or(kUsualBytes);
  TRY(tenants::FileRange range, order.read(order.offset, limit));
  if (auto image = as_image(order, range)) return std::move(*image);
  if (order.encoding != Encoding::base64) {
    tenants::FileRange text = range;
    CHECKED(keep_whole_characters(order, limit, text));
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

// Beside the loop: a file may be large, and a pattern slow. A line costs less than a byte of JSON.
Task<Result<mcp::ToolResult>> read_lines(Work* work, const tenants::Requester& requester, FileOrder order) {
  constexpr size_t kCheaper = 8, kMaxCharged = 32 << 20;
  auto shared = std::make_shared<const FileOrder>(std::move(order));
  std::function<Result<MatchedLines>(WorkMeter&)> job = [shared](WorkMeter& meter) {
    return find_lines(shared->read, *shared->lines, meter);
  };
  Result<MatchedLines> lines = fail(Code::internal, "not read");
  if (work) {
    const size_t charged = std::min<uint64_t>(shared->size / kCheaper, kMaxCharged);
    Work::Owner owner{requester.tenant->name(), policies::limits_of(*requester.policy).standard.json_bytes_per_second};
    lines = co_await work->run(std::move(owner), charged, std::move(job));
  } else {
    WorkMeter meter = bounded_work();
    lines = job(meter);
  }
  if (!lines) co_return tl::unexpected<Error>(std::move(lines).error());
  co_return as_text(line_answer(*shared, *std::move(lines)));
}

// A background execution whose result is named, while it works: how long, and its last line.
Json working_answer(const tenants::Requester& requester, runs::ExecutionStores stores, Json state) {
  const std::string id = state.value("execution_id", "");
  if (const auto record = stores.executions.find(id))
    state["running_seconds"] = std::max<int64_t>(0, journal::now_ms() - record->requested_ms) / 1000;
  constexpr size_t kTail = 400;
  if (const auto output = requester.tenant->executions().open_stream(id, tenants::Stream::out)) {
    const uint64_t size = output->size();
    auto tail = output->read(size - std::min<uint64_t>(size, kTail), kTail);
    std::string_view text = tail ? std::string_view(tail->bytes) : std::string_view();
    while (text.ends_with('\n')) text.remove_suffix(1);
    if (!text.empty()) state["last_output"] = valid_utf8(text.substr(text.rfind('\n') + 1));
  }
  return state;
}

bool reads_a_part(const Json& arguments) {
  for (const char* key : {"offset", "limit", "start_line", "end_line", "pattern"})
    if (arguments.contains(key)) return true;
  return false;
}

}  // namespace

mcp::ToolDefinition read_workspace_file_definition() {
  mcp::ToolDefinition tool;
  tool.name = "read_workspace_file";
  tool.description = "Read a file, kept output or a result (exec:///...); offset, limit: bytes.";
  tool.input_schema = Json::parse(R"({
    "type": "object",
    "properties": {
      "filename": {"type": "string"},
      "offset": {"type": "integer"},
      "limit": {"type": "integer"},
      "start_line": {"type": "integer"},
      "end_line": {"type": "integer"},
      "pattern": {"type": "string", "description": "regex"},
      "encoding": {"type": "string", "enum": ["auto", "utf-8", "base64"]}
    },
    "required": ["filename"]
  })");
  tool.annotations.read_only = true;
  tool.annotations.destructive = false;
  tool.annotations.idempotent = true;
  tool.meta = {{"anthropic/maxResultSizeChars",
                500'000}};  // characters; the caller chose the range, so the client need not cut it
  return tool;
}

Task<Result<mcp::ToolResult>> read_workspace_file(FileReading reading, const tenants::Requester& requester,
                                                  Json arguments) {
  std::optional<std::string> text;
  const Json named = arguments.value("filename", Json());
  const std::string uri = named.is_string() ? named.get<std::string>() : std::string();
  if (auto receipt = tenants::execution_of_part(uri, tenants::kReceiptPart); receipt && reading.journal) {
    CO_TRY(text, co_await reading.journal->receipt(requester.tenant->name(), *std::move(receipt)));
    if (!reads_a_part(arguments)) co_return mcp::ToolResult::text(*std::move(text));
  }
  if (const auto execution = tenants::execution_of_part(uri, tenants::kResultPart)) {
    CO_TRY(const runs::ExecutionResult result,
           co_await runs::await_result(reading.loop, reading.stores, *requester.tenant, *execution, kResultWait));
    if (result.state == runs::ExecutionResult::State::working) {
      CO_TRY(Json state, parse_json(result.text));
      co_return mcp::ToolResult::text(dump_json(working_answer(requester, reading.stores, std::move(state))));
    }
    if (result.state == runs::ExecutionResult::State::ended) {
      if (!reads_a_part(arguments) && result.text.size() <= kMaxBytes) co_return mcp::ToolResult::text(result.text);
      text = result.text;
    }
  }
  std::optional<NamedWork> named_work(std::in_place, LoopWork::workspace, &requester.tenant->name());
  CO_TRY(FileOrder order, read_file_order(*requester.tenant, arguments, std::move(text)));
  if (!order.lines) co_return read_bytes(order);
  named_work.reset();
  auto lines = co_await read_lines(reading.work, requester, std::move(order));
  co_return lines;
}

}  // namespace tools
