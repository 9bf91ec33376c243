#include "supervisor/cluster/node/node_directory.h"

#include <utility>

#include "supervisor/base/fields.h"
#include "supervisor/base/json.h"
#include "supervisor/base/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/base/version.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kSignEvery = 1s;
constexpr auto kReadAgain = 1s;
constexpr auto kNodesLimit = 2s;
constexpr uint32_t kMostSlots = 1 << 20;
constexpr std::string_view kLoad = "w1.load.";

Result<NodeReport> read_description(const std::string& node, std::string_view text) {
  TRY(const Json description, parse_json(text));
  Fields in(description, node);
  NodeReport report;
  report.name = node;
  TRY(report.boot, in.string("boot", 64));
  TRY(report.version, in.string("version", 64));
  TRY(const int64_t slots, in.integer("slots", 0, kMostSlots));
  TRY(const int64_t oldest, in.integer("wire_oldest", 1, 1000));
  TRY(const int64_t newest, in.integer("wire_newest", oldest, 1000));
  TRY(report.drained, in.boolean_or("drained", false));
  const Json* labels = in.find("labels");  // a newer program may say more
  report.slots = static_cast<uint32_t>(slots);
  report.wire = {static_cast<uint32_t>(oldest), static_cast<uint32_t>(newest)};
  if (labels && labels->is_object() && labels->size() <= 32)
    for (const auto& [key, value] : labels->items())
      if (value.is_string()) report.labels[key] = value.get<std::string>();
  return report;
}

}  // namespace

NodeDirectory::NodeDirectory(Loop& loop, Bus& bus, const NodeSettings& settings, std::string boot,
                             const TrustRecord& trust)
    : loop_(loop), bus_(bus), settings_(settings), boot_(std::move(boot)), trust_(trust), tasks_(loop) {}

void NodeDirectory::begin() {
  tasks_.spawn(describe_self());
  tasks_.spawn(follow_descriptions());
  tasks_.spawn(follow_signs());
  tasks_.spawn(send_signs());
}

std::string NodeDirectory::boot_of(const std::string& node) const {
  const NodeReport* report = table_.find(node);
  return report ? report->boot : std::string();
}

WireVersions NodeDirectory::wire_of(const std::string& node) const {
  const NodeReport* report = table_.find(node);
  return report ? report->wire : kWire;
}

Task<> NodeDirectory::describe_self() {
  const std::string description = dump_json({{"boot", boot_},
                                             {"version", kWarderVersion},
                                             {"slots", settings_.slots},
                                             {"labels", settings_.labels},
                                             {"wire_oldest", kWire.oldest},
                                             {"wire_newest", kWire.newest}});
  for (;;) {
    BucketSettings settings;
    settings.replicas = settings_.replicas;
    const auto bucket = co_await bus_.open_bucket("nodes", settings, kNodesLimit);
    if (bucket) {
      const auto written = co_await (*bucket)->put(settings_.node, description);
      if (written) co_return;
    }
    co_await sleep_for(loop_, kReadAgain);
  }
}

Task<> NodeDirectory::follow_descriptions() {
  for (;;) {
    BucketSettings settings;
    settings.replicas = settings_.replicas;
    auto bucket = co_await bus_.open_bucket("nodes", settings, kNodesLimit);
    if (bucket) {
      auto watch = (*bucket)->watch(">");
      while (watch) {
        auto change = co_await (*watch)->next();
        if (!change) break;
        if (change->kind == KvChange::Kind::value) take_description(change->key, change->bytes);
        if (change->kind != KvChange::Kind::removed) continue;
        if (change->revision > 0) {
          table_.remove(change->key);
        } else if (change->key == settings_.node) {  // the server lost it; each node writes its own again
          tasks_.spawn(describe_self());
        }
      }
    }
    co_await sleep_for(loop_, kReadAgain);
  }
}

// A description says nothing about now: the node counts as heard with its next sign of life, and this node at once.
void NodeDirectory::take_description(const std::string& node, std::string_view text) {
  if (!trust_.find(node)) return;
  auto report = read_description(node, text);
  if (!report) return log_warning("cluster: the description of node {} is not used: {}", node, report.error().what);
  if (node == settings_.node) report->heard = BootClock::now();
  (void)table_.report(*std::move(report));
}

Task<> NodeDirectory::follow_signs() {
  for (;;) {
    auto signs = bus_.subscribe(std::string(kLoad) + "*");
    while (signs) {
      auto sign = co_await (*signs)->next();
      if (!sign) break;
      take_sign(sign->subject, sign->bytes);
    }
    co_await sleep_for(loop_, kReadAgain);
  }
}

void NodeDirectory::take_sign(std::string_view subject, std::string_view text) {
  if (!subject.starts_with(kLoad) || text.size() > 4096) return;
  const std::string node(subject.substr(kLoad.size()));
  if (!trust_.find(node)) return;
  const auto sign = parse_json(text);
  if (!sign) return;
  Fields in(*sign, node);
  const auto boot = in.string("boot", 64);
  const auto used = in.integer("used", 0, kMostSlots), waiting = in.integer("waiting", 0, kMostSlots);
  if (!boot || !used || !waiting) return;
  table_.note_load(node, *boot, static_cast<uint32_t>(*used), static_cast<uint32_t>(*waiting), BootClock::now());
}

Task<> NodeDirectory::send_signs() {
  for (;;) {
    if (bus_.state() == BusState::connected)
      (void)bus_.publish(std::string(kLoad) + settings_.node,
                         dump_json({{"boot", boot_}, {"used", 0}, {"waiting", 0}}));
    table_.note_load(settings_.node, boot_, 0, 0, BootClock::now());
    co_await sleep_for(loop_, kSignEvery);
  }
}

}  // namespace cluster
