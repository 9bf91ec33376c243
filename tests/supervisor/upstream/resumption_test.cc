#include "supervisor/upstream/resumption.h"

#include "tests/catch.h"

using namespace std::chrono_literals;
using upstream::Resumption;

namespace {

// What a resumption knows after each of the streams, one for each connection.
Resumption after(std::initializer_list<std::string_view> streams) {
  Resumption resumption;
  for (const auto text : streams) {
    http::EventStream events(1000);
    events.feed(text);
    while (events.next()) resumption.note(events);
    resumption.note(events);
  }
  return resumption;
}

}  // namespace

TEST_CASE("a stream is resumed after its last whole event", "[upstream]") {
  CHECK(after({"id: 1\ndata: x\n\nid: 2\ndata: y\n\n"}).last_id() == "2");
  CHECK(after({"id: 1\n\n"}).last_id() == "1");  // an event without data counts, too
  CHECK(after({"id: 1\n\nid: 2\ndata: never whole\n"}).last_id() == "1");
  CHECK(after({"id: 1\ndata: x\n\ndata: y\n\n"}).last_id() == "1");  // an id holds until the next one
  CHECK(after({"id: 1\n\n", "data: y\n\n"}).last_id() == "1");       // over connections, too
  CHECK(after({"id: 1\n\n", "id: a b\n\n"}).last_id() == "a b");
  CHECK_FALSE(after({"data: x\n\n"}).is_possible());
  CHECK_FALSE(after({"id: 1\n\nid:\n\n"}).is_possible());
}

TEST_CASE("after an id that no header can carry nothing is resumed", "[upstream]") {
  const std::string wrong =
      GENERATE(as<std::string>(), "a\tb", "a\x01", "\xC3\xA9", "\x7f", "a ", std::string(1025, 'x'));
  CHECK_FALSE(after({"id: 1\n\nid: " + wrong + "\ndata: x\n\n"}).is_possible());
  CHECK(after({"id: " + std::string(1024, 'x') + "\n\n"}).is_possible());
}

TEST_CASE("the pause is the server's, within bounds", "[upstream]") {
  auto [text, pause] = GENERATE(table<std::string, std::chrono::milliseconds>({
      {"data: x\n\n", 1000ms},
      {"retry: 0\n\n", 100ms},
      {"retry: 2500\n\n", 2500ms},
      {"retry: 86400000\n\n", 30'000ms},
      {"retry: 4294967295\n\n", 30'000ms},
      {"retry: 99999999999999999999\n\n", 1000ms},
      {"retry: -5\n\n", 1000ms},
  }));
  CAPTURE(text);
  auto resumption = after({text});
  CHECK(resumption.pause() == pause);
  CHECK(resumption.next_pause() == pause);
}

TEST_CASE("attempts in vain are bounded, and wait longer each time", "[upstream]") {
  auto resumption = after({"id: 1\nretry: 10000\n\n"});
  for (const auto pause : {10'000ms, 20'000ms, 30'000ms, 30'000ms, 30'000ms}) CHECK(resumption.next_pause() == pause);
  CHECK_FALSE(resumption.next_pause());
  CHECK(resumption.attempts() == 5);
}

TEST_CASE("a new event gives new attempts, but not without end", "[upstream]") {
  Resumption resumption;
  unsigned attempts = 0;
  for (int event = 0; event < 2000; event++) {
    http::EventStream events(100);
    events.feed("id: " + std::to_string(event) + "\nretry: 1\n\n");
    (void)events.next();
    resumption.note(events);
    if (resumption.next_pause()) attempts++;
  }
  CHECK(attempts == Resumption::kMaxInAll);
  // The same event again is no new event.
  auto stuck = after({"id: 1\n\n", "id: 1\n\n"});
  for (unsigned i = 0; i < Resumption::kMaxInVain; i++) CHECK(stuck.next_pause());
  CHECK_FALSE(stuck.next_pause());
}
