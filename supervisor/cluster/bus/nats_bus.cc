#include "supervisor/cluster/bus/nats_bus.h"

#include <fmt/format.h>

#include "supervisor/base/log.h"
#include "supervisor/cluster/bus/jetstream_bucket.h"
#include "supervisor/cluster/bus/nats_core.h"
#include "supervisor/cluster/bus/subjects.h"

namespace cluster {
namespace {

constexpr size_t kMaxServers = 16;
constexpr size_t kMaxClientName = 64;

Result<> check_server(std::string_view server, bool wants_tls) {
  const std::string_view scheme = server.substr(0, server.find("://"));
  const bool is_known_scheme = (scheme == "tls" || scheme == "nats") && server.size() > scheme.size() + 3;
  const std::string_view host = is_known_scheme ? server.substr(scheme.size() + 3) : std::string_view();
  const bool plain = host.find_first_of("@/ ,?#") == host.npos && printable(host) == host;
  if (!is_known_scheme || !plain || host.find(':') == host.npos)
    return fail(Code::invalid, fmt::format("the server '{}'", printable(server, 100)),
                "write nats://HOST:PORT or tls://HOST:PORT, without a user");
  if (wants_tls != (scheme == "tls"))
    return fail(Code::invalid, fmt::format("the server '{}'", printable(server, 100)),
                wants_tls ? "with certificates, and beside other tls:// servers, all servers are tls://HOST:PORT"
                          : "servers are all nats:// or all tls://");
  return {};
}

Result<> check_bus_settings(const BusSettings& settings) {
  if (settings.servers.empty() || settings.servers.size() > kMaxServers)
    return fail(Code::invalid, fmt::format("{} servers of the bus", settings.servers.size()),
                fmt::format("name from 1 to {}", kMaxServers));
  const bool has_certificates = !settings.authorities_file.empty() || !settings.certificate_file.empty();
  const bool wants_tls = has_certificates || settings.servers.front().starts_with("tls://");
  for (const std::string& server : settings.servers) CHECKED(check_server(server, wants_tls));
  if (settings.certificate_file.empty() != settings.key_file.empty())
    return fail(Code::invalid, "certificate_file and key_file of the bus", "name both, or none");
  if (settings.name.empty() || settings.name.size() > kMaxClientName || !check_bucket_name(settings.name))
    return fail(Code::invalid, fmt::format("the name '{}' of the bus", printable(settings.name, 100)),
                fmt::format("use 1 to {} of A-Z a-z 0-9 _ -", kMaxClientName));
  CHECKED(check_subject(settings.inbox_prefix));
  if (!settings.inbox_prefix.starts_with(kInboxRoot) || settings.inbox_prefix.size() > 100)
    return fail(Code::invalid, fmt::format("the inbox prefix '{}'", printable(settings.inbox_prefix, 120)),
                fmt::format("begin it with {}; at most 100 bytes", kInboxRoot));
  return {};
}

class NatsSubscription : public BusSubscription {
 public:
  NatsSubscription(std::shared_ptr<NatsCore> core, NatsCore::Subscribed subscribed)
      : core_(std::move(core)), subscribed_(std::move(subscribed)) {}
  ~NatsSubscription() override { core_->unsubscribe(subscribed_); }
  Task<Result<BusMessage>> next() override { return MessageFeed::next(subscribed_.feed); }
  uint64_t dropped() const override { return subscribed_.feed->dropped(); }

 private:
  std::shared_ptr<NatsCore> core_;
  NatsCore::Subscribed subscribed_;
};

template <class T>
Task<Result<T>> refused_call(Error error) {
  co_return tl::unexpected<Error>(std::move(error));
}

class NatsBus : public Bus {
 public:
  explicit NatsBus(std::shared_ptr<NatsCore> core) : core_(std::move(core)) {}
  ~NatsBus() override { core_->end("this node has closed it"); }

  BusState state() const override { return core_->state(); }
  std::string status() const override { return core_->status(); }
  ObserverList<BusObserver>& observers() override { return core_->observers(); }
  BusStats stats() const override { return core_->stats(); }
  size_t max_payload() const override { return core_->max_payload(); }

  Result<> publish(std::string subject, std::string bytes, std::string reply) override {
    CHECKED(check_subject(subject));
    if (!reply.empty()) CHECKED(check_subject(reply));
    return core_->publish({std::move(subject), std::move(reply), std::move(bytes)});
  }
  Result<std::unique_ptr<BusSubscription>> subscribe(std::string filter, std::string group,
                                                     SubscriptionBounds bounds) override {
    CHECKED(check_filter(filter));
    if (!group.empty()) CHECKED(check_bucket_name(group));
    TRY(auto subscribed, core_->subscribe(std::move(filter), std::move(group), bounds, NatsTarget::Mark::none));
    return std::make_unique<NatsSubscription>(core_, std::move(subscribed));
  }
  Task<Result<BusMessage>> request(std::string subject, std::string bytes, std::chrono::milliseconds timeout) override {
    if (const auto checked = check_subject(subject); !checked) return refused_call<BusMessage>(checked.error());
    std::string action = fmt::format("request to '{}'", subject);
    OutgoingMessage message;
    message.subject = std::move(subject);
    message.bytes = std::move(bytes);
    return NatsCore::request(core_, std::move(message), std::move(action), timeout);
  }
  Task<Result<>> flush(std::chrono::milliseconds timeout) override { return NatsCore::flush(core_, timeout); }
  Task<Result<std::unique_ptr<KvBucket>>> open_bucket(std::string name, BucketSettings settings,
                                                      std::chrono::milliseconds limit) override {
    if (const auto checked = check_bucket_name(name); !checked)
      return refused_call<std::unique_ptr<KvBucket>>(checked.error());
    return open_jetstream_bucket(core_, std::move(name), settings, limit);
  }

 private:
  const std::shared_ptr<NatsCore> core_;
};

}  // namespace

Task<Result<std::unique_ptr<Bus>>> connect_nats(Loop& loop, BusSettings settings) {
  CO_CHECKED(check_bus_settings(settings));
  CO_TRY(auto core, NatsCore::open(loop, std::move(settings)));
  auto bus = std::make_unique<NatsBus>(core);  // ends the core, also when this task is cancelled
  CO_CHECKED(co_await NatsCore::connect(core));
  co_return std::unique_ptr<Bus>(std::move(bus));
}

}  // namespace cluster
