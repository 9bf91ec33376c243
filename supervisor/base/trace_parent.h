// TraceContext: where a request belongs in its caller's trace (https://www.w3.org/TR/trace-context/).
// Source: `_meta.traceparent` and `_meta.tracestate` of an MCP request, texts that anybody may have written. Used for:
// log fields, receipts, a program's environment, `_meta` of the calls that it makes, spans (../traces/).
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/json_fwd.h"

struct TraceParent {
  std::string text;  // "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"; empty: none

  // None of these of an empty one.
  std::string trace_id() const { return text.substr(3, 32); }
  std::string span_id() const { return text.substr(36, 16); }
  std::string flags() const { return text.substr(53, 2); }
  bool sampled() const;  // whoever is above records its spans
};

// Empty text when it is none: as the standard has it, a wrong one is as good as none. Of later versions, only what
// version 00 has is kept.
TraceParent parse_trace_parent(std::string_view text);
// What other tracing systems want to be handed on, as it was: up to 32 members in at most 512 bytes. Empty when it is
// anything else.
std::string parse_trace_state(std::string_view text);

struct TraceContext {
  TraceParent parent;
  std::string state;  // tracestate; empty: none

  bool empty() const { return parent.text.empty(); }
};
// `meta`: of a request, whatever it is. Without a traceparent there is no tracestate.
TraceContext read_trace_context(const Json& meta);
