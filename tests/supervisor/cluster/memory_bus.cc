#include "memory_bus.h"

#include <fmt/format.h>

#include <stdexcept>

#include "memory_core.h"
#include "supervisor/cluster/bus/subjects.h"

namespace cluster {
namespace {

constexpr size_t kMaxHeldBytes = 4 << 20;

using Core = MemoryBroker::Core;

class MemorySubscription : public BusSubscription {
 public:
  MemorySubscription(std::shared_ptr<MemoryClient> client, std::list<MemoryClient::Subscribed>::iterator position)
      : client_(std::move(client)), place_(position), feed_(position->feed) {}
  ~MemorySubscription() override {
    feed_->end(closed_error("the subscription was ended").value());
    client_->ended_dropped += feed_->dropped();
    client_->subscriptions.erase(place_);
  }
  Task<Result<BusMessage>> next() override { return MessageFeed::next(feed_); }
  uint64_t dropped() const override { return feed_->dropped(); }

 private:
  std::shared_ptr<MemoryClient> client_;
  std::list<MemoryClient::Subscribed>::iterator place_;
  std::shared_ptr<MessageFeed> feed_;
};

Result<> send(const std::shared_ptr<Core>& core, const std::shared_ptr<MemoryClient>& client, BusMessage message) {
  if (client->state == BusState::closed) return closed_error(client->why_closed);
  if (message.bytes.size() > core->max_payload)
    return too_large_error(message.subject, message.bytes.size(), core->max_payload);
  const size_t bytes = message.subject.size() + message.reply.size() + message.bytes.size();
  const bool reserved = client->state == BusState::reconnecting || client->stalled;
  if (reserved && client->outgoing_bytes + bytes > kMaxHeldBytes)
    return fail(Code::exhausted,
                fmt::format("the bus is reconnecting, and {} bytes wait already", client->outgoing_bytes));
  client->stats.published++;
  if (core->tap) core->tap(client->name, message);
  auto go = [core, weak = std::weak_ptr(client), message = std::move(message)] {
    if (core->happens(core->faults.drop)) return;
    const auto sender = weak.lock();
    for (int times = core->happens(core->faults.duplicate) ? 2 : 1; times > 0; times--)
      core->after_delay(sender.get(), [core, message] { core->route(message); });
  };
  if (reserved) {
    client->outgoing_bytes += bytes;
    client->outgoing.push_back(std::move(go));
  } else {
    go();
  }
  return {};
}

struct RequestPlace {
  std::shared_ptr<MemoryClient> client;
  std::string inbox;
  ~RequestPlace() { client->requests.erase(inbox); }
};

Task<Result<BusMessage>> ask(std::shared_ptr<Core> core, std::shared_ptr<MemoryClient> client, BusMessage message,
                             std::string action, std::chrono::milliseconds timeout) {
  MemoryClient::Answer answer(core->loop, closed_error("the bus has ended"));
  const RequestPlace position{client, message.reply.empty() ? message.subject : message.reply};
  client->requests.emplace(position.inbox, answer.resolver());
  CO_CHECKED(send(core, client, std::move(message)));
  const Deadline deadline(core->loop, timeout, [resolver = answer.resolver(), action, timeout] {
    resolver.resolve_now(timeout_error(action, timeout));
  });
  co_return co_await answer;
}

Task<Result<BusMessage>> request_of(std::shared_ptr<Core> core, std::shared_ptr<MemoryClient> client,
                                    BusMessage message, std::chrono::milliseconds timeout) {
  CO_CHECKED(check_subject(message.subject));
  std::string action = fmt::format("request to '{}'", message.subject);
  if (client->state == BusState::reconnecting)
    co_return fail(Code::unavailable, action + ": the bus is reconnecting; nothing was sent");
  message.reply = fmt::format("_INBOX.{}.{}", client->name, ++client->last_token);
  co_return co_await ask(std::move(core), std::move(client), std::move(message), std::move(action), timeout);
}

Task<Result<>> flush_of(std::shared_ptr<Core> core, std::shared_ptr<MemoryClient> client,
                        std::chrono::milliseconds timeout) {
  BusMessage probe;
  probe.subject = fmt::format("_INBOX.{}.{}", client->name, ++client->last_token);
  CO_TRY(const BusMessage seen, co_await ask(std::move(core), std::move(client), std::move(probe), "flush", timeout));
  co_return Result<>();
}

template <class T>
Task<Result<T>> refused_by_memory(Error error) {
  co_return tl::unexpected<Error>(std::move(error));
}

class MemoryBus : public Bus {
 public:
  MemoryBus(std::shared_ptr<Core> core, std::shared_ptr<MemoryClient> client)
      : core_(std::move(core)), client_(std::move(client)) {}
  ~MemoryBus() override {
    client_->why_closed = "this node has closed it";
    client_->observers = {};
    core_->change_state(*client_, BusState::closed, client_->why_closed);
  }
  BusState state() const override { return client_->state; }
  std::string status() const override { return client_->status; }
  ObserverList<BusObserver>& observers() override { return client_->observers; }
  BusStats stats() const override {
    BusStats stats = client_->stats;
    stats.dropped = client_->ended_dropped;
    for (const auto& subscription : client_->subscriptions) stats.dropped += subscription.feed->dropped();
    return stats;
  }
  size_t max_payload() const override { return core_->max_payload; }
  Result<> publish(std::string subject, std::string bytes, std::string reply) override {
    CHECKED(check_subject(subject));
    if (!reply.empty()) CHECKED(check_subject(reply));
    return send(core_, client_, {std::move(subject), std::move(reply), std::move(bytes)});
  }
  Result<std::unique_ptr<BusSubscription>> subscribe(std::string filter, std::string group,
                                                     SubscriptionBounds bounds) override {
    CHECKED(check_filter(filter));
    if (!group.empty()) CHECKED(check_bucket_name(group));
    if (client_->state == BusState::closed) return closed_error(client_->why_closed);
    client_->subscriptions.push_back(
        {std::move(filter), std::move(group), std::make_shared<MessageFeed>(core_->loop, bounds)});
    return std::make_unique<MemorySubscription>(client_, std::prev(client_->subscriptions.end()));
  }
  Task<Result<BusMessage>> request(std::string subject, std::string bytes, std::chrono::milliseconds timeout) override {
    BusMessage message;
    message.subject = std::move(subject);
    message.bytes = std::move(bytes);
    return request_of(core_, client_, std::move(message), timeout);
  }
  Task<Result<>> flush(std::chrono::milliseconds timeout) override { return flush_of(core_, client_, timeout); }
  Task<Result<std::unique_ptr<KvBucket>>> open_bucket(std::string name, BucketSettings settings,
                                                      std::chrono::milliseconds limit) override {
    if (const auto checked = check_bucket_name(name); !checked)
      return refused_by_memory<std::unique_ptr<KvBucket>>(checked.error());
    return open_memory_bucket(core_, client_, std::move(name), settings, limit);
  }

 private:
  std::shared_ptr<Core> core_;
  std::shared_ptr<MemoryClient> client_;
};

Task<> run_later(Loop& loop, std::chrono::milliseconds delay, std::function<void()> fn) {
  co_await sleep_for(loop, delay);
  fn();
}

}  // namespace

std::chrono::milliseconds MemoryBroker::Core::delay() {
  const auto range = std::uniform_int_distribution<int64_t>(faults.min_delay.count(), faults.max_delay.count());
  return std::chrono::milliseconds(std::uniform_int_distribution<int64_t>(range)(random));
}

void MemoryBroker::Core::after_delay(MemoryClient* client, std::function<void()> fn) {
  const auto now = Monotonic::now();
  auto due = now + delay();
  if (client && !faults.reorder) due = client->last_due = std::max(due, client->last_due);
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(due - now);
  if (wait.count() <= 0)
    loop.defer([weak = weak_from_this(), fn = std::move(fn)] {
      if (weak.lock()) fn();
    });
  else
    tasks.spawn(run_later(loop, wait, std::move(fn)));
}

void MemoryBroker::Core::deliver(const std::shared_ptr<MemoryClient>& client, std::function<void()> fn) {
  if (client->stalled)
    client->incoming.push_back(std::move(fn));
  else if (client->state == BusState::connected)
    fn();
}

void MemoryBroker::Core::answer(const std::shared_ptr<MemoryClient>& client, const BusMessage& message) {
  deliver(client, [client, message] {
    const auto it = client->requests.find(message.subject);
    if (it == client->requests.end() || !it->second.is_wanted())
      client->stats.unknown_replies++;
    else
      it->second.resolve(message);
  });
}

void MemoryBroker::Core::route(const BusMessage& message) {
  std::vector<std::pair<std::shared_ptr<MemoryClient>, std::shared_ptr<MessageFeed>>> receivers;
  std::map<std::string, decltype(receivers)> groups;
  std::shared_ptr<MemoryClient> asker;
  for (const auto& [name, weak] : clients) {
    const auto item = weak.lock();
    if (!item || item->state != BusState::connected) continue;
    const std::string inbox = fmt::format("_INBOX.{}.", name);
    if (message.subject.starts_with(inbox)) answer(item, message);
    if (message.reply.starts_with(inbox)) asker = item;
    for (const auto& subscribed : item->subscriptions)
      if (matches(subscribed.filter, message.subject))
        (subscribed.group.empty() ? receivers : groups[subscribed.filter + " " + subscribed.group])
            .emplace_back(item, subscribed.feed);
  }
  for (const auto& [group, members] : groups)
    receivers.push_back(members[std::uniform_int_distribution<size_t>(0, members.size() - 1)(random)]);
  if (asker && forger) {
    if (auto forged = forger(message)) answer(asker, {message.reply, "", *std::move(forged)});
  }
  for (const auto& [to, feed] : receivers)
    deliver(to, [feed, message] {
      feed->push(message);
      feed->wake();
    });
  if (!asker || !receivers.empty()) return;
  deliver(asker, [asker, message] {
    const auto it = asker->requests.find(message.reply);
    if (it != asker->requests.end()) it->second.resolve(no_responders_error(message.subject));
  });
}

std::shared_ptr<MemoryClient> MemoryBroker::Core::client(const std::string& name) {
  const auto it = clients.find(name);
  auto item = it == clients.end() ? nullptr : it->second.lock();
  if (!item) throw std::logic_error("no client of the MemoryBroker is called " + name);
  return item;
}

void MemoryBroker::Core::change_state(MemoryClient& client, BusState state, const std::string& text) {
  client.state = state;
  client.status = text;
  if (state == BusState::closed) {
    const Error error = closed_error(text).value();
    for (const auto& subscription : client.subscriptions) subscription.feed->end(error);
    for (const auto& [inbox, request] : client.requests) request.resolve(tl::unexpected<Error>(error));
    for (const auto& watcher : watchers)
      if (const auto changes = watcher.changes.lock(); changes && watcher.client.lock().get() == &client)
        changes->end(error);
  }
  const BusNotice notice{BusNotice::Kind::state, state, text};
  client.observers.each([&notice](const BusObserver& observer) { observer(notice); });
}

MemoryBroker::MemoryBroker(Loop& loop, uint64_t seed) : core_(std::make_shared<Core>(loop, seed)) {}
MemoryBroker::~MemoryBroker() { core_->tasks.cancel_all(); }

std::unique_ptr<Bus> MemoryBroker::connect(const std::string& name) {
  if (!core_->clients[name].expired()) throw std::logic_error("two clients of the MemoryBroker are called " + name);
  auto client = std::make_shared<MemoryClient>();
  client->name = name;
  core_->clients[name] = client;
  return std::make_unique<MemoryBus>(core_, std::move(client));
}

void MemoryBroker::set_faults(BusFaults faults) { core_->faults = faults; }
void MemoryBroker::set_max_payload(size_t bytes) { core_->max_payload = bytes; }
void MemoryBroker::set_forger(Forger forger) { core_->forger = std::move(forger); }
void MemoryBroker::set_tap(std::function<void(const std::string&, const BusMessage&)> tap) {
  core_->tap = std::move(tap);
}

void MemoryBroker::disconnect(const std::string& name) {
  const auto client = core_->client(name);
  if (client->state == BusState::connected) core_->change_state(*client, BusState::reconnecting, "lost the broker");
}

void MemoryBroker::reconnect(const std::string& name) {
  const auto client = core_->client(name);
  if (client->state != BusState::reconnecting) return;
  client->stats.reconnects++;
  client->outgoing_bytes = 0;
  core_->change_state(*client, BusState::connected, "connected to the broker");
  for (const auto& go : std::exchange(client->outgoing, {})) go();
  core_->resync(client);
}

void MemoryBroker::stall(const std::string& name) { core_->client(name)->stalled = true; }

void MemoryBroker::resume(const std::string& name) {
  const auto client = core_->client(name);
  client->stalled = false;
  client->outgoing_bytes = 0;
  for (const auto& fn : std::exchange(client->incoming, {})) fn();
  for (const auto& go : std::exchange(client->outgoing, {})) go();
  core_->resync(client);
}

void MemoryBroker::refuse(const std::string& name, const std::string& text) {
  const auto client = core_->client(name);
  client->why_closed = text;
  core_->change_state(*client, BusState::closed, text);
}

void MemoryBroker::inject(BusMessage message) {
  core_->after_delay(nullptr, [core = core_.get(), message = std::move(message)] { core->route(message); });
}

}  // namespace cluster
