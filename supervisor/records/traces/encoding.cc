#include "supervisor/records/traces/encoding.h"

#include <fmt/format.h>

#include <cmath>

#include "supervisor/base/json/json.h"
#include "supervisor/base/version.h"

namespace traces {
namespace {

constexpr int kStatusError = 2;  // a span without an error has no status

void append_text(std::string& out, std::string_view key, std::string_view value) {
  out += fmt::format("\"{}\":", key);
  append_json_string(out, value);
}

struct ValueWriter {
  std::string& out;
  void operator()(const std::string& text) const { append_text(out, "stringValue", text); }
  void operator()(int64_t number) const { out += fmt::format("\"intValue\":\"{}\"", number); }
  // JSON has no infinity and no NaN: both become 0.
  void operator()(double number) const { out += fmt::format("\"doubleValue\":{}", std::isfinite(number) ? number : 0); }
};

void append_attribute(std::string& out, std::string_view key, const spans::Value& value) {
  out += out.ends_with('}') ? ",{" : "{";
  append_text(out, "key", key);
  out += ",\"value\":{";
  std::visit(ValueWriter{out}, value);
  out += "}}";
}

void append_span(std::string& out, const spans::Span& span) {
  out += fmt::format(R"({{"traceId":"{}","spanId":"{}")", span.trace_id, span.id);
  if (!span.parent_id.empty()) out += fmt::format(R"(,"parentSpanId":"{}")", span.parent_id);
  if (!span.state.empty()) append_text(out += ',', "traceState", span.state);
  append_text(out += ',', "name", span.name);
  out += fmt::format(R"(,"kind":{},"startTimeUnixNano":"{}","endTimeUnixNano":"{}")", static_cast<int>(span.kind),
                     span.started_ns, span.ended_ns);
  out += R"(,"attributes":[)";
  for (const auto& [key, value] : span.attributes) append_attribute(out, key, value);
  out += ']';
  if (!span.error.empty()) {
    out += fmt::format(R"(,"status":{{"code":{},)", kStatusError);
    append_text(out, "message", span.error);
    out += '}';
  }
  out += '}';
}

}  // namespace

std::string encode(const std::vector<spans::Span>& spans, const std::string& host) {
  std::string out = R"({"resourceSpans":[{"resource":{"attributes":[)";
  append_attribute(out, "service.name", "warder");
  append_attribute(out, "service.version", kWarderVersion);
  append_attribute(out, "host.name", host);
  out += R"(]},"scopeSpans":[{"scope":{)";
  append_text(out, "name", "warderd");
  append_text(out += ',', "version", kWarderVersion);
  out += R"(},"spans":[)";
  for (const spans::Span& span : spans) {
    if (&span != &spans.front()) out += ',';
    append_span(out, span);
  }
  return out + "]}]}]}";
}

}  // namespace traces
