#include "supervisor/records/traces/encoding.h"

#include <fmt/format.h>

#include <cmath>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/version.h"
#include "tests/catch.h"

using namespace traces;

namespace {

spans::Span first() {
  spans::Span span;
  span.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  span.id = "00f067aa0ba902b7";
  span.name = "tools/call execute_code";
  span.kind = spans::SpanKind::server;
  span.started_ns = 1'795'361'886'000'000'001;
  span.ended_ns = 1'795'361'886'020'000'000;
  return span;
}

}  // namespace

TEST_CASE("a batch is encoded as OTLP has it in JSON", "[traces]") {
  spans::Span second = first();
  second.id = "b7ad6b7169203331";
  second.parent_id = "00f067aa0ba902b7";
  second.state = "rojo=1";
  second.name = "say \"\xff\n";
  second.kind = spans::SpanKind::client;
  second.attributes = {{"text", "a\\b"}, {"number", int64_t{-9'007'199'254'740'993}}, {"part", 20.25}};
  second.error = "timeout";
  const std::string expected =
      R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"warder"}},)"
      R"({"key":"service.version","value":{"stringValue":")" +
      std::string(kWarderVersion) +
      R"("}},{"key":"host.name","value":{"stringValue":"box"}}]},"scopeSpans":[{"scope":{"name":"warderd","version":")" +
      kWarderVersion +
      R"("},"spans":[{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00f067aa0ba902b7",)"
      R"("name":"tools/call execute_code","kind":2,"startTimeUnixNano":"1795361886000000001",)"
      R"("endTimeUnixNano":"1795361886020000000","attributes":[]},)"
      R"({"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"b7ad6b7169203331",)"
      R"("parentSpanId":"00f067aa0ba902b7","traceState":"rojo=1","name":"say \")"
      "\xEF\xBF\xBD"
      R"(\n","kind":3,"startTimeUnixNano":"1795361886000000001","endTimeUnixNano":"1795361886020000000",)"
      R"("attributes":[{"key":"text","value":{"stringValue":"a\\b"}},)"
      R"({"key":"number","value":{"intValue":"-9007199254740993"}},{"key":"part","value":{"doubleValue":20.25}}],)"
      R"("status":{"code":2,"message":"timeout"}}]}]}]})";
  CHECK(encode({first(), second}, "box") == expected);
  CHECK(parse_json(expected));
}

TEST_CASE("numbers that JSON does not have are none", "[traces]") {
  for (const double number : {std::nan(""), double{INFINITY}, -double{INFINITY}}) {
    spans::Span span = first();
    span.attributes = {{"part", number}};
    const std::string text = encode({span}, "box");
    CHECK(text.find(R"({"key":"part","value":{"doubleValue":0}})") != text.npos);
    CHECK(parse_json(text));
  }
}
