#include "supervisor/base/trace_parent.h"

#include "tests/catch.h"

TEST_CASE("a traceparent is taken as the standard writes it", "[trace]") {
  const std::string good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  CHECK(parse_trace_parent(good).text == good);
  CHECK(parse_trace_parent(good).trace_id() == "4bf92f3577b34da6a3ce929d0e0e4736");
  // Of a later version, what version 00 has.
  CHECK(parse_trace_parent("cc" + good.substr(2)).text == good);
  CHECK(parse_trace_parent("cc" + good.substr(2) + "-more").text == good);
}

TEST_CASE("what is no traceparent is none", "[trace]") {
  for (const char* wrong : {
           "",
           "00",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 ",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
           "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01more",
           "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
           "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
           "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0\n",
       }) {
    CAPTURE(wrong);
    CHECK(parse_trace_parent(wrong).text.empty());
  }
}
