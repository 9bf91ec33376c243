// TraceParent: where a request belongs in its caller's trace (https://www.w3.org/TR/trace-context/).
// Source: `_meta.traceparent` of an MCP request, a string that anybody may have written. Used for: log fields,
// receipts, a program's environment.
#pragma once
#include <string>
#include <string_view>

struct TraceParent {
  std::string text;  // "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

  std::string trace_id() const { return text.substr(3, 32); }
};

// Empty text when it is none: as the standard has it, a wrong one is as good as none. Of later versions, only what
// version 00 has is kept.
TraceParent parse_trace_parent(std::string_view text);
