#include "supervisor/protocol/streamable_http/header_checks.h"

#include <charconv>
#include <cmath>

#include "supervisor/base/ascii.h"
#include "supervisor/base/base64.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/trimmed.h"
#include "supervisor/protocol/mcp/protocol.h"

namespace streamable_http {
namespace {

constexpr std::string_view kBase64Begin = "=?base64?", kBase64End = "?=";
constexpr int kMaxSchemaDepth = 16;  // of properties within properties

// The parameter that Mcp-Name repeats, by method.
constexpr std::pair<std::string_view, const char*> kNamedBy[] = {
    {"tools/call", "name"},  {"prompts/get", "name"},    {"resources/read", "uri"},
    {"tasks/get", "taskId"}, {"tasks/update", "taskId"}, {"tasks/cancel", "taskId"}};

const Json* meta_of(const Json& message) {
  const Json* params = find_member(message, "params");
  return params ? find_member(*params, "_meta") : nullptr;
}

// Whether the header occurs once and means `expected`.
bool says(const http::IncomingRequest& request, std::string_view header, std::string_view expected) {
  const std::string* value = request.field(header);
  const auto text = value ? decode_header(*value) : std::nullopt;
  return text && *text == expected;
}

// A number is compared by its value: "3.0" says 3.
bool says_number(const http::IncomingRequest& request, std::string_view header, double expected) {
  const std::string* value = request.field(header);
  const auto text = value ? decode_header(*value) : std::nullopt;
  double number = NAN;
  if (!text) return false;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  return error == std::errc() && end == text->data() + text->size() && number == expected;
}

// Compares the arguments with the headers that the schema names for them. `arguments`: nullptr: absent.
std::optional<std::string> find_wrong_param(const http::IncomingRequest& request, const Json& schema,
                                            const Json* arguments, int depth) {
  const Json* properties = find_member(schema, "properties");
  if (!properties || !properties->is_object() || depth > kMaxSchemaDepth) return {};
  for (const auto& [key, property] : properties->items()) {
    const Json* value = arguments ? find_member(*arguments, key) : nullptr;
    if (const Json* name = find_member(property, "x-mcp-header"); name && name->is_string()) {
      const std::string header = "mcp-param-" + lower_case(name->get_ref<const std::string&>());
      bool agrees = false;
      if (!value || value->is_null()) {
        agrees = request.count(header) == 0;
      } else if (value->is_number()) {
        agrees = says_number(request, header, value->get<double>());
      } else {
        agrees = says(request, header, value->is_string() ? value->get<std::string>() : dump_json(*value));
      }
      if (!agrees) return "Mcp-Param-" + name->get<std::string>();
    }
    if (auto wrong = find_wrong_param(request, property, value, depth + 1)) return wrong;
  }
  return {};
}

}  // namespace

std::optional<std::string> decode_header(std::string_view value) {
  if (!value.starts_with(kBase64Begin) || !value.ends_with(kBase64End) ||
      value.size() < kBase64Begin.size() + kBase64End.size())
    return std::string(value);
  value.remove_prefix(kBase64Begin.size());
  value.remove_suffix(kBase64End.size());
  auto text = from_base64(value);
  if (!text) return {};
  return *std::move(text);
}

bool is_modern(const http::IncomingRequest& request, const Json& message) {
  if (const Json* meta = meta_of(message); meta && (find_member(*meta, mcp::meta_key::kProtocolVersion) ||
                                                    find_member(*meta, mcp::meta_key::kClientCapabilities)))
    return true;
  const std::string* version = request.field("mcp-protocol-version");
  const auto existing = version ? mcp::version_named(*version) : std::nullopt;
  return message.is_object() && existing && mcp::era_of(*existing) == mcp::Era::modern;
}

std::optional<std::string> find_mismatch(const http::IncomingRequest& request, const Json& message,
                                         const mcp::Server& server) {
  const Json* meta = meta_of(message);
  const Json* version = meta ? find_member(*meta, mcp::meta_key::kProtocolVersion) : nullptr;
  if (version && version->is_string() && !says(request, "mcp-protocol-version", version->get_ref<const std::string&>()))
    return "MCP-Protocol-Version";
  const Json* method = find_member(message, "method");
  if (!method || !method->is_string()) return {};  // no request: the conversation refuses it
  const auto& called = method->get_ref<const std::string&>();
  if (!says(request, "mcp-method", called)) return "Mcp-Method";
  const Json* params = find_member(message, "params");
  if (!params) return {};
  for (const auto& [named, key] : kNamedBy) {
    const Json* name = named == called ? find_member(*params, key) : nullptr;
    if (name && name->is_string() && !says(request, "mcp-name", name->get_ref<const std::string&>())) return "Mcp-Name";
  }
  const Json* tool = called == "tools/call" ? find_member(*params, "name") : nullptr;
  const Json* schema = tool && tool->is_string() ? server.input_schema(tool->get_ref<const std::string&>()) : nullptr;
  return schema ? find_wrong_param(request, *schema, find_member(*params, "arguments"), 0) : std::nullopt;
}

bool accepts(const http::IncomingRequest& request, std::string_view type) {
  bool requested = false;
  const std::string_view group = type.substr(0, type.find('/') + 1);
  for (const auto& [name, value] : request.fields) {
    if (name != "accept") continue;
    requested = true;
    const std::string list = lower_case(value);
    std::string_view rest = list;
    while (!rest.empty()) {
      const size_t comma = rest.find(',');
      std::string_view item = rest.substr(0, comma);
      rest.remove_prefix(comma == rest.npos ? rest.size() : comma + 1);
      item = trimmed(item.substr(0, item.find(';')));
      if (item == type || item == "*/*" || (item.starts_with(group) && item.substr(group.size()) == "*")) return true;
    }
  }
  return !requested;
}

}  // namespace streamable_http
