#include "supervisor/mcp/jsonrpc.h"

#include "supervisor/base/json.h"
#include "supervisor/base/log.h"

using nlohmann::json;

namespace mcp {

namespace {

constexpr size_t kMaxIdBytes = 1024;
constexpr size_t kCountFrom = 256 << 10;  // shorter lines cannot hold enough values to hurt

tl::unexpected<Refusal> refuse(std::optional<RequestId> id, ErrorCode code, std::string message) {
  return tl::unexpected(Refusal{std::move(id), RpcError{code, std::move(message), {}}});
}

// A parsed value costs up to thirty times its text, "[]," being the worst: count before building.
bool has_more_values(std::string_view text, size_t limit) {
  size_t values = 1;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') i++;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',' || c == '[' || c == '{') {
      if (++values > limit) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<RequestId> RequestId::from(const json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text.size() > kMaxIdBytes) return {};
    RequestId id;
    append_json_string(id.wire, text);
    return id;
  }
  if (!value.is_number_integer()) return {};
  return RequestId{dump_json(value)};
}

tl::expected<json, Refusal> parse_line(std::string_view line, size_t max_values) {
  if (line.size() > kCountFrom && has_more_values(line, max_values)) {
    return refuse({}, ErrorCode::invalid_request, fmt::format("Invalid Request: more than {} values", max_values));
  }
  auto value = parse_json(line);
  if (value) return *std::move(value);
  const Error& error = value.error();
  if (error.what.starts_with("nested")) return refuse({}, ErrorCode::invalid_request, "Invalid Request: " + error.what);
  return refuse({}, ErrorCode::parse_error, "Parse error: " + error.what);
}

tl::expected<Message, Refusal> read_message(json value) {
  constexpr auto code = ErrorCode::invalid_request;
  if (!value.is_object()) return refuse({}, code, "Invalid Request: a message is an object");

  Message message;
  std::optional<RequestId> id;
  const auto id_member = value.find("id");
  const bool has_id = id_member != value.end();
  if (has_id) id = RequestId::from(*id_member);
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
  if (auto params = value.find("params"); params != value.end()) {
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

std::string error_line(const std::optional<RequestId>& id, const RpcError& error) {
  std::string line = R"({"jsonrpc":"2.0")";
  if (id) line += R"(,"id":)" + id->wire;
  line += R"(,"error":{"code":)" + std::to_string(static_cast<int>(error.code)) + R"(,"message":)";
  append_json_string(line, error.message);
  if (!error.data.is_null()) line += R"(,"data":)" + dump_json(error.data);
  line += "}}";
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

}  // namespace mcp
