// TraceParent, TraceContext: the position of a request in its caller's trace (https://www.w3.org/TR/trace-context/).
// Source: `_meta.traceparent` and `_meta.tracestate` of an MCP request, untrusted texts. Used for: log fields,
// receipts, a program's environment, `_meta` of the program's calls, spans (../records/traces/).
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/json/json_fwd.h"

struct TraceParent {
  std::string text;  // "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"; empty: no trace

  // Must not be called if `text` is empty.
  std::string trace_id() const { return text.substr(3, 32); }
  std::string span_id() const { return text.substr(36, 16); }
  std::string flags() const { return text.substr(53, 2); }
  bool sampled() const;  // the caller records its spans
};

// An empty TraceParent if `text` is not valid: the standard treats an invalid traceparent like an absent one. Of later
// versions, only the fields of version 00 remain.
TraceParent parse_trace_parent(std::string_view text);
// Returns `text` unchanged if it is a valid tracestate: entries of other tracing systems, to be passed on; up to 32
// members in at most 512 bytes. Returns an empty text if it is not valid.
std::string parse_trace_state(std::string_view text);

struct TraceContext {
  TraceParent parent;
  std::string state;  // tracestate; empty: no tracestate

  bool empty() const { return parent.text.empty(); }
};
// `meta`: the `_meta` of a request, any JSON. Without a traceparent there is no tracestate.
TraceContext read_trace_context(const Json& meta);
