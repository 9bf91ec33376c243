#include "supervisor/cluster/node/node_directory.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/base/version.h"
#include "supervisor/cluster/placement/place.h"
#include "supervisor/cluster/trust/private_file.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kSignEvery = 1s;
constexpr auto kRereadDelay = 1s;
constexpr auto kNodesLimit = 2s;
constexpr uint32_t kMaxSlots = 1 << 20;
constexpr std::string_view kLoad = "w1.load.";

Result<NodeReport> read_description(const std::string& node, std::string_view text) {
  TRY(const Json description, parse_json(text));
  Fields in(description, node);
  NodeReport report;
  report.name = node;
  TRY(report.boot, in.string("boot", 64));
  TRY(report.version, in.string("version", 64));
  TRY(const int64_t slots, in.integer("slots", 0, kMaxSlots));
  TRY(const int64_t oldest, in.integer("wire_oldest", 1, 1000));
  TRY(const int64_t newest, in.integer("wire_newest", oldest, 1000));
  TRY(report.drained, in.boolean_or("drained", false));
  const Json* labels = in.find("labels");  // a newer program may say more
  if (!is_label_text(report.boot) || !is_label_text(report.version))
    return fail(Code::invalid, node + ": boot or version: not printable ASCII");
  report.slots = static_cast<uint32_t>(slots);
  report.wire = {static_cast<uint32_t>(oldest), static_cast<uint32_t>(newest)};
  if (labels && labels->is_object() && labels->size() <= kMaxLabels)
    for (const auto& [key, value] : labels->items())
      if (value.is_string() && is_label_text(key) && is_label_text(value.get_ref<const std::string&>()))
        report.labels[key] = value.get<std::string>();
  return report;
}

std::string drained_file(const NodeSettings& settings) { return settings.state + "/drained"; }

}  // namespace

NodeDirectory::NodeDirectory(Loop& loop, Bus& bus, const NodeSettings& settings, std::string boot,
                             const TrustRecord& trust)
    : loop_(loop),
      bus_(bus),
      settings_(settings),
      boot_(std::move(boot)),
      trust_(trust),
      following_(loop),
      tasks_(loop) {
  is_drained_ = ::access(drained_file(settings).c_str(), F_OK) == 0 || errno != ENOENT;
}

void NodeDirectory::begin() {
  tasks_.spawn(describe_self());
  following_.spawn(follow_descriptions());
  tasks_.spawn(follow_signs());
  tasks_.spawn(send_signs());
}

void NodeDirectory::trust_changed() {
  std::vector<std::string> removed;
  for (size_t i = 0; i < table_.size(); i++)
    if (!trust_.find(table_.at(i).name)) removed.push_back(table_.at(i).name);
  for (const auto& name : removed) table_.remove(name);
  // A description may have come before the record that names its node.
  following_.cancel_all();
  following_.spawn(follow_descriptions());
}

// A drain is published at once. All else waits for the next sign: 1,000 nodes hear each one.
void NodeDirectory::set_load(std::optional<NodeLoad> load) {
  const bool was_drained = load_ && load_->is_drained;
  load_ = load;
  has_load_ = true;
  table_.note_sign(settings_.node, boot_, own_sign(), BootClock::now());
  if (load && load->is_drained != was_drained) send_sign();
}

NodeSign NodeDirectory::own_sign() const {
  NodeSign sign;
  if (has_load_) sign.slots = load_ ? std::min(load_->slots, settings_.slots) : 0;
  if (is_drained_) sign.drained = true;
  if (!load_) return sign;
  sign.used = load_->running;
  sign.waiting = load_->waiting;
  sign.drained = is_drained_ || load_->is_drained;
  return sign;
}

std::string NodeDirectory::boot_of(const std::string& node) const {
  const NodeReport* report = table_.find(node);
  return report ? report->boot : std::string();
}

std::string NodeDirectory::description() const {
  return dump_json({{"boot", boot_},
                    {"version", kWarderVersion},
                    {"slots", settings_.slots},
                    {"labels", settings_.labels},
                    {"drained", is_drained_},
                    {"wire_oldest", kWire.oldest},
                    {"wire_newest", kWire.newest}});
}

Task<Result<>> NodeDirectory::write_description() {
  BucketSettings settings;
  settings.replicas = settings_.replicas;
  CO_TRY(const auto bucket, co_await bus_.open_bucket("nodes", settings, kNodesLimit));
  std::string text = description();
  CO_TRY(const uint64_t revision, co_await bucket->put(settings_.node, std::move(text)));
  (void)revision;
  co_return Result<>{};
}

WireVersions NodeDirectory::wire_of(const std::string& node) const {
  const NodeReport* report = table_.find(node);
  return report ? report->wire : kWire;
}

Task<> NodeDirectory::describe_self() {
  for (;;) {
    const auto written = co_await write_description();
    if (written) co_return;
    co_await sleep_for(loop_, kRereadDelay);
  }
}

Task<Result<>> NodeDirectory::set_drained(bool is_drained) {
  if (!disk_) {
    CO_TRY(disk_, WorkerThread::start(loop_));
  }
  const WorkerThread::Job job = [file = drained_file(settings_), is_drained]() -> Result<> {
    if (is_drained) return write_whole_file(file, "", 0600, Existing::replace);
    if (::unlink(file.c_str()) < 0 && errno != ENOENT) return fail_errno(errno, "remove '" + file + "'");
    return {};
  };
  CO_CHECKED(co_await disk_->run(job));
  is_drained_ = is_drained;
  table_.note_sign(settings_.node, boot_, own_sign(), BootClock::now());
  send_sign();
  log_notice("cluster: this node is {}", is_drained ? "drained: it gets no new homes" : "not drained");
  co_return co_await write_description();
}

Task<> NodeDirectory::follow_descriptions() {
  BucketReader reader;
  reader.name = "nodes";
  reader.settings.replicas = settings_.replicas;
  reader.opened = [](const std::shared_ptr<KvBucket>&) {};
  reader.take = [this](KvChange change) -> Task<> {
    take_change(change);
    co_return;
  };
  return follow_bucket(loop_, bus_, std::move(reader));
}

void NodeDirectory::take_change(const KvChange& change) {
  if (change.kind == KvChange::Kind::value) return take_description(change.key, change.bytes);
  if (change.kind != KvChange::Kind::removed) return;
  if (change.revision > 0) {
    table_.remove(change.key);
  } else if (change.key == settings_.node) {  // the server lost it; each node writes its own again
    tasks_.spawn(describe_self());
  }
}

// A description says nothing about now: the node counts as heard with its next sign of life, and this node at once.
// What the signs of the same start have said stays.
void NodeDirectory::take_description(const std::string& node, std::string_view text) {
  if (!trust_.find(node)) return;
  auto report = read_description(node, text);
  if (!report) return log_warning("cluster: the description of node {} is not used: {}", node, report.error().what);
  if (const NodeReport* node_report = table_.find(node); node_report && node_report->boot == report->boot) {
    report->slots = node_report->slots;
    report->used = node_report->used;
    report->waiting = node_report->waiting;
    report->drained = node_report->drained;
    report->received = node_report->received;
    report->is_unanswered = node_report->is_unanswered;
  }
  (void)table_.report(*std::move(report));
  if (node == settings_.node) table_.note_sign(node, boot_, own_sign(), BootClock::now());
}

Task<> NodeDirectory::follow_signs() {
  for (;;) {
    auto signs = bus_.subscribe(std::string(kLoad) + "*");
    while (signs) {
      auto sign = co_await (*signs)->next();
      if (!sign) break;
      take_sign(sign->subject, sign->bytes);
    }
    co_await sleep_for(loop_, kRereadDelay);
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
  const auto used = in.integer("used", 0, kMaxSlots), waiting = in.integer("waiting", 0, kMaxSlots);
  if (!boot || !used || !waiting) return;
  NodeSign read{static_cast<uint32_t>(*used), static_cast<uint32_t>(*waiting), {}, {}};
  if (in.has("slots")) {
    const auto slots = in.integer("slots", 0, kMaxSlots);
    if (!slots) return;
    read.slots = static_cast<uint32_t>(*slots);
  }
  if (in.has("drained")) {
    const auto drained = in.boolean_or("drained", false);
    if (!drained) return;
    read.drained = *drained;
  }
  table_.note_sign(node, *boot, read, BootClock::now());
}

void NodeDirectory::send_sign() {
  if (bus_.state() != BusState::connected) return;
  const NodeSign own = own_sign();
  Json sign = {{"boot", boot_}, {"used", own.used}, {"waiting", own.waiting}};
  if (own.slots) sign["slots"] = *own.slots;
  if (own.drained) sign["drained"] = *own.drained;
  (void)bus_.publish(std::string(kLoad) + settings_.node, dump_json(sign));
}

Task<> NodeDirectory::send_signs() {
  for (;;) {
    send_sign();
    table_.note_sign(settings_.node, boot_, own_sign(), BootClock::now());
    co_await sleep_for(loop_, kSignEvery);
  }
}

Result<std::vector<std::string>> NodeDirectory::slots_for(const std::string& account, bool here_is_free) const {
  NodeTable some;  // where some nodes may not have the account
  const auto& nodes = trust_.nodes;
  const bool all_may =
      std::all_of(nodes.begin(), nodes.end(), [&](const TrustedNode& node) { return node.may_act_for(account); });
  for (size_t i = 0; !all_may && i < table_.size(); i++) {
    const TrustedNode* trusted = trust_.find(table_.at(i).name);
    if (trusted && trusted->may_act_for(account)) (void)some.report(table_.at(i));
  }
  const RandomBits random = [] {
    uint64_t bits = 0;
    (void)!::getrandom(&bits, sizeof bits, 0);  // 8 bytes are always whole (getrandom(2))
    return bits;
  };
  RunPlacement placement(all_may ? table_ : some, {{{}, kWire}, settings_.node, here_is_free}, random);
  std::vector<std::string> positions;
  while (positions.size() < kMaxTries) {
    auto next = placement.next(BootClock::now());
    if (next) {
      positions.push_back(*std::move(next));
    } else if (positions.empty()) {
      return tl::unexpected<Error>(std::move(next).error());
    } else {
      break;
    }
  }
  // This node is full, and the others may not be: it comes last.
  if (!here_is_free) std::ranges::stable_partition(positions, [&](const auto& node) { return node != settings_.node; });
  return positions;
}

}  // namespace cluster
