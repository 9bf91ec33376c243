#include "supervisor/protocol/mcp/jsonrpc.h"

#include <algorithm>
#include <cmath>

#include "supervisor/base/json/envelope_scan.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/value_bytes.h"
#include "supervisor/base/log.h"

namespace mcp {

namespace {

constexpr size_t kMaxIdBytes = 1024;
constexpr size_t kCountFrom = 512 << 10;  // bytes; the values of a shorter line take too little memory to count
constexpr double kMaxExact = 1LL << 53;   // a larger floating-point number may differ from the integer that was written

tl::unexpected<Refusal> refuse(std::optional<RequestId> id, ErrorCode code, std::string message) {
  return tl::unexpected(Refusal{std::move(id), RpcError{code, std::move(message), {}}});
}

std::optional<RequestId> certain_id(std::string_view line) {
  EnvelopeScan scan;
  scan.feed(line);
  const auto match = scan.found();
  if (!match || match->kind != EnvelopeScan::Kind::request) return {};
  return RequestId::from_text(match->raw_id);
}

bool is_integer(const Json& value) {
  if (value.is_number_integer()) return true;
  if (!value.is_number_float()) return false;
  const double number = value.get<double>();
  return std::trunc(number) == number && std::abs(number) <= kMaxExact;
}

}  // namespace

bool RequestId::is_plain() const { return wire.starts_with('"') || wire.find_first_of(".eE") == wire.npos; }

std::string RequestId::meaning() const {
  if (is_plain()) return wire;
  const auto number = parse_json(wire);
  return number && is_integer(*number) ? std::to_string(static_cast<int64_t>(number->get<double>())) : wire;
}

std::optional<RequestId> RequestId::from(const Json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text.size() > kMaxIdBytes) return {};
    RequestId id;
    append_json_string(id.wire, text);
    return id;
  }
  if (!is_integer(value)) return {};
  return RequestId{dump_json(value)};
}

std::optional<RequestId> RequestId::from_text(std::string_view raw) {
  const auto value = parse_json(raw);
  if (!value) return {};
  auto id = from(*value);
  if (id && !value->is_string()) id->wire = raw;
  return id;
}

tl::expected<Json, Refusal> parse_line(std::string_view line, size_t max_bytes) {
  constexpr auto too_much = ErrorCode::invalid_request;
  if (line.size() > kCountFrom) {
    if (const size_t bytes = value_bytes(line); bytes > max_bytes) {
      return refuse(certain_id(line), too_much,
                    fmt::format("Invalid Request: its values would take {} MiB of memory, {} are allowed; send it in "
                                "parts, or as one string",
                                bytes >> 20, max_bytes >> 20));
    }
  }
  auto value = parse_json(line);
  if (value) return *std::move(value);
  const Error& error = value.error();
  if (error.what.starts_with("nested")) return refuse(certain_id(line), too_much, "Invalid Request: " + error.what);
  return refuse(certain_id(line), ErrorCode::parse_error, "Parse error: " + error.what);
}

tl::expected<Message, Refusal> read_message(Json&& value, std::string_view line) {
  constexpr auto code = ErrorCode::invalid_request;
  if (!value.is_object()) return refuse({}, code, "Invalid Request: a message must be an object");

  Message message;
  std::optional<RequestId> id;
  const auto id_member = value.find("id");
  const bool has_id = id_member != value.end();
  if (has_id) id = RequestId::from(*id_member);
  if (id && id_member->is_number_float()) id = certain_id(line).value_or(*id);  // 1e3 is sent back as 1e3
  const bool is_reply = value.contains("result") || value.contains("error");
  const auto method = value.find("method");

  if (method == value.end() && is_reply) {  // an error without an id is legal
    message.kind = Message::Kind::response;
    if (id) message.id = *std::move(id);
    if (!value.contains("error")) message.result = std::move(value["result"]);
    return message;
  }
  if (has_id && !id) return refuse({}, code, "Invalid Request: id must be a string (up to 1 KiB) or a 64-bit integer");
  const auto jsonrpc = value.find("jsonrpc");
  if (jsonrpc == value.end() || *jsonrpc != "2.0") {
    return refuse(std::move(id), code, "Invalid Request: \"jsonrpc\" must be \"2.0\"");
  }
  if (method == value.end() || !method->is_string()) {
    return refuse(std::move(id), code, "Invalid Request: \"method\" must be a string");
  }
  message.method = std::move(method->get_ref<std::string&>());
  if (auto params = value.find("params"); params != value.end() && !params->is_null()) {
    if (!params->is_object()) return refuse(std::move(id), code, "Invalid Request: \"params\" must be an object");
    message.params = std::move(*params);
  }
  message.kind = has_id ? Message::Kind::request : Message::Kind::notification;
  if (id) message.id = *std::move(id);
  return message;
}

std::string result_line(const RequestId& id, std::string_view members) {
  std::string line;
  line.reserve(members.size() + id.wire.size() + 48);
  line += R"({"jsonrpc":"2.0","id":)";
  line += id.wire;
  line += R"(,"result":{)";
  line += members;
  line += "}}";
  return line;
}

std::string error_object(const RpcError& error) {
  std::string object = R"({"code":)" + std::to_string(static_cast<int>(error.code)) + R"(,"message":)";
  append_json_string(object, error.message);
  if (!error.data.is_null()) object += R"(,"data":)" + dump_json(error.data);
  object += '}';
  return object;
}

std::string error_line(const std::optional<RequestId>& id, const RpcError& error) {
  std::string line = R"({"jsonrpc":"2.0")";
  if (id) line += R"(,"id":)" + id->wire;
  line += R"(,"error":)" + error_object(error);
  line += '}';
  return line;
}

std::string request_line(const RequestId& id, std::string_view method, std::string_view params_members) {
  std::string line = R"({"jsonrpc":"2.0","id":)" + id.wire + R"(,"method":)";
  append_json_string(line, method);
  line += R"(,"params":{)";
  line += params_members;
  line += "}}";
  return line;
}

std::string notification_line(std::string_view method, std::string_view params_members) {
  std::string line = R"({"jsonrpc":"2.0","method":)";
  append_json_string(line, method);
  line += R"(,"params":{)";
  line += params_members;
  line += "}}";
  return line;
}

void append_key(std::string& members, std::string_view key) {
  if (!members.empty() && members.back() != '{') members += ',';
  append_json_string(members, key);
  members += ':';
}

void append_member(std::string& members, std::string_view key, std::string_view value) {
  append_key(members, key);
  append_json_string(members, value);
}

void append_optional(std::string& members, std::string_view key, std::string_view value) {
  if (!value.empty()) append_member(members, key, value);
}

}  // namespace mcp
