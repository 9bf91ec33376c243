#include "supervisor/egress/service.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <deque>
#include <map>

#include "supervisor/base/json/fields.h"
#include "supervisor/base/log.h"
#include "supervisor/base/one_shot.h"
#include "supervisor/egress/packet.h"
#include "supervisor/egress/secret_length.h"

namespace egress {
namespace {

using namespace std::chrono_literals;

constexpr auto kClientPause = 100ms;  // after accept4(2) failed
constexpr size_t kMaxClients = 16, kMaxJails = 20'000;

// One warderd.
class EgressClient {
 public:
  EgressClient(Loop& loop, AsyncFd socket, const EgressNetwork& network)
      : loop_(loop), socket_(std::move(socket)), network_(network), tasks_(loop) {}

  // Until the client goes, or sends a wrong packet.
  Task<Result<>> serve() {
    for (;;) {
      auto packet = co_await receive_packet(socket_);
      if (!packet) co_return tl::unexpected<Error>(packet.error());
      CO_CHECKED(take_order(packet->body, std::move(packet->descriptor)));
    }
  }

 private:
  // The jail's proxy, and its reports.
  class OpenJail : public JailProxy::Host {
   public:
    OpenJail(EgressClient& client, uint64_t number) : client_(client), number_(number) {}
    Task<> report(EgressEntry entry) override {
      Json packet = packet_of("request", entry);
      co_await client_.queue(std::move(packet));
    }
    Task<bool> ask(EgressEntry entry) override {
      const uint64_t question = ++client_.last_question_;
      Json packet = packet_of("ask", entry);
      packet["question"] = question;
      OneShot<bool> allowed(client_.loop_, false);
      client_.questions_.insert_or_assign(question, allowed.resolver());
      co_await client_.queue(std::move(packet));
      co_return co_await allowed;
    }
    std::unique_ptr<JailProxy> proxy;

   private:
    Json packet_of(const char* event, const EgressEntry& entry) const {
      Json packet{{"event", event}, {"jail", number_}};
      add_to_packet(packet, entry);
      return packet;
    }
    EgressClient& client_;
    const uint64_t number_;
  };

  Result<> take_order(const Json& order, Fd descriptor) {
    Fields in(order, "order");
    TRY(const std::string order_kind, in.one_of("order", {"open", "close", "decide"}));
    if (order_kind == "open") return open_jail(in, std::move(descriptor));
    if (order_kind == "close") return close_jail(in);
    TRY(const int64_t question, in.integer("question", 1, INT64_MAX));
    TRY(const bool allow, in.boolean_or("allow", false));
    CHECKED(in.done());
    const auto it = questions_.find(static_cast<uint64_t>(question));
    if (it == questions_.end()) return {};  // its jail has ended
    it->second.resolve(allow);
    questions_.erase(it);
    return {};
  }

  Result<> open_jail(Fields& in, Fd listener) {
    TRY(const int64_t number, in.integer("jail", 1, INT64_MAX));
    JailSettings settings;
    std::vector<Error> problems;
    if (const Json* rules = in.find("egress")) settings.rules = policies::read_egress_rules(*rules, problems);
    TRY(settings.secrets, in.strings_or("secrets", {}));
    CHECKED(in.done());
    if (!problems.empty()) return tl::unexpected<Error>(problems.front());
    if (!listener) return fail(Code::invalid, "an order to open a jail has no listener");
    if (settings.secrets.size() != settings.rules.rules.size())
      return fail(Code::invalid, "an order to open a jail has not one secret for each rule");
    for (size_t i = 0; i < settings.secrets.size(); i++) {
      const std::string& secret = settings.secrets[i];
      if (secret.empty() != !settings.rules.rules[i].secret || secret.size() > kMaxSecretBytes ||
          (!secret.empty() && secret.size() < kMinSecretBytes))
        return fail(Code::invalid, fmt::format("the secret of rule {} has a wrong length", i));
    }
    if (jails_.size() >= kMaxJails) return fail(Code::exhausted, "too many open jails");
    const auto [slot, is_new] = jails_.try_emplace(static_cast<uint64_t>(number));
    if (!is_new) return fail(Code::invalid, fmt::format("jail {} is open already", number));
    slot->second = std::make_unique<OpenJail>(*this, static_cast<uint64_t>(number));
    TRY(slot->second->proxy, JailProxy::open(loop_, network_, std::move(settings), std::move(listener), *slot->second));
    return {};
  }

  Result<> close_jail(Fields& in) {
    TRY(const int64_t number, in.integer("jail", 1, INT64_MAX));
    CHECKED(in.done());
    const auto it = jails_.find(static_cast<uint64_t>(number));
    EgressTotals totals;
    if (it != jails_.end()) {
      totals = it->second->proxy->totals();
      jails_.erase(it);
    }
    Json packet{{"event", "closed"}, {"jail", number}};
    add_to_packet(packet, totals);
    tasks_.spawn(queue(std::move(packet)));
    return {};
  }

  // Sends a packet after those before it, and waits until it is sent: a connection has one packet at most that waits.
  Task<> queue(Json packet) {
    OneShot<> sent(loop_);
    queued_.push_back({std::move(packet), sent.resolver()});
    if (!is_sending_) tasks_.spawn(send_queued());
    co_await sent;
  }

  Task<> send_queued() {
    is_sending_ = true;
    while (!queued_.empty()) {
      Queued next = std::move(queued_.front());
      queued_.pop_front();
      const auto sent = co_await send_packet(socket_, std::move(next.packet));
      if (!sent) break;  // serve() sees the end, too
      next.sent.resolve({});
    }
    is_sending_ = false;
  }

  Loop& loop_;
  AsyncFd socket_;
  const EgressNetwork& network_;
  struct Queued {
    Json packet;
    OneShot<>::Resolver sent;
  };
  std::deque<Queued> queued_;
  bool is_sending_ = false;
  uint64_t last_question_ = 0;
  std::map<uint64_t, OneShot<bool>::Resolver> questions_;
  Scope tasks_;
  std::map<uint64_t, std::unique_ptr<OpenJail>> jails_;  // last: their connections use what is above
};

}  // namespace

Result<std::unique_ptr<EgressService>> EgressService::open(Loop& loop, Fd socket, EgressNetwork network) {
  TRY(AsyncFd watched, AsyncFd::adopt(loop, std::move(socket)));
  std::unique_ptr<EgressService> service(new EgressService(loop, std::move(watched), std::move(network)));
  service->accepting_.spawn(service->accept_all());
  return service;
}

EgressService::EgressService(Loop& loop, AsyncFd socket, EgressNetwork network)
    : loop_(loop), socket_(std::move(socket)), network_(std::move(network)), clients_(loop), accepting_(loop) {}

Task<> EgressService::accept_all() {
  for (;;) {
    Fd client(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (client) {
      auto watched = AsyncFd::adopt(loop_, std::move(client));
      if (watched && clients_.live() < kMaxClients) clients_.spawn(serve(*std::move(watched)));
      co_await next_turn(loop_);
    } else if (errno == EAGAIN) {
      co_await socket_.readable();
    } else if (errno != EINTR && errno != ECONNABORTED) {
      co_await sleep_for(loop_, kClientPause);
    }
  }
}

Task<> EgressService::serve(AsyncFd socket) {
  log_notice("a daemon has connected");
  EgressClient client(loop_, std::move(socket), network_);
  const auto ended = co_await client.serve();
  if (ended.error().code == Code::unavailable) {
    log_notice("a daemon has gone, and with it the connections of its jails");
  } else {
    log_error("a daemon sent a wrong packet: {}", ended.error().what);
  }
}

}  // namespace egress
