#include "supervisor/cluster/node/node_orders.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "supervisor/base/json/fields.h"
#include "supervisor/cluster/link/node_messages.h"

namespace cluster {
namespace {

constexpr std::array<std::string_view, 8> kOrders = {"claim", "fence", "lost",     "other",
                                                     "homes", "drain", "seal_key", "open_key"};
constexpr size_t kHomesOfPage = 40;  // fit into kMaxLine
constexpr size_t kKeysOfPage = 16;   // the same
constexpr size_t kMaxSealedKey = 400;

struct OrderedHome {
  tenants::TenantId id;
  std::string from;
  uint64_t epoch = 0;
  bool is_after_lease = false;
};

Result<OrderedHome> read_ordered_home(const std::string& order, const Json& object) {
  Fields in(object, order);
  OrderedHome question;
  (void)in.find("id");
  TRY(question.id.account, in.string("account", 64));
  TRY(question.id.workspace, in.string("workspace", 64));
  if (order == "claim") {
    TRY(question.from, in.string("from", kMaxNodeName));
    TRY(question.is_after_lease, in.boolean_or("after_lease", false));
  }
  if (order == "claim" || order == "fence") {
    TRY(const int64_t epoch, in.integer("epoch", 1, int64_t{1} << 53));
    question.epoch = static_cast<uint64_t>(epoch);
  }
  CHECKED(in.done());
  return question;
}

Result<tenants::TenantId> read_tenant(Fields& in) {
  (void)in.find("id");
  tenants::TenantId id;
  TRY(id.account, in.string("account", 64));
  TRY(id.workspace, in.string("workspace", 64));
  return id;
}

// A key is of one tenant: the tenant's name is encrypted with it.
std::string begin_of_key(const tenants::TenantId& id) { return id.text() + '\n'; }

}  // namespace

bool NodeOrders::knows(const std::string& order) {
  return std::find(kOrders.begin(), kOrders.end(), order) != kOrders.end();
}

Json NodeOrders::list(const tenants::TenantId& after) const {
  Json homes = Json::array();
  for (const auto& [id, record] : homes_.held_after(after, kHomesOfPage))
    homes.push_back({{"account", id.account}, {"workspace", id.workspace}, {"epoch", record.epoch}});
  return {{"homes", std::move(homes)}};
}

// The key of a vault, encrypted for each node that may have the account, so that each can restore a parked file.
Result<Json> NodeOrders::seal_key(const Json& question) const {
  Fields in(question, "seal_key");
  TRY(const tenants::TenantId id, read_tenant(in));
  TRY(std::string key, in.string("key", 64));
  TRY(const std::string after, in.string("after", kMaxNodeName));
  CHECKED(in.done());
  Json keys = Json::array();
  for (const TrustedNode& node : nodes_.trust().nodes) {
    if (node.name <= after || !node.may_act_for(id.account)) continue;
    if (keys.size() == kKeysOfPage) break;
    TRY(std::string sealed, node.key.encrypt(kVaultKeyPurpose, begin_of_key(id) + key));
    keys.push_back({{"node", node.name}, {"sealed", std::move(sealed)}});
  }
  Json answer = {{"keys", std::move(keys)}};
  return answer;
}

Result<Json> NodeOrders::open_key(const Json& question) const {
  Fields in(question, "open_key");
  TRY(const tenants::TenantId id, read_tenant(in));
  TRY(const std::string sealed, in.string("sealed", kMaxSealedKey));
  CHECKED(in.done());
  const auto opened = key_().decrypt(kVaultKeyPurpose, sealed);
  const std::string begin = begin_of_key(id);
  if (!opened || !opened->starts_with(begin))
    return fail(Code::denied, "the key of the vault is encrypted for another node, or for an earlier key of this one");
  Json answer = {{"key", opened->substr(begin.size())}};
  return answer;
}

Task<Result<Json>> NodeOrders::answer(std::string order, Json question) {
  if (order == "drain") {
    Fields in(question, order);
    (void)in.find("id");
    CO_TRY(const bool is_drained, in.boolean_or("drained", true));
    CO_CHECKED(in.done());
    CO_CHECKED(co_await nodes_.set_drained(is_drained));
    Json done = {{"drained", is_drained}};
    co_return done;
  }
  if (order == "seal_key") co_return seal_key(question);
  if (order == "open_key") co_return open_key(question);
  co_return co_await change(std::move(order), std::move(question));
}

Task<Result<Json>> NodeOrders::change(std::string order, Json question) {
  CO_TRY(OrderedHome ordered_home, read_ordered_home(order, question));
  if (order == "homes") {
    Json homes = list(ordered_home.id);
    co_return homes;
  }
  if (order == "other") {
    auto node = homes_.other_node(ordered_home.id);
    if (!node) co_return fail(Code::denied, node.error().what, node.error().hint);
    Json other = {{"node", *node}};
    co_return other;
  }
  Result<HomeDirectory::HomeLookup> match = fail(Code::internal, "");
  if (order == "claim") {
    HomeRecord expected{std::move(ordered_home.from), ordered_home.epoch};
    using Claim = HomeDirectory::Claim;
    const Claim how = ordered_home.is_after_lease ? Claim::after_lease : Claim::now;
    match = co_await homes_.claim(std::move(ordered_home.id), std::move(expected), how);
  }
  if (order == "fence") match = co_await homes_.fence(std::move(ordered_home.id), ordered_home.epoch);
  if (order == "lost") match = co_await homes_.find_lost(std::move(ordered_home.id));
  if (!match) co_return tl::unexpected<Error>(std::move(match).error());
  Json home = {{"node", match->record.node}, {"epoch", match->record.epoch}, {"here", match->is_here}};
  co_return home;
}

}  // namespace cluster
