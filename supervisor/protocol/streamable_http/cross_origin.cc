#include "supervisor/protocol/streamable_http/cross_origin.h"

#include <algorithm>
#include <array>

#include "supervisor/base/ascii.h"
#include "supervisor/base/trimmed.h"

namespace streamable_http {
namespace {

constexpr size_t kMaxRequested = 1024;  // bytes of Access-Control-Request-Headers

// Fields that clients of MCP send, besides those whose name begins with "mcp-".
constexpr std::array<std::string_view, 5> kClientFields = {"accept", "authorization", "content-type", "last-event-id",
                                                           "traceparent"};

bool may_be_sent(std::string_view name) {
  const auto is_name = [](char c) { return is_lower_or_digit(c) || c == '-'; };
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_name)) return false;
  return name.starts_with("mcp-") || std::find(kClientFields.begin(), kClientFields.end(), name) != kClientFields.end();
}

// The names of `request` that may be sent, "a, b".
std::string allowed_fields(std::string_view request) {
  std::string allowed;
  while (!request.empty()) {
    const size_t comma = std::min(request.find(','), request.size());
    const std::string name = lower_case(trimmed(request.substr(0, comma)));
    if (may_be_sent(name)) allowed += (allowed.empty() ? "" : ", ") + name;
    request.remove_prefix(std::min(comma + 1, request.size()));
  }
  return allowed;
}

}  // namespace

std::string cross_origin_fields(std::string_view origin) {
  std::string fields = "Access-Control-Allow-Origin: ";
  fields.append(origin);
  return fields +
         "\r\nVary: Origin\r\n"
         "Access-Control-Expose-Headers: Mcp-Session-Id, WWW-Authenticate\r\n";
}

std::optional<HttpAnswer> preflight_answer(const http::IncomingRequest& head) {
  if (head.method != "OPTIONS" || !head.field("access-control-request-method")) return std::nullopt;
  std::string fields = "Access-Control-Allow-Methods: POST, GET, DELETE\r\nAccess-Control-Max-Age: 600\r\n";
  const std::string* request = head.field("access-control-request-headers");
  if (request && request->size() <= kMaxRequested)
    if (const std::string allowed = allowed_fields(*request); !allowed.empty())
      fields += "Access-Control-Allow-Headers: " + allowed + "\r\n";
  // A page of the internet asks a browser of this machine or network.
  if (const std::string* local = head.field("access-control-request-private-network"); local && *local == "true")
    fields += "Access-Control-Allow-Private-Network: true\r\n";
  return HttpAnswer{204, {}, std::move(fields)};
}

}  // namespace streamable_http
