// Encoding: writes spans as the body of an OTLP/HTTP request: an ExportTraceServiceRequest in the JSON encoding of the
// OpenTelemetry protocol (opentelemetry.io/docs/specs/otlp, "JSON Protobuf Encoding"): ids in hexadecimal digits,
// 64-bit numbers as decimal strings, enumerations as numbers, names in lowerCamelCase. Used by: exporter.cc.
#pragma once
#include <string>
#include <vector>

#include "supervisor/records/spans/span.h"

namespace traces {

// `host`: the machine's name. Bytes that are not UTF-8 become U+FFFD.
std::string encode(const std::vector<spans::Span>& spans, const std::string& host);

}  // namespace traces
