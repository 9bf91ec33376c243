#include "supervisor/records/spans/queue.h"

#include "supervisor/records/spans/open_span.h"
#include "tests/catch.h"

using namespace spans;

namespace {

const TraceContext kCaller{{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}, "rojo=1"};

}  // namespace

TEST_CASE("a full queue keeps the newest spans and counts the others", "[spans]") {
  Queue queue;
  size_t reported = 0;
  queue.added = [&reported] { reported++; };
  for (size_t i = 0; i < Queue::kMax + 10; i++) {
    Span span;
    span.name = std::to_string(i);
    queue.add(std::move(span));
  }
  CHECK(reported == Queue::kMax + 10);
  CHECK(queue.size() == Queue::kMax);
  CHECK(queue.counts.dropped == 10);
  const auto some = queue.take(512);
  REQUIRE(some.size() == 512);
  CHECK(some.front().name == "10");
  CHECK(some.back().name == "521");
  CHECK(queue.take(Queue::kMax).back().name == std::to_string(Queue::kMax + 9));
  CHECK(queue.take(1).empty());
}

TEST_CASE("a span is a part of its caller's", "[spans]") {
  Queue queue;
  TraceContext within;
  {
    OpenSpan span(&queue, kCaller, SpanKind::server, "outer");
    REQUIRE(span.recorded());
    within = span.context();
    OpenSpan inner(&queue, within, SpanKind::client, "inner");
    inner.set("text", std::string(1000, 'x'));
    inner.fail("timeout");
  }
  const auto spans = queue.take(9);
  REQUIRE(spans.size() == 2);
  const Span &inner = spans[0], &outer = spans[1];
  CHECK(outer.trace_id == kCaller.parent.trace_id());
  CHECK(outer.parent_id == kCaller.parent.span_id());
  CHECK(outer.state == "rojo=1");
  CHECK(outer.error.empty());
  CHECK(within.parent.text == "00-" + outer.trace_id + "-" + outer.id + "-01");
  CHECK(parse_trace_parent(within.parent.text).text == within.parent.text);
  CHECK(within.state == "rojo=1");
  CHECK(inner.trace_id == outer.trace_id);
  CHECK(inner.parent_id == outer.id);
  CHECK(inner.id != outer.id);
  CHECK(outer.started_ns <= inner.started_ns);
  CHECK(inner.started_ns <= inner.ended_ns);
  CHECK(inner.ended_ns <= outer.ended_ns + 1'000'000'000);
  REQUIRE(inner.attributes.size() == 2);
  CHECK(std::get<std::string>(inner.attributes[0].second).size() == 256);
  CHECK(inner.attributes[1] == std::pair<std::string, Value>("error.type", std::string("timeout")));
  CHECK(inner.error == "timeout");
}

TEST_CASE("of a caller's flags only those are handed on that are known", "[spans]") {
  Queue queue;
  for (const auto& [theirs, ours] : {std::pair("01", "-01"), std::pair("03", "-03"), std::pair("ff", "-03")}) {
    const TraceContext caller{{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-" + std::string(theirs)}, ""};
    OpenSpan span(&queue, caller, SpanKind::server, "work");
    CHECK(span.context().parent.text.substr(52) == ours);
  }
}

TEST_CASE("a span without a caller's trace begins one", "[spans]") {
  Queue queue;
  for (int i = 0; i < 2; i++) OpenSpan span(&queue, {}, SpanKind::server, "root");
  const auto spans = queue.take(9);
  REQUIRE(spans.size() == 2);
  CHECK(spans[0].trace_id.size() == 32);
  CHECK(spans[0].parent_id.empty());
  CHECK(spans[0].trace_id != spans[1].trace_id);
}

TEST_CASE("what is not to be recorded hands on what came", "[spans]") {
  Queue queue;
  const TraceContext unsampled{{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"}, "rojo=1"};
  {
    OpenSpan none(nullptr, kCaller, SpanKind::server, "a");
    CHECK(none.context().parent.text == kCaller.parent.text);
    OpenSpan no_trace(nullptr, {}, SpanKind::server, "b");
    CHECK(no_trace.context().empty());
    OpenSpan not_sampled(&queue, unsampled, SpanKind::server, "c");
    not_sampled.set("key", "value");
    not_sampled.fail("timeout");
    CHECK_FALSE(not_sampled.recorded());
    CHECK(not_sampled.context().parent.text == unsampled.parent.text);
    CHECK(not_sampled.context().state == "rojo=1");
    OpenSpan forgotten(&queue, kCaller, SpanKind::internal, "d");
    forgotten.forget();
  }
  CHECK(queue.size() == 0);
}
