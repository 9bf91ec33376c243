#include "supervisor/cluster/node/node_orders.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "supervisor/base/fields.h"
#include "supervisor/cluster/link/node_messages.h"

namespace cluster {
namespace {

constexpr std::array<std::string_view, 6> kOrders = {"claim", "fence", "lost", "other", "homes", "drain"};
constexpr size_t kHomesOfPage = 40;  // fit into kMostLine

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
    TRY(question.from, in.string("from", kMostNodeName));
    TRY(question.is_after_lease, in.boolean_or("after_lease", false));
  }
  if (order == "claim" || order == "fence") {
    TRY(const int64_t epoch, in.integer("epoch", 1, int64_t{1} << 53));
    question.epoch = static_cast<uint64_t>(epoch);
  }
  CHECKED(in.done());
  return question;
}

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
  co_return co_await change(std::move(order), std::move(question));
}

Task<Result<Json>> NodeOrders::change(std::string order, Json question) {
  CO_TRY(OrderedHome asked, read_ordered_home(order, question));
  if (order == "homes") {
    Json homes = list(asked.id);
    co_return homes;
  }
  if (order == "other") {
    auto node = homes_.other_node(asked.id);
    if (!node) co_return fail(Code::denied, node.error().what, node.error().hint);
    Json other = {{"node", *node}};
    co_return other;
  }
  Result<HomeDirectory::Found> found = fail(Code::internal, "");
  if (order == "claim") {
    HomeRecord expected{std::move(asked.from), asked.epoch};
    using Claim = HomeDirectory::Claim;
    const Claim how = asked.is_after_lease ? Claim::after_lease : Claim::now;
    found = co_await homes_.claim(std::move(asked.id), std::move(expected), how);
  }
  if (order == "fence") found = co_await homes_.fence(std::move(asked.id), asked.epoch);
  if (order == "lost") found = co_await homes_.find_lost(std::move(asked.id));
  if (!found) co_return tl::unexpected<Error>(std::move(found).error());
  Json home = {{"node", found->record.node}, {"epoch", found->record.epoch}, {"here", found->is_here}};
  co_return home;
}

}  // namespace cluster
