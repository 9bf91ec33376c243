#include "supervisor/base/trace_parent.h"

#include "supervisor/base/json/json_value.h"
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

TEST_CASE("a traceparent says whether its trace is recorded", "[trace]") {
  const std::string begin = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-";
  CHECK(parse_trace_parent(begin + "01").span_id() == "00f067aa0ba902b7");
  CHECK(parse_trace_parent(begin + "0b").flags() == "0b");
  for (const char* flags : {"01", "03", "ff", "0b"}) CHECK(parse_trace_parent(begin + flags).sampled());
  for (const char* flags : {"00", "02", "fe", "0a", "10"}) CHECK_FALSE(parse_trace_parent(begin + flags).sampled());
}

TEST_CASE("a tracestate is handed on as it was", "[trace]") {
  for (const std::string& good :
       {std::string("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"), std::string("a=1"), std::string("1a@b_-*/2=x y;:"),
        std::string(" a=1\t, ,b=2 "), "a=" + std::string(256, 'x')}) {
    CAPTURE(good);
    CHECK(parse_trace_state(good) == good);
  }
}

TEST_CASE("what is no tracestate is none", "[trace]") {
  std::string many;
  for (int i = 0; i < 33; i++) many += "k" + std::to_string(i) + "=v,";
  for (const std::string& wrong :
       {std::string(""), std::string(","), std::string("a"), std::string("=1"), std::string("a="), std::string("A=1"),
        std::string("_a=1"), std::string("a=1=2"), std::string("a=\x7f"), std::string("a=\n"),
        std::string("a=\xc3\xa4"), std::string("a@=1"), std::string("a@b@c=1"), std::string("a=1,a=2"),
        "a=" + std::string(257, 'x'), std::string(257, 'a') + "=1",
        "a=" + std::string(250, 'x') + ",b=" + std::string(260, 'y'), many}) {
    CAPTURE(wrong);
    CHECK(parse_trace_state(wrong).empty());
  }
}

TEST_CASE("the context of a request is in its _meta", "[trace]") {
  const std::string parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const TraceContext both = read_trace_context({{"traceparent", parent}, {"tracestate", "a=1"}});
  CHECK(both.parent.text == parent);
  CHECK(both.state == "a=1");
  CHECK(read_trace_context({{"traceparent", parent}, {"tracestate", {"a=1"}}}).state.empty());
  for (const Json& none : {Json(), Json(7), Json::array({parent}), Json{{"tracestate", "a=1"}},
                           Json{{"traceparent", {parent}}}, Json{{"traceparent", "00"}, {"tracestate", "a=1"}}}) {
    CAPTURE(none.dump());
    CHECK(read_trace_context(none).empty());
    CHECK(read_trace_context(none).state.empty());
  }
}
