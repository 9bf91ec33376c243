#include "supervisor/cluster/node/node_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "supervisor/base/json/json.h"
#include "supervisor/base/log.h"
#include "supervisor/base/random.h"
#include "supervisor/cluster/bus/nats_bus.h"
#include "supervisor/cluster/link/first_line.h"
#include "supervisor/cluster/node/cluster_view.h"
#include "supervisor/cluster/trust/own_keys.h"
#include "supervisor/cluster/trust/rule_store.h"

namespace cluster {
namespace {

constexpr std::chrono::seconds kReportInterval{1};

int64_t microseconds(BootClock::time_point time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

// "/etc/warder/cluster" of "/etc/warder/cluster/trust.record".
std::string folder_of(const std::string& file) {
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, std::max<size_t>(slash, 1));
}

BusSettings bus_settings(const NodeSettings& settings) {
  BusSettings bus;
  bus.servers = settings.servers;
  bus.name = settings.node;
  bus.inbox_prefix = fmt::format("{}{}", kInboxRoot, settings.node);
  bus.nkey_seed_file = settings.nats_seed;
  bus.authorities_file = settings.authorities;
  return bus;
}

}  // namespace

Task<Result<std::unique_ptr<NodeService>>> NodeService::open(Loop& loop, NodeSettings settings, Fd socket,
                                                             std::set<uid_t> users, std::function<void(Error)> ended) {
  CO_TRY(RuleStore rules, RuleStore::open(settings.trust, settings.state));
  const TrustedNode* self = rules.trust().find(settings.node);
  if (!self)
    co_return fail(Code::invalid, fmt::format("{} does not name the node {}", settings.trust, settings.node),
                   "copy the trust record that warder cluster add wrote for this node");
  if (rules.trust().cluster != settings.cluster)
    co_return fail(Code::invalid, fmt::format("{} is of the cluster {}", settings.trust, rules.trust().cluster));
  CO_TRY(PrivateKey key, load_own_key(settings.node_key, *self));
  CO_TRY(std::unique_ptr<Bus> bus, co_await connect_nats(loop, bus_settings(settings)));
  std::unique_ptr<NodeService> service(
      new NodeService(loop, std::move(settings), std::move(bus), rules.trust(), std::move(key), std::move(ended)));
  NodeService* const node_service = service.get();
  const NodeSettings& own = node_service->settings_;
  const RuleStore now = rules;
  CO_TRY(service->rule_work_, RuleWork::start(loop, std::move(rules)));
  service->keeper_ =
      std::make_unique<TrustKeeper>(loop, *node_service->bus_, own.replicas, own.trust, now, *node_service->rule_work_,
                                    [node_service](const TrustRecord& record) { node_service->take_trust(record); });
  service->rules_ = std::make_unique<RuleKeeper>(loop, *node_service->bus_, own.replicas, folder_of(own.trust),
                                                 *node_service->rule_work_, [node_service] {
                                                   if (node_service->door_)
                                                     node_service->door_->notify({{"rules", Json::object()}});
                                                 });
  CO_CHECKED(service->begin(std::move(socket), std::move(users)));
  co_return service;
}

NodeService::NodeService(Loop& loop, NodeSettings settings, std::unique_ptr<Bus> bus, TrustRecord trust, PrivateKey key,
                         std::function<void(Error)> ended)
    : loop_(loop),
      settings_(std::move(settings)),
      ended_(std::move(ended)),
      boot_(random_hex(16)),
      trust_(std::move(trust)),
      bus_(std::move(bus)),
      nodes_(loop, *bus_, settings_, boot_, trust_),
      lease_(loop, *bus_, settings_.node, boot_, settings_.replicas, LeaseTimes::divided_by(settings_.lease_divisor),
             [this](BootClock::time_point since) {
               renewed_ = since;
               if (door_) door_->notify({{"lease", lease()}});
             }),
      homes_(loop, *bus_, settings_, nodes_, lease_.lease(),
             [this] {
               if (door_) door_->notify({{"moved", Json::object()}});
             }),
      orders_(homes_, nodes_, [this]() -> const PrivateKey& { return carrier_.key(); }),
      carrier_(loop, *bus_,
               {settings_.node, boot_, std::move(key), trust_, settings_.warderd,
                [this](const std::string& node) { nodes_.note_unanswered(node); },
                [this](tenants::TenantId id, std::string from, uint64_t epoch) {
                  return homes_.check_push(std::move(id), std::move(from), epoch);
                }}),
      tasks_(loop) {}

NodeService::~NodeService() {
  rules_.reset();
  tasks_.cancel_all();
  keeper_.reset();
  door_.reset();
}

Result<> NodeService::begin(Fd socket, std::set<uid_t> users) {
  noted_ = bus_->observers().add([this](const BusNotice& notice) { note(notice); });
  note({BusNotice::Kind::state, bus_->state(), "at the start"});
  CHECKED(carrier_.begin());
  nodes_.begin();
  lease_.begin();
  CHECKED(homes_.begin());
  keeper_->begin();
  rules_->begin();
  TRY(door_, DaemonDoor::open(loop_, std::move(socket), std::move(users), *this));
  tasks_.spawn(report_numbers());
  return {};
}

void NodeService::note(const BusNotice& notice) {
  if (notice.kind == BusNotice::Kind::refusal) return log_warning("cluster: the bus refuses: {}", notice.text);
  if (notice.state == BusState::connected) return log_notice("cluster: connected to the bus: {}", notice.text);
  log_warning("cluster: the bus is {}: {}", bus_state_name(notice.state), notice.text);
  if (notice.state != BusState::closed) return;
  loop_.defer([ended = ended_, why = notice.text] {
    ended({Code::unavailable,
           0,
           "the servers of NATS do not take this node: " + why,
           "see the log of nats-server; nats-nodes.conf of the servers must name this node, and NATS must be reachable",
           {}});
  });
}

// This node's own keys change at its next start.
void NodeService::take_trust(const TrustRecord& record) {
  const TrustedNode* before = trust_.find(settings_.node);
  const TrustedNode* now = record.find(settings_.node);
  if (!now)
    log_warning("cluster: the trust record {} does not name this node: all others refuse it", record.serial);
  else if (before && before->key != now->key)
    log_warning(
        "cluster: the trust record {} has another key of this node: call warder cluster rotate node, then "
        "restart warder-node",
        record.serial);
  trust_ = record;
  carrier_.set_trust(record);
  if (door_) door_->notify({{"rules", Json::object()}});
  nodes_.trust_changed();
}

Task<Result<Home>> NodeService::home_of(tenants::TenantId id) {
  auto it = co_await homes_.find(std::move(id));
  if (!it) co_return tl::unexpected<Error>(std::move(it).error());
  Home home{it->record.node, it->record.epoch, it->is_here};
  co_return home;
}

// A node without a lease tells times of the past.
Json NodeService::lease() {
  const int64_t since = renewed_ ? microseconds(*renewed_) : 0;
  const auto after = [&](BootClock::duration time) {
    return renewed_ ? since + microseconds(BootClock::time_point(time)) : 0;
  };
  const LeaseTimes& times = lease_.lease().times();
  return {{"node", settings_.node},
          {"starts_until_us", after(times.fenced_after)},
          {"runs_until_us", after(times.ended_after)},
          {"slots", settings_.slots}};
}

Json NodeService::nodes_after(const std::string& name) {
  return nodes_page({trust_, nodes_.table(), homes_.counts(), settings_.node}, name, BootClock::now());
}

Task<> NodeService::report_numbers() {
  auto connected = BootClock::now();
  for (;;) {
    const auto now = BootClock::now();
    if (bus_->state() == BusState::connected) connected = now;
    NodeNumbers numbers;
    count_nodes({trust_, nodes_.table(), homes_.counts(), settings_.node}, now, numbers);
    carrier_.count_into(numbers);
    numbers.bus_silent = std::chrono::duration_cast<std::chrono::microseconds>(now - connected);
    numbers.trust_serial = static_cast<uint64_t>(trust_.serial);
    numbers.trust_trouble = keeper_->trouble();
    numbers.bus = bus_->status();
    door_->notify({{"numbers", write_numbers(numbers)}});
    co_await sleep_for(loop_, kReportInterval);
  }
}

Json NodeService::homes_for(const HomeQuestion& question) { return homes_page(homes_.records(), question); }

Task<> NodeService::carry(AsyncFd local, std::string node, std::optional<NodeClient> for_client) {
  Carrier::OtherNode other{node, nodes_.boot_of(node), nodes_.wire_of(node)};
  return carrier_.carry(std::move(local), std::move(other), std::move(for_client));
}

// The trust record, then all rules. warderd checks each of them itself.
Task<> NodeService::give_rules(AsyncFd daemon) {
  auto texts = std::make_shared<std::vector<std::string>>();
  RuleWork::Job job = [texts](RuleStore& rules) -> Result<> {
    texts->push_back(rules.trust_text());
    for (const auto& [key, stored] : rules.rules()) texts->push_back(stored.text);
    return {};
  };
  const auto read = co_await rule_work_->run(std::move(job));
  if (!read) co_return;
  for (const std::string& text : *texts) {
    std::string message = dump_json({{"rule", {{"bytes", text.size()}}}}) + "\n" + text;
    const bool is_sent = co_await send_all(daemon, std::move(message));
    if (!is_sent) co_return;
  }
  std::string end = dump_json({{"end", Json::object()}}) + "\n";
  co_await send_all(daemon, std::move(end));
}

Task<> NodeService::carry_push(AsyncFd local, std::string node, Push push) {
  Carrier::OtherNode other{node, nodes_.boot_of(node), nodes_.wire_of(node)};
  return carrier_.carry_push(std::move(local), std::move(other), std::move(push));
}

Task<Result<Json>> NodeService::order(std::string order, Json question) {
  return orders_.answer(std::move(order), std::move(question));
}

}  // namespace cluster
