// What an upstream server says to the client that asked it: whatever comes, messages of ours are JSON, a call has
// so many questions, and nothing is left of calls, questions and persons that think when all have gone.
// The first byte says how: bit 0 the era of handshakes, bit 1 as an event stream, bit 2 two calls, bit 3 of two
// persons, bit 4 a person answers at once. The rest are the server's bytes, after what settled the era.
#include <uv.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "supervisor/base/json/json.h"
#include "supervisor/base/line_splitter.h"
#include "supervisor/base/log.h"
#include "supervisor/protocol/http/event_stream.h"
#include "supervisor/upstream/client.h"
#include "supervisor/upstream/result_value.h"
#include "supervisor/upstream/selection.h"
#include "tests/fresh_meter.h"

namespace {

constexpr size_t kMaxLine = 64 << 10;

void require(bool holds) {
  if (!holds) std::abort();
}

struct Wire {  // what the transport and the fuzz function share
  upstream::Transport::Listener listener;
  size_t sent = 0;
};

class Scripted : public upstream::Transport {
 public:
  explicit Scripted(std::shared_ptr<Wire> wire) : wire_(std::move(wire)) {}
  void begin(Listener listener) override { wire_->listener = std::move(listener); }
  void send(const Json& message, Arguments arguments) override {
    std::string line = dump_json(message);
    if (arguments.text)
      line = upstream::text_before_arguments(message) + *arguments.text + std::string(upstream::kAfterArguments);
    require(Json::accept(line) && line.find('\n') == line.npos && message.at("jsonrpc") == "2.0");
    wire_->sent++;
  }
  void cancel(int64_t) override {}
  void answered(int64_t) override {}
  void speak(const std::string&) override {}
  void close() override {}
  bool full() const override { return false; }
  uint64_t received() const override { return 0; }

 private:
  std::shared_ptr<Wire> wire_;
};

struct World {
  Loop loop;
  Work work{loop};
  LoopShares shares{loop, [] { return Monotonic::time_point(); }};  // nobody uses up a share
  size_t thinking = 0;
  World() { set_log_level(LogLevel::error); }
  void turn(int times) {
    for (int i = 0; i < times; i++) {
      while (!work.is_idle()) uv_run(loop.uv(), UV_RUN_ONCE);
      uv_run(loop.uv(), UV_RUN_NOWAIT);
    }
  }
};

struct Thinking {
  size_t& count;
  explicit Thinking(size_t& of) : count(of) { count++; }
  ~Thinking() { count--; }
  Thinking(const Thinking&) = delete;
};

Task<upstream::Reply> think(World& world, bool answers, upstream::Question question) {
  const Thinking alive(world.thinking);
  require(world.thinking <= 2 * upstream::ServerQuestions::kMaxOfCall);
  require(question.message.size() <= 3 * upstream::Question::kMaxMessage + 3 &&
          valid_utf8(question.message) == question.message);
  require(question.schema.at("type") == "object" &&
          question.schema.at("properties").size() <= upstream::Question::kMaxFields);
  (void)question.fits(Json::object(), FreshMeter());
  if (!answers) {
    Event never;
    co_await never;
  }
  co_await next_turn(world.loop);
  upstream::Reply reply;
  reply.action = upstream::Reply::Action::accept;
  co_return reply;
}

Task<> make_call(World& world, std::shared_ptr<upstream::Client> client, std::string owner_id, bool answers) {
  upstream::Client::Request order;
  order.params = {{"name", "t"}};
  order.arguments.text = std::make_shared<const std::string>("{}");
  order.limit = std::chrono::hours(1);
  order.progress = [](double, std::optional<double>, std::string_view text) { require(valid_utf8(text) == text); };
  order.asking.owner_name = std::move(owner_id);
  order.asking.able = true;
  order.asking.ask = [&world, answers](upstream::Question question) {
    return think(world, answers, std::move(question));
  };
  auto answer = co_await client->call(std::move(order));
  if (!answer) {
    require(!answer.error().what.empty());
    co_return;
  }
  auto value = upstream::value_of(*std::move(answer));
  require(Json::accept(dump_json(value.value)) && Json::accept(dump_json(value.failure)));
  (void)upstream::Selection::of({"a.b", "id"})->apply(std::move(value.value), FreshMeter());
}

Task<> open(std::shared_ptr<upstream::Client> client) {
  (void)co_await client->open(std::chrono::hours(1), upstream::Client::Questions::some);
}

void feed_lines(World& world, const std::shared_ptr<Wire>& wire, std::string_view bytes) {
  LineSplitter lines(kMaxLine);
  while (!bytes.empty()) {
    const auto space = lines.space();
    const size_t n = std::min(space.size(), bytes.size());
    std::memcpy(space.data(), bytes.data(), n);
    lines.commit(n);
    bytes.remove_prefix(n);
    while (auto item = lines.next()) {
      if (item->kind == LineSplitter::Kind::line) {
        world.loop.spawn(wire->listener.message({item->text, {}}, {}));
      } else {
        wire->listener.too_long();
      }
      world.turn(1);
    }
  }
}

void feed_events(World& world, const std::shared_ptr<Wire>& wire, std::string_view bytes, int64_t of) {
  http::EventStream events(kMaxLine);
  while (!bytes.empty()) {
    const size_t n = std::min<size_t>(bytes.size(), 97);
    events.feed(bytes.substr(0, n));
    bytes.remove_prefix(n);
    while (auto event = events.next()) {
      require(event->data.size() <= kMaxLine);
      if (event->type == "message") world.loop.spawn(wire->listener.message({event->data, {}}, of));
      world.turn(1);
    }
    if (const size_t noise = events.take_noise(); noise > 0) wire->listener.noise(noise);
    if (events.too_large()) return wire->listener.too_long();
  }
}

size_t count_lines(std::string_view bytes) {
  return 1 +
         static_cast<size_t>(std::count_if(bytes.begin(), bytes.end(), [](char c) { return c == '\n' || c == '\r'; }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static World* world = new World;  // never destroyed: the fuzzer leaves by _exit()
  if (size == 0) return 0;
  const uint8_t how = data[0];
  const bool legacy = how & 1, events = how & 2, two = how & 4, two_persons = how & 8, answers = how & 16;
  auto wire = std::make_shared<Wire>();
  upstream::Client::Listener listener;
  const upstream::Variables secrets = {{"TOKEN", "s3cret-s3cret"}};
  auto client = std::make_shared<upstream::Client>(
      world->loop, upstream::Client::Reading{world->work, {"fuzz"}, world->shares.of("fuzz")},
      std::make_unique<Scripted>(wire), secrets, listener);
  {
    Scope calls(world->loop);
    calls.spawn(open(client));
    int64_t last = 1;
    if (legacy) {
      world->loop.spawn(
          wire->listener.message({R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}})", {}}, 1));
      world->turn(2);
      world->loop.spawn(
          wire->listener.message({R"({"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25"}})", {}}, 2));
      last = 2;
    } else {
      world->loop.spawn(
          wire->listener.message({R"({"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"]}})", {}}, 1));
    }
    world->turn(2);
    require(client->era() == (legacy ? mcp::Era::legacy : mcp::Era::modern));
    calls.spawn(make_call(*world, client, "ada", answers));
    if (two) calls.spawn(make_call(*world, client, two_persons ? "bob" : "ada", answers));
    last += two ? 2 : 1;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    const size_t before = wire->sent, messages = count_lines(bytes);
    if (events) {
      feed_events(*world, wire, bytes, last);
    } else {
      feed_lines(*world, wire, bytes);
    }
    world->turn(4);
    // A message is answered by at most one of ours; a call may be asked again so often.
    require(wire->sent - before <= messages + (two ? 2 : 1) * 11);
  }
  require(world->thinking == 0);
  require(client.use_count() == 1);
  client.reset();
  world->turn(2);
  return 0;
}
