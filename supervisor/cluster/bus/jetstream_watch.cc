#include "supervisor/cluster/bus/jetstream_watch.h"

#include <fmt/format.h>

#include <charconv>

#include "supervisor/base/clock.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/log.h"
#include "supervisor/cluster/bus/jetstream.h"
#include "supervisor/cluster/bus/kv_changes.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kHeartbeat = 2s;     // of a consumer without messages
constexpr auto kSilence = 5s;       // after which the consumer is taken for lost
constexpr auto kFirstRetry = 50ms;  // until the next attempt to reach the bucket
constexpr auto kMaxRetry = 2'000ms;
constexpr auto kAskLimit = 2'000ms;     // for the answer about a new consumer
constexpr int kMessagesInTurn = 500;    // then other work of the loop is done
constexpr size_t kMaxUnread = 1 << 20;  // messages

// Numbers in the reply subject of a consumer's message: "$JS.ACK.<stream>.<consumer>.<deliveries>.<revision>.<number>.
// <time>.<pending>"; newer servers have two tokens more behind $JS.ACK and a random one at the end.
struct Delivery {
  uint64_t revision = 0;
  uint64_t number = 0;   // counts the consumer's messages, from 1
  uint64_t time = 0;     // of the value's message, in ns: tells a new bucket's revision from an old one's
  uint64_t pending = 0;  // messages behind this
};

std::optional<uint64_t> whole_number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Delivery> parse_delivery(std::string_view reply) {
  std::vector<std::string_view> tokens;
  for (size_t begin = 0; begin <= reply.size() && tokens.size() < 16;) {
    const size_t dot = std::min(reply.find('.', begin), reply.size());
    tokens.push_back(reply.substr(begin, dot - begin));
    begin = dot + 1;
  }
  const size_t first = tokens.size() == 9 ? 5 : 7;
  if (tokens.size() < 9 || tokens.size() == 10 || tokens[0] != "$JS" || tokens[1] != "ACK") return std::nullopt;
  const auto revision = whole_number(tokens[first]), number = whole_number(tokens[first + 1]);
  const auto time = whole_number(tokens[first + 2]), pending = whole_number(tokens[first + 3]);
  if (!revision || !number || !time || !pending) return std::nullopt;
  return Delivery{*revision, *number, *time, *pending};
}

// What a watch and its task share.
struct WatchState {
  // The last message that a consumer has brought; revision 0: none. A message of this revision and time shows that the
  // server still has the bucket as it was up to there.
  struct Message {
    uint64_t revision = 0, time = 0;
  };
  std::shared_ptr<NatsCore> core;
  WatchedBucket bucket;
  std::shared_ptr<KvChanges> changes;
  std::shared_ptr<MessageFeed> feed;  // of the present consumer
  OneShot<>::Resolver keeper;         // the task that waits until it tries again
  uint64_t connects = 0;              // grows with each reconnect
  Message last;
};

// Waits until the feed has news, or for `limit`.
Task<> wait_for_news(std::shared_ptr<MessageFeed> feed, Loop& loop, std::chrono::milliseconds limit) {
  OneShot<> news(loop);
  feed->wake_instead(news.resolver());
  const Deadline deadline(loop, limit, [resolver = news.resolver()] { resolver.resolve_now(); });
  co_await news;
}

// One consumer, until it is lost. Returns whether it sent all keys.
class ConsumerRun {
 public:
  ConsumerRun(std::shared_ptr<WatchState> state, NatsCore::Subscribed subscribed, std::string inbox)
      : state_(std::move(state)), subscribed_(std::move(subscribed)), inbox_(std::move(inbox)) {
    state_->feed = subscribed_.feed;
  }
  ~ConsumerRun() {
    state_->feed.reset();
    state_->core->unsubscribe(subscribed_);  // the server then removes the consumer by itself
  }
  ConsumerRun(const ConsumerRun&) = delete;

  Task<bool> run();

 private:
  // What take_messages() left: no message, perhaps some, or the consumer is lost.
  enum class DeliveryState { all, some, lost };
  DeliveryState take_messages();
  bool take_message(BusMessage message);
  bool answer_flow_control(std::string subject);
  void finish_initial();

  std::shared_ptr<WatchState> state_;
  NatsCore::Subscribed subscribed_;
  std::string inbox_;
  uint64_t last_number_ = 0;  // of the consumer's messages
  uint64_t initial_ = 0;      // how many messages the consumer began with
  bool is_current_ = false;
  bool goes_on_ = false;  // begins with the last message of the consumer before
  Monotonic::time_point last_received_ = Monotonic::now();
};

Task<bool> ConsumerRun::run() {
  WatchState& state = *state_;
  const uint64_t connects = state.connects;
  Json config = {{"deliver_policy", "last_per_subject"},
                 {"ack_policy", "none"},
                 {"replay_policy", "instant"},
                 {"max_deliver", 1},
                 {"filter_subject", subject_of(state.bucket.name, state.bucket.filter)},
                 {"deliver_subject", inbox_},
                 {"idle_heartbeat", std::chrono::nanoseconds(kHeartbeat).count()},
                 {"flow_control", true},
                 {"num_replicas", 1},
                 {"mem_storage", true}};
  goes_on_ = state.last.revision > 0;
  if (goes_on_) {  // a bucket has one message of each key, so this is also the last one of each
    config["deliver_policy"] = "by_start_sequence";
    config["opt_start_seq"] = state.last.revision;
  }
  const Json body = {{"stream_name", stream_of(state.bucket.name)}, {"config", config}};
  OutgoingMessage question = jetstream_question("CONSUMER.CREATE." + stream_of(state.bucket.name), body);
  const auto answer =
      co_await ask_jetstream(state.core, std::move(question), fmt::format("watch '{}'", state.bucket.name), kAskLimit);
  if (answer && answer->error_code == kStreamNotFound) {
    log_warning("cluster: the server has lost the bucket '{}': it is made again", state.bucket.name);
    OutgoingMessage create;
    create.subject = fmt::format("$JS.API.STREAM.CREATE.{}", stream_of(state.bucket.name));
    create.bytes = state.bucket.settings;
    (void)co_await ask_jetstream(state.core, std::move(create), "make the bucket again", kAskLimit);
    co_return false;
  }
  if (answer && answer->error_code != 0) state.last = {};
  if (!answer || answer->error_code != 0 || state.connects != connects) co_return false;
  initial_ = number_member(answer->object, "num_pending");
  if (const auto delivered = answer->object.find("delivered"); delivered != answer->object.end())
    initial_ += delivered->is_object() ? number_member(*delivered, "consumer_seq") : 0;
  last_received_ = Monotonic::now();
  if (goes_on_ && initial_ == 0) {  // the server has lost the last message
    state.last = {};
    co_return false;
  }
  if (!goes_on_) state.changes->begin_all();
  if (initial_ == 0) finish_initial();
  while (!state.changes->ended() && state.core->state() != BusState::closed) {
    const DeliveryState messages = take_messages();
    if (messages == DeliveryState::lost || state.connects != connects || Monotonic::now() - last_received_ > kSilence)
      break;
    if (messages == DeliveryState::some) {
      co_await next_turn(state.core->loop());
      continue;
    }
    co_await wait_for_news(subscribed_.feed, state.core->loop(), 1s);
  }
  co_return is_current_;
}

ConsumerRun::DeliveryState ConsumerRun::take_messages() {
  for (int i = 0; i < kMessagesInTurn; i++) {
    std::optional<BusMessage> message = subscribed_.feed->take();
    if (!message) return DeliveryState::all;
    if (message->bytes.empty() || !take_message(*std::move(message))) return DeliveryState::lost;
    last_received_ = Monotonic::now();
  }
  return DeliveryState::some;
}

bool ConsumerRun::take_message(BusMessage message) {
  const char mark = message.bytes[0];
  message.bytes.erase(0, 1);
  if (mark == kMarkHeartbeat && !message.reply.empty()) return answer_flow_control(std::move(message.reply));
  if (mark == kMarkHeartbeat) return whole_number(message.bytes).value_or(last_number_) == last_number_;
  const std::optional<Delivery> delivery = parse_delivery(message.reply);
  if (!delivery || delivery->number != last_number_ + 1) return false;
  WatchState::Message& last = state_->last;
  if (goes_on_ && last_number_ == 0 && (delivery->revision != last.revision || delivery->time != last.time)) {
    last = {};  // the next consumer sends all keys
    return false;
  }
  last_number_ = delivery->number;
  last = {delivery->revision, delivery->time};
  if (auto key = key_of(state_->bucket.name, message.subject)) {  // others were not written by a bus
    if (mark == kMarkRemoved)
      state_->changes->removed(*key, delivery->revision);
    else
      state_->changes->value(*std::move(key), std::move(message.bytes), delivery->revision, delivery->time);
  }
  if (!is_current_ && (delivery->pending == 0 || last_number_ >= initial_)) finish_initial();
  return true;
}

// The server sends more when this program has read what it sent, so that its answers to pings, which come behind
// that, are not late.
bool ConsumerRun::answer_flow_control(std::string subject) {
  if (!subject.starts_with("$JS.FC.")) return true;
  OutgoingMessage answer;
  answer.subject = std::move(subject);
  return state_->core->publish(std::move(answer)).has_value();
}

void ConsumerRun::finish_initial() {
  is_current_ = true;
  state_->changes->end_all();
}

Task<> pause_before_retry(WatchState& state, std::chrono::milliseconds pause) {
  OneShot<> end(state.core->loop());
  state.keeper = end.resolver();
  const Deadline deadline(state.core->loop(), pause, [resolver = end.resolver()] { resolver.resolve_now(); });
  co_await end;
}

Task<> keep_watching(std::shared_ptr<WatchState> state) {
  const SubscriptionBounds bounds{.max_messages = kMaxUnread, .max_bytes = state->bucket.max_bytes};
  uint64_t connects = 0;
  for (auto pause = kFirstRetry; !state->changes->ended();) {
    if (state->core->state() == BusState::connected) {
      const std::string inbox = state->core->new_inbox();
      const auto subscribed = state->core->subscribe(inbox, {}, bounds, NatsTarget::Mark::watch);
      if (subscribed) {
        ConsumerRun consumer(state, *subscribed, inbox);
        const bool was_current = co_await consumer.run();
        if (was_current) pause = kFirstRetry;
      }
    }
    if (state->changes->ended()) co_return;
    if (connects != state->connects) pause = kFirstRetry;
    connects = state->connects;
    co_await pause_before_retry(*state, pause);
    pause = std::min<std::chrono::milliseconds>(pause * 2, kMaxRetry);
  }
}

class JetStreamWatch : public KvWatch {
 public:
  explicit JetStreamWatch(std::shared_ptr<WatchState> state) : state_(std::move(state)), tasks_(state_->core->loop()) {
    position_ = state_->core->inner_observers().add([watched = std::weak_ptr(state_)](const BusNotice& notice) {
      const auto alive = watched.lock();
      if (!alive || notice.kind != BusNotice::Kind::state) return;
      if (notice.state == BusState::connected) alive->connects++;
      if (notice.state == BusState::closed) alive->changes->end(closed_error(notice.text).value());
      if (alive->feed) alive->feed->wake();
      std::exchange(alive->keeper, {}).resolve();
    });
    tasks_.spawn(keep_watching(state_));
  }
  ~JetStreamWatch() override { state_->changes->end(closed_error("the watch was ended").value()); }
  Task<Result<KvChange>> next() override { return KvChanges::next(state_->changes); }

 private:
  std::shared_ptr<WatchState> state_;
  ObserverList<BusObserver>::Place position_;
  Scope tasks_;
};

}  // namespace

std::unique_ptr<KvWatch> watch_jetstream_bucket(std::shared_ptr<NatsCore> core, WatchedBucket bucket) {
  auto state = std::make_shared<WatchState>();
  state->core = std::move(core);
  state->changes = std::make_shared<KvChanges>(state->core->loop(), bucket.name, bucket.max_bytes);
  state->bucket = std::move(bucket);
  return std::make_unique<JetStreamWatch>(std::move(state));
}

}  // namespace cluster
