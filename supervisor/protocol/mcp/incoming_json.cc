#include "supervisor/protocol/mcp/incoming_json.h"

#include <array>

#include "supervisor/base/json/json.h"
#include "supervisor/base/work.h"

namespace mcp {
namespace {

constexpr size_t kShortText = 1 << 10;  // bytes; the values of a shorter text are not counted

// Whether a member of _meta is about the transport of the request.
bool says_how_it_travels(const std::string& key) {
  return key == "progressToken" || key == "traceparent" || key == "tracestate" || key == "baggage" ||
         key.starts_with("io.modelcontextprotocol/");
}

// The order of keys does not matter: a client may repeat a request with another order. The recursion ends, because
// requests are nested at most kMaxJsonDepth deep.
size_t digest_of_member(const std::string& name, const Json& value) {
  size_t inside = 0;
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) inside += digest_of_member(key, member);
  } else if (value.is_array()) {
    for (const Json& item : value) inside = inside * 31 + digest_of_member("", item);
  } else {
    inside = std::hash<Json>()(value);
  }
  const std::array<size_t, 3> parts{std::hash<std::string>()(name), static_cast<size_t>(value.type()), inside};
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(parts.data()), sizeof parts});
}

}  // namespace

// Makes no copy: most requests never cause a question, and some are large.
size_t digest_of(const Json& params) {
  size_t digest = 0;
  const auto add = [&digest](const std::string& name, const Json& value) { digest += digest_of_member(name, value); };
  for (const auto& [name, value] : params.items()) {
    if (name == "requestState" || name == "inputResponses") continue;
    if (name != "_meta" || !value.is_object()) {
      add(name, value);
      continue;
    }
    // Members about the transport may differ when the request is repeated. All other members must be equal.
    for (const auto& [key, of] : value.items())
      if (!says_how_it_travels(key)) add(key, of);
  }
  return digest;
}

ReadingPlan plan_reading(std::string_view text, bool has_thread) {
  const bool is_long = text.size() > Work::kSmall;
  const size_t bytes = text.size() > kShortText && !(has_thread && is_long) ? value_bytes(text) : 0;
  return {has_thread && (is_long || has_many_values(text, bytes)), bytes};
}

IncomingJson read_on_loop(std::string_view text, size_t bytes) {
  auto value = parse_line(text);
  if (bytes == 0 || !value) return {std::move(value), {}};
  if (value->is_array()) return measure_json(text, std::move(value));
  return {std::move(value), {{bytes, {}}}};
}

IncomingJson measure_json(std::string_view text, tl::expected<Json, Refusal> value) {
  IncomingJson json{std::move(value), {}};
  if (!json.value) return json;
  const auto digest = [](const Json& message) {
    const auto params = message.is_object() ? message.find("params") : message.end();
    return params != message.end() && params->is_object() ? std::optional<size_t>(digest_of(*params)) : std::nullopt;
  };
  if (json.value->is_array()) {
    for (const Json& item : *json.value) json.measures.push_back({value_bytes(dump_json(item)), digest(item)});
  } else {
    json.measures.push_back({value_bytes(text), digest(*json.value)});
  }
  return json;
}

}  // namespace mcp
