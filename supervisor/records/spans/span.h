// Span: one piece of work in a trace, as OpenTelemetry defines it (opentelemetry-proto, opentelemetry/proto/trace/v1).
// Source: open_span.cc, when the work is over. Used by: encoding.cc.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace spans {

enum class SpanKind { internal = 1, server = 2, client = 3 };  // the protocol's numbers

using Value = std::variant<std::string, int64_t, double>;

struct Span {
  // Lower-case hexadecimal digits: 32, 16, and 16 or empty.
  std::string trace_id, id, parent_id;
  std::string state;  // tracestate of the W3C Trace Context
  std::string name;
  SpanKind kind = SpanKind::internal;
  int64_t started_ns = 0, ended_ns = 0;  // since 1970
  std::vector<std::pair<std::string, Value>> attributes;
  std::string error;  // one word; empty: the work did not fail
};

}  // namespace spans
