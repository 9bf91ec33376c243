#include "supervisor/protocol/http/event_stream.h"

#include <string>
#include <vector>

#include "tests/catch.h"

using http::EventStream;

namespace {

using Told = std::vector<std::pair<std::string, std::string>>;

Told all_of(EventStream& stream) {
  Told report;
  while (auto event = stream.next()) report.emplace_back(event->type, event->data);
  return report;
}

}  // namespace

TEST_CASE("events are the same however their bytes come, and with each kind of line end", "[http]") {
  const size_t step = GENERATE(1, 2, 7, 1000);
  const std::string end = GENERATE(as<std::string>(), "\n", "\r\n", "\r");
  std::string text =
      "\xEF\xBB\xBF: hello|event: message|data: one|data:two||data||id: 7|unknown: x||event: other|data: 3||";
  for (size_t at; (at = text.find('|')) != text.npos;) text.replace(at, 1, end);
  EventStream stream(100);
  Told report;
  for (size_t at = 0; at < text.size(); at += step) {
    stream.feed(std::string_view(text).substr(at, step));
    for (auto& item : all_of(stream)) report.push_back(std::move(item));
  }
  const Told expected{{"message", "one\ntwo"}, {"message", ""}, {"other", "3"}};
  CHECK(report == expected);
}

TEST_CASE("an event is there when its empty line is", "[http]") {
  EventStream stream(100);
  stream.feed("data: x\n");
  CHECK_FALSE(stream.next());
  stream.feed("\n");
  CHECK(stream.next());
  CHECK_FALSE(stream.next());
}

TEST_CASE("a line or an event beyond the bound ends the stream", "[http]") {
  EventStream stream(100);
  SECTION("a line without an end") { stream.feed("data: " + std::string(95, 'x')); }
  SECTION("an event of many lines") {
    for (int i = 0; i < 60; i++) stream.feed("data: x\n");
  }
  CHECK_FALSE(stream.next());
  CHECK(stream.too_large());
  stream.feed("\n\ndata: y\n\n");
  CHECK_FALSE(stream.next());
}

TEST_CASE("what is no data is counted as noise", "[http]") {
  EventStream stream(100);
  stream.feed(": 45\ndata: x\n\nretry: 2500\nretry: -1\n");
  CHECK(all_of(stream).size() == 1);
  CHECK(stream.take_noise() == 5 + 12 + 10);
  CHECK(stream.take_noise() == 0);
  CHECK(stream.retry_ms() == 2500u);
}
