#include "supervisor/cluster/bus/nats_session.h"

#include <fmt/format.h>

#include <sodium.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "supervisor/base/log.h"
#include "supervisor/base/random.h"
#include "supervisor/cluster/trust/nkey.h"

namespace cluster {
namespace {

constexpr int64_t kFirstPause = 50;        // milliseconds
constexpr int64_t kWriteDeadline = 5'000;  // milliseconds that a write may wait for a stopped server
constexpr int kPingsOut = 2;
constexpr int kSpareBytes = 4 << 20;  // what may be under way when the loop hears of a lost connection
constexpr size_t kMaxServerText = 300;
constexpr int kMaxGreetings = 4;  // attempts at the start with a server that was reached and did not greet

// libnats 3.4 sends no signature with a first byte of 0, and the server refuses the node: one connection in 256 that
// has the right key. The attempt then fails here; the next one has another nonce. Source: nats.c, pull request 705.
constexpr char kUnsendable[] = "libnats cannot send the signature of this nonce";

// For the callbacks: set before the first one can come.
std::atomic<const LibNats*> loaded_functions = nullptr;
const LibNats& callback_functions() { return *loaded_functions; }

std::string connection_error_of(natsConnection* connection) {
  const char* text = nullptr;
  callback_functions().connection_error(connection, &text);
  return text ? printable(text, kMaxServerText) : std::string();
}

void on_connected(natsConnection* connection, void* closure) {
  const auto target = find_target(closure);
  if (!target) return;
  char url[256] = "";
  callback_functions().connected_url(connection, url, sizeof url);
  const int64_t max_payload = callback_functions().max_payload(connection);
  target->handover->change([&](NatsNews& news) {
    news.is_connected = true;
    news.connects++;
    if (max_payload > 0) news.max_payload = static_cast<size_t>(max_payload);
    news.text = fmt::format("connected to {}", printable(url, sizeof url));
  });
}

void on_disconnected(natsConnection* connection, void* closure) {
  const auto target = find_target(closure);
  if (!target) return;
  const std::string error = connection_error_of(connection);
  target->handover->change([&](NatsNews& news) {
    news.is_connected = false;
    news.text = fmt::format("lost the server{}{}; reconnecting", error.empty() ? "" : ": ", error);
  });
}

void on_closed(natsConnection* connection, void* closure) {
  const auto target = find_target(closure);
  if (!target) return;
  const std::string error = connection_error_of(connection);
  target->handover->change([&](NatsNews& news) {
    news.is_connected = false;
    news.is_closed = true;
    news.text = fmt::format("given up: {}", error.empty() ? "the connection was closed" : error);
  });
}

void on_problem(natsConnection* connection, natsSubscription*, natsStatus status, void* closure) {
  const auto target = find_target(closure);
  if (!target || status != NATS_NOT_PERMITTED) return;  // full subscriptions are counted by on_message()
  std::string error = connection_error_of(connection);
  if (error.empty()) error = "the server does not permit a message or a subscription";
  target->handover->change([&](NatsNews& news) {
    if (news.refusals.size() < kMaxRefusals) news.refusals.push_back(std::move(error));
  });
}

// Random, so that the nodes of a cluster do not come back to a restarted server in the same moment.
int64_t pause_before(natsConnection*, int attempts, void* closure) {
  const auto longest = static_cast<int64_t>(reinterpret_cast<intptr_t>(closure));
  const int64_t pause = std::min(longest, kFirstPause << std::min(std::max(attempts - 1, 0), 12));
  return pause / 2 + std::stol(random_hex(3), nullptr, 16) % (pause / 2 + 1);
}

// What `use` makes of the seed in the file; the seed does not stay in memory.
Result<std::string> with_seed(const std::string& file,
                              const std::function<Result<std::string>(const std::string&)>& use) {
  TRY(std::string seed, read_nkey_seed(file));
  Result<std::string> text = use(seed);
  sodium_memzero(seed.data(), seed.size());
  return text;
}

natsStatus sign_nonce(char** error, unsigned char** signature, int* size, const char* nonce, void* closure) {
  const auto target = find_target(closure);
  Result<std::string> signed_nonce = fail(Code::internal, "the bus has ended");
  if (target) signed_nonce = with_seed(target->seed_file, [nonce](const auto& seed) { return nkey_sign(seed, nonce); });
  if (signed_nonce && signed_nonce->front() == '\0') signed_nonce = fail(Code::unavailable, kUnsendable);
  if (!signed_nonce) {
    *error = ::strdup(signed_nonce.error().what.c_str());
    return NATS_ERR;
  }
  *size = static_cast<int>(signed_nonce->size());
  *signature = static_cast<unsigned char*>(std::malloc(signed_nonce->size()));  // libnats frees it
  if (!*signature) return NATS_NO_MEMORY;
  std::memcpy(*signature, signed_nonce->data(), signed_nonce->size());
  return NATS_OK;
}

bool is_refusal(natsStatus status) {
  return status == NATS_CONNECTION_AUTH_FAILED || status == NATS_NOT_PERMITTED || status == NATS_SSL_ERROR ||
         status == NATS_SECURE_CONNECTION_REQUIRED || status == NATS_SECURE_CONNECTION_WANTED;
}

std::string header_of(natsMsg* message, const char* name) {
  const char* value = nullptr;
  return callback_functions().header_get(message, name, &value) == NATS_OK && value ? value : "";
}

// The headers of values are their writers': only a message of the consumer itself, which has no number, is a heartbeat.
std::string mark_of(natsMsg* message, std::string_view reply, NatsTarget::Mark mark) {
  if (mark == NatsTarget::Mark::none) return {};
  const std::string status = header_of(message, "Status");
  if (mark == NatsTarget::Mark::reply) {
    const bool no_responders = status == "503" && callback_functions().data_length(message) == 0;
    return {no_responders ? kMarkNoResponders : kMarkPlain};
  }
  if (status == "100" && !reply.starts_with("$JS.ACK."))
    return kMarkHeartbeat + header_of(message, "Nats-Last-Consumer");
  const std::string operation = header_of(message, "KV-Operation");
  return {operation == "DEL" || operation == "PURGE" ? kMarkRemoved : kMarkPlain};
}

void on_message(natsConnection*, natsSubscription* subscription, natsMsg* message, void* closure) {
  const LibNats& nats = callback_functions();
  if (const auto target = find_target(closure)) {
    int64_t dropped = 0;
    if (nats.dropped(subscription, &dropped) == NATS_OK && dropped > target->dropped_in_library)
      target->feed->add_dropped(static_cast<uint64_t>(dropped - std::exchange(target->dropped_in_library, dropped)));
    const char* sent_reply = nats.reply(message);
    const std::string reply = sent_reply ? sent_reply : "";
    BusMessage received{nats.subject(message), reply, mark_of(message, reply, target->mark)};
    received.bytes.append(nats.data(message), static_cast<size_t>(nats.data_length(message)));
    target->feed->push(std::move(received));
    target->handover->arrived(target);
  }
  nats.message_destroy(message);
}

// The subscriptions that libnats has not freed. Never destroyed: a thread of libnats may outlive main().
struct LiveSubscriptions {
  std::mutex mutex;
  std::condition_variable ended;
  size_t count = 0;
};
LiveSubscriptions& live_subscriptions() {
  static LiveSubscriptions& live = *new LiveSubscriptions;
  return live;
}

void note_ended_subscription(void*) {
  LiveSubscriptions& live = live_subscriptions();
  const std::lock_guard lock(live.mutex);
  live.count--;
  live.ended.notify_all();
}

void count_subscription(const LibNats& nats, natsSubscription* subscription) {
  LiveSubscriptions& live = live_subscriptions();
  const std::lock_guard lock(live.mutex);  // the end is noted afterwards
  if (nats.set_on_complete(subscription, note_ended_subscription, nullptr) == NATS_OK) live.count++;
}

}  // namespace

Result<natsOptions*> NatsSession::make_options(const BusSettings& settings) {
  natsOptions* options = nullptr;
  if (nats_->options_create(&options) != NATS_OK) return fail(Code::internal, "libnats: no memory");
  std::vector<const char*> servers;
  for (const std::string& server : settings.servers) servers.push_back(server.c_str());
  const char* failed = nullptr;
  auto set = [&failed](const char* kind, natsStatus status) {
    if (status != NATS_OK && !failed) failed = kind;
  };
  set("servers", nats_->set_servers(options, servers.data(), static_cast<int>(servers.size())));
  set("name", nats_->set_name(options, settings.name.c_str()));
  set("connect_limit", nats_->set_timeout(options, settings.connect_limit.count()));
  set("ping_interval", nats_->set_ping_interval(options, settings.ping_interval.count()));
  set("pings", nats_->set_max_pings_out(options, kPingsOut));
  set("send at once", nats_->set_send_asap(options, true));  // else a thread sends after a pause of 1 ms
  set("write deadline", nats_->set_write_deadline(options, kWriteDeadline));
  set("reconnect", nats_->set_max_reconnect(options, -1));
  set("max_reconnect_bytes",
      nats_->set_reconnect_buffer(options, static_cast<int>(settings.max_reconnect_bytes) + kSpareBytes));
  set("delay", nats_->set_reconnect_delay(options, pause_before, reinterpret_cast<void*>(longest_pause_)));
  // A server must not send this node to servers that are not in its settings.
  set("servers", nats_->ignore_discovered_servers(options, true));
  set("delivery", nats_->use_one_delivery_thread(options, true));
  set("errors", nats_->set_error_handler(options, on_problem, target_));
  set("closed", nats_->set_closed(options, on_closed, target_));
  set("disconnected", nats_->set_disconnected(options, on_disconnected, target_));
  set("reconnected", nats_->set_reconnected(options, on_connected, target_));
  if (settings.servers.front().starts_with("tls://")) set("tls", nats_->set_secure(options, true));
  if (!settings.authorities_file.empty())
    set("authorities_file", nats_->load_authorities(options, settings.authorities_file.c_str()));
  if (!settings.certificate_file.empty())
    set("certificate_file and key_file",
        nats_->load_certificate(options, settings.certificate_file.c_str(), settings.key_file.c_str()));
  if (!settings.nkey_seed_file.empty()) {
    const auto key = with_seed(settings.nkey_seed_file, [](const auto& seed) { return nkey_public_key(seed); });
    if (!key) {
      nats_->options_destroy(options);
      return tl::unexpected<Error>(Error(key.error()).within("nkey"));
    }
    set("nkey", nats_->set_nkey(options, key->c_str(), sign_nonce, target_));
  }
  if (!failed) return options;
  natsStatus ignored{};
  const char* text = nats_->last_error(&ignored);
  Error error{Code::invalid, 0, fmt::format("the bus's {}: {}", failed, text ? printable(text) : "refused by libnats"),
              "correct the cluster's settings"};
  nats_->options_destroy(options);
  return tl::unexpected<Error>(std::move(error));
}

Result<> NatsSession::connect(const BusSettings& settings) {
  TRY(nats_, load_libnats());
  loaded_functions = nats_;
  longest_pause_ = settings.longest_pause.count();
  auto target = std::make_shared<NatsTarget>();
  target->handover = handover_;
  target->seed_file = settings.nkey_seed_file;
  target_ = enter_target(std::move(target));
  TRY(natsOptions * options, make_options(settings));
  natsStatus status = NATS_OK;
  std::string why;
  // libnats's own attempts, below, end at once where a server is reached and does not greet in time. Source: nats.c,
  // pull request 926.
  for (int greetings = 0; greetings < kMaxGreetings; greetings++) {
    status = nats_->connect(&connection_, options);
    natsStatus ignored{};
    const char* text = nats_->last_error(&ignored);
    why = text && *text ? printable(text, kMaxServerText) : nats_->status_text(status);
    if (status == NATS_OK || status == NATS_NO_SERVER || is_refusal(status)) break;
  }
  if (status == NATS_OK) {
    on_connected(connection_, target_);
  } else if (!is_refusal(status)) {  // again, now with attempts until one succeeds
    nats_->set_retry(options, true, on_connected, target_);
    status = nats_->connect(&connection_, options);
    handover_->change([&why](NatsNews& news) {
      if (!news.is_connected) news.text = fmt::format("no server can be reached: {}; trying again", why);
    });
    if (status == NATS_OK) on_connected(connection_, target_);
  }
  nats_->options_destroy(options);
  if (status == NATS_OK || status == NATS_NOT_YET_CONNECTED) return {};
  if (is_refusal(status))
    return fail(Code::denied, fmt::format("the server does not accept this node: {}", why),
                "compare the node's nkey and certificates with the server's configuration");
  return fail(Code::unavailable, fmt::format("connect to the servers: {}", why), "check the cluster's servers");
}

NatsSession::~NatsSession() {
  if (!nats_) return;
  leave_target(target_);
  for (const auto& [target, subscription] : subscriptions_) {
    leave_target(target);
    nats_->subscription_destroy(subscription);
  }
  if (connection_) nats_->connection_destroy(connection_);
  nats_->release_thread_memory();
}

void NatsSession::publish(const OutgoingMessage& message) {
  if (!connection_) return;
  natsMsg* created = nullptr;
  natsStatus status =
      nats_->message_create(&created, message.subject.c_str(), message.reply.empty() ? nullptr : message.reply.c_str(),
                            message.bytes.data(), static_cast<int>(message.bytes.size()));
  for (const auto& [name, value] : message.headers)
    if (status == NATS_OK) status = nats_->header_set(created, name.c_str(), value.c_str());
  if (status == NATS_OK) status = nats_->publish(connection_, created);
  if (created) nats_->message_destroy(created);
  if (status == NATS_OK) return;
  handover_->change([&message](NatsNews& news) {
    news.unsent++;
    if (!message.request.empty()) news.failed_requests.push_back(message.request);
  });
}

void NatsSession::subscribe(void* target, const std::string& filter, const std::string& group,
                            SubscriptionBounds bounds) {
  if (!connection_) return;
  natsSubscription* subscription = nullptr;
  const natsStatus status =
      group.empty()
          ? nats_->subscribe(&subscription, connection_, filter.c_str(), on_message, target)
          : nats_->queue_subscribe(&subscription, connection_, filter.c_str(), group.c_str(), on_message, target);
  if (status != NATS_OK) return;  // the connection is closed: the bus tells that, and ends its feeds
  // The feed's own bounds are smaller, and say where messages are missing; these count while the thread that delivers
  // is behind.
  nats_->set_pending_limits(subscription, static_cast<int>(std::clamp<size_t>(bounds.max_messages, 1 << 16, 1 << 20)),
                            static_cast<int>(std::min<size_t>(bounds.max_bytes + kSpareBytes, 1 << 30)));
  count_subscription(*nats_, subscription);
  subscriptions_.emplace(target, subscription);
}

void NatsSession::unsubscribe(void* target) {
  leave_target(target);
  const auto it = subscriptions_.find(target);
  if (it == subscriptions_.end()) return;
  nats_->subscription_destroy(it->second);
  subscriptions_.erase(it);
}

bool wait_for_ended_subscriptions(std::chrono::milliseconds limit) {
  LiveSubscriptions& live = live_subscriptions();
  std::unique_lock lock(live.mutex);
  return live.ended.wait_for(lock, limit, [&live] { return live.count == 0; });
}

}  // namespace cluster
