#include "supervisor/cluster/bus/nats_core.h"

#include <fmt/format.h>

#include <utility>

#include "supervisor/base/random.h"

namespace cluster {
namespace {

constexpr size_t kMessageOverhead = 256;  // bytes that a queued message takes beside its own
constexpr size_t kMaxRequests = 16'384;   // that wait for their answers
constexpr const char* kConnectionRemedy = "wait until it is connected again";

size_t outgoing_bytes(const OutgoingMessage& message) {
  size_t bytes = message.subject.size() + message.reply.size() + message.bytes.size() + kMessageOverhead;
  for (const auto& [name, value] : message.headers) bytes += name.size() + value.size();
  return bytes;
}

}  // namespace

// One request's place among those that wait.
class NatsCore::WaitingRequest {
 public:
  WaitingRequest(NatsCore& core, std::string token, Answer::Resolver resolver) : core_(core), token_(std::move(token)) {
    core_.waiting_.emplace(token_, std::move(resolver));
  }
  ~WaitingRequest() { core_.waiting_.erase(token_); }
  WaitingRequest(const WaitingRequest&) = delete;

 private:
  NatsCore& core_;
  const std::string token_;
};

NatsCore::NatsCore(Loop& loop, BusSettings settings)
    : loop_(loop), settings_(std::move(settings)), inbox_(settings_.inbox_prefix + "." + random_hex(16)) {}

Result<std::shared_ptr<NatsCore>> NatsCore::open(Loop& loop, BusSettings settings) {
  std::shared_ptr<NatsCore> core(new NatsCore(loop, std::move(settings)));
  auto woken = [weak = std::weak_ptr(core)] {
    if (const auto alive = weak.lock()) alive->on_news();
  };
  TRY(core->handover_, NatsHandover::open(loop, woken));
  auto sender = NatsSender::start(core->handover_, core->settings_.max_unsent_bytes);
  if (!sender) {
    core->handover_->close();
    return tl::unexpected<Error>(std::move(sender).error());
  }
  core->sender_ = *std::move(sender);
  return core;
}

Task<Result<>> NatsCore::connect(std::shared_ptr<NatsCore> core) {
  // What the thread sets; the loop reads it after `done`, which comes with the news.
  struct Outcome {
    std::mutex mutex;
    std::optional<Result<>> result;
  };
  auto outcome = std::make_shared<Outcome>();
  core->replies_ = std::make_shared<MessageFeed>(core->loop_, core->settings_.reply_bounds);
  auto target = std::make_shared<NatsTarget>();
  target->handover = core->handover_;
  target->feed = core->replies_;
  target->mark = NatsTarget::Mark::reply;
  void* const number = enter_target(std::move(target));
  auto connected = std::make_shared<NatsTarget>();
  connected->feed = std::make_shared<MessageFeed>(core->loop_, SubscriptionBounds());
  core->connecting_ = connected->feed;
  core->sender_->post_always([outcome, connected, settings = core->settings_, number, inbox = core->inbox_ + ".*",
                              handover = core->handover_](NatsSession& session) {
    Result<> result = session.connect(settings);
    if (result) session.subscribe(number, inbox, {}, settings.reply_bounds);
    {
      const std::lock_guard lock(outcome->mutex);
      outcome->result = std::move(result);
    }
    connected->feed->push(BusMessage());
    handover->arrived(connected);
  });
  const auto report = co_await MessageFeed::next(connected->feed);
  if (!report) co_return tl::unexpected<Error>(report.error());
  const std::lock_guard lock(outcome->mutex);
  co_return *outcome->result;
}

void NatsCore::end(std::string why) {
  if (!sender_) return;
  why_ended_ = std::move(why);
  state_ = BusState::closed;
  status_ = why_ended_;
  sender_.reset();
  handover_->close();
  const Error error = closed_error(why_ended_).value();
  const BusNotice notice{BusNotice::Kind::state, state_, why_ended_};
  inner_observers_.each([&notice](const BusObserver& observer) { observer(notice); });
  if (connecting_) connecting_->end(error);  // libnats may give up before the thread says that it connects
  if (replies_) replies_->end(error);
  for (const auto& [target, feed] : std::exchange(subscriptions_, {})) {
    leave_target(target);
    ended_dropped_ += feed->dropped();
    feed->end(error);
  }
  for (const auto& [token, answer] : std::exchange(waiting_, {})) answer.resolve(tl::unexpected<Error>(error));
}

BusStats NatsCore::stats() const {
  BusStats stats = stats_;
  stats.dropped = ended_dropped_ + (replies_ ? replies_->dropped() : 0);
  for (const auto& [target, feed] : subscriptions_) stats.dropped += feed->dropped();
  return stats;
}

Result<> NatsCore::publish(OutgoingMessage message) {
  if (!sender_) return closed_error(why_ended_);
  if (message.bytes.size() > max_payload_) return too_large_error(message.subject, message.bytes.size(), max_payload_);
  const size_t bytes = outgoing_bytes(message);
  if (state_ == BusState::reconnecting && bytes_while_lost_ + bytes > settings_.max_reconnect_bytes)
    return fail(Code::exhausted, fmt::format("the bus is reconnecting, and {} bytes wait already", bytes_while_lost_),
                kConnectionRemedy);
  auto send = [message = std::move(message)](NatsSession& session) { session.publish(message); };
  if (!sender_->post(bytes, std::move(send)))
    return fail(Code::exhausted, fmt::format("more than {} bytes wait to be sent", settings_.max_unsent_bytes),
                "send less, or wait: the server reads too slowly");
  if (state_ == BusState::reconnecting) bytes_while_lost_ += bytes;
  stats_.published++;
  return {};
}

Result<NatsCore::Subscribed> NatsCore::subscribe(std::string filter, std::string group, SubscriptionBounds bounds,
                                                 NatsTarget::Mark mark) {
  if (!sender_) return closed_error(why_ended_);
  auto target = std::make_shared<NatsTarget>();
  target->handover = handover_;
  target->feed = std::make_shared<MessageFeed>(loop_, bounds);
  target->mark = mark;
  Subscribed subscribed{target->feed, nullptr};
  subscribed.target = enter_target(std::move(target));
  const bool posted = sender_->post(
      kMessageOverhead, [number = subscribed.target, filter = std::move(filter), group = std::move(group),
                         bounds](NatsSession& session) { session.subscribe(number, filter, group, bounds); });
  if (!posted) {
    leave_target(subscribed.target);
    return fail(Code::exhausted, "too many messages and subscriptions wait for the server", kConnectionRemedy);
  }
  subscriptions_.emplace(subscribed.target, subscribed.feed);
  return subscribed;
}

void NatsCore::unsubscribe(const Subscribed& subscribed) {
  leave_target(subscribed.target);
  subscribed.feed->end(closed_error("the subscription was ended").value());
  if (subscriptions_.erase(subscribed.target) == 0) return;
  ended_dropped_ += subscribed.feed->dropped();
  if (sender_)
    sender_->post_always([number = subscribed.target](NatsSession& session) { session.unsubscribe(number); });
}

std::string NatsCore::new_inbox() { return inbox_ + ".watch." + random_hex(16); }

Task<Result<BusMessage>> NatsCore::exchange(std::shared_ptr<NatsCore> core, OutgoingMessage message, std::string action,
                                            std::chrono::milliseconds timeout) {
  if (core->waiting_.size() >= kMaxRequests)
    co_return fail(Code::exhausted, fmt::format("{} requests wait for answers", kMaxRequests), "wait for one to end");
  Answer answer(core->loop_, closed_error("the bus has ended"));
  const WaitingRequest waiting(*core, message.request, answer.resolver());
  CO_CHECKED(core->publish(std::move(message)));
  const Deadline deadline(core->loop_, timeout, [resolver = answer.resolver(), action, timeout] {
    resolver.resolve_now(timeout_error(action, timeout));
  });
  co_return co_await answer;
}

Task<Result<BusMessage>> NatsCore::request(std::shared_ptr<NatsCore> core, OutgoingMessage message, std::string action,
                                           std::chrono::milliseconds timeout) {
  if (core->state_ == BusState::reconnecting)
    co_return fail(Code::unavailable, fmt::format("{}: the bus is reconnecting; nothing was sent", action),
                   kConnectionRemedy);
  message.request = random_hex(16);  // a node that got one request cannot answer others
  message.reply = core->inbox_ + "." + message.request;
  const std::string subject = message.subject;
  CO_TRY(BusMessage answer, co_await exchange(core, std::move(message), std::move(action), timeout));
  if (answer.bytes.starts_with(kMarkNoResponders)) co_return no_responders_error(subject);
  answer.bytes.erase(0, 1);
  co_return answer;
}

// The server returns a message to this client's own inbox after it has taken all that was sent before.
Task<Result<>> NatsCore::flush(std::shared_ptr<NatsCore> core, std::chrono::milliseconds timeout) {
  OutgoingMessage probe;
  probe.request = random_hex(16);
  probe.subject = core->inbox_ + "." + probe.request;
  CO_TRY(const BusMessage seen, co_await exchange(core, std::move(probe), "flush", timeout));
  co_return Result<>();
}

void NatsCore::on_news() {
  const auto self = shared_from_this();
  const NatsNews news = handover_->take();
  apply(news);
  for (const auto& target : news.arrivals)
    if (target->feed != replies_) target->feed->wake();
  read_replies();
}

void NatsCore::apply(const NatsNews& news) {
  stats_.unsent += news.unsent;
  max_payload_ = news.max_payload;
  if (!news.text.empty()) status_ = news.text;
  for (const std::string& token : news.failed_requests)
    if (const auto it = waiting_.find(token); it != waiting_.end())
      it->second.resolve(fail(Code::unavailable, "the request could not be sent", kConnectionRemedy));
  if (news.connects > connects_) {
    if (connects_ > 0) stats_.reconnects += news.connects - connects_;
    connects_ = news.connects;
    bytes_while_lost_ = 0;
    change_state(BusState::connected, news.is_connected ? news.text : "connected");  // then lost again, below
  }
  if (news.is_closed) {
    change_state(BusState::closed, news.text);
    loop_.defer([weak = weak_from_this(), why = news.text] {
      if (const auto alive = weak.lock()) alive->end(why);
    });
    return;
  }
  if (!news.is_connected && state_ == BusState::connected) change_state(BusState::reconnecting, news.text);
  for (const std::string& refusal : news.refusals) {
    if (refusal == std::exchange(last_refusal_, refusal)) continue;
    const BusNotice notice{BusNotice::Kind::refusal, state_, refusal};
    observers_.each([&notice](const BusObserver& observer) { observer(notice); });
  }
}

void NatsCore::change_state(BusState state, const std::string& text) {
  state_ = state;
  last_refusal_.clear();
  const BusNotice notice{BusNotice::Kind::state, state, text};
  inner_observers_.each([&notice](const BusObserver& observer) { observer(notice); });
  observers_.each([&notice](const BusObserver& observer) { observer(notice); });
}

void NatsCore::read_replies() {
  if (!replies_) return;
  while (std::optional<BusMessage> reply = replies_->take()) {
    const std::string_view subject = reply->subject;
    const auto it = waiting_.find(subject.substr(subject.rfind('.') + 1));
    if (it == waiting_.end() || !it->second.is_wanted()) {
      stats_.unknown_replies++;
      continue;
    }
    it->second.resolve(*std::move(reply));
  }
}

}  // namespace cluster
