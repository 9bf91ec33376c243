#include "supervisor/cluster/link/home_orders.h"

#include <algorithm>

#include "supervisor/base/base64.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json_value.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kOrderLimit = 5s;
constexpr auto kLeaseEndLimit = 50s;  // warder-node watches the lease of the other node
constexpr size_t kMaxPages = 5000;    // of homes
constexpr size_t kMaxSealedVaultKey = 400;
constexpr int64_t kMaxHomeEpoch = int64_t{1} << 53;

Json name_of(const tenants::TenantId& id) { return {{"account", id.account}, {"workspace", id.workspace}}; }

Task<Result<Home>> ask_home(NodeLink& link, const char* order, Json question, std::chrono::seconds limit) {
  CO_TRY(Json answer, co_await link.order(order, std::move(question), limit));
  co_return read_home(answer);
}

Result<HeldHome> read_held(const Json& item) {
  Fields in(item, "homes");
  HeldHome home;
  TRY(home.id.account, in.string("account", 64));
  TRY(home.id.workspace, in.string("workspace", 64));
  TRY(const int64_t epoch, in.integer("epoch", 1, kMaxHomeEpoch));
  home.epoch = static_cast<uint64_t>(epoch);
  CHECKED(in.done());
  return home;
}

}  // namespace

Task<Result<Home>> claim_home(NodeLink& link, tenants::TenantId id, std::string from, uint64_t epoch, ClaimWhen when) {
  Json question = name_of(id);
  question["from"] = from;
  question["epoch"] = epoch;
  question["after_lease"] = when == ClaimWhen::after_lease;
  const auto limit = when == ClaimWhen::now ? kOrderLimit : kLeaseEndLimit;
  auto home = co_await ask_home(link, "claim", std::move(question), limit);
  if (home) link.note_home(id, *home);
  co_return home;
}

Task<Result<Home>> fence_home(NodeLink& link, tenants::TenantId id, uint64_t epoch) {
  Json question = name_of(id);
  question["epoch"] = epoch;
  auto home = co_await ask_home(link, "fence", std::move(question), kOrderLimit);
  if (home) link.note_home(id, *home);
  co_return home;
}

Task<Result<Home>> lost_home(NodeLink& link, tenants::TenantId id) {
  Json question = name_of(id);
  co_return co_await ask_home(link, "lost", std::move(question), kOrderLimit);
}

Task<Result<std::string>> other_node(NodeLink& link, tenants::TenantId id) {
  CO_TRY(const Json answer, co_await link.order("other", name_of(id), kOrderLimit));
  const auto node = answer.find("node");
  if (node == answer.end() || !node->is_string() || !is_node_name(node->get_ref<const std::string&>()))
    co_return fail(Code::unavailable, "warder-node sent an unknown answer");
  co_return node->get<std::string>();
}

Task<Result<std::vector<HeldHome>>> homes_here(NodeLink& link) {
  std::vector<HeldHome> held_homes;
  for (size_t page = 0; page < kMaxPages; page++) {
    Json question = name_of(held_homes.empty() ? tenants::TenantId{} : held_homes.back().id);
    CO_TRY(const Json answer, co_await link.order("homes", std::move(question), kOrderLimit));
    const auto homes = answer.find("homes");
    if (homes == answer.end() || !homes->is_array())
      co_return fail(Code::unavailable, "warder-node sent an unknown answer");
    if (homes->empty()) break;
    for (const Json& item : *homes) {
      CO_TRY(HeldHome home, read_held(item));
      held_homes.push_back(std::move(home));
    }
  }
  std::ranges::sort(held_homes, {}, &HeldHome::id);
  co_return held_homes;
}

Task<Result<SealedVaultKeys>> seal_vault_key(NodeLink& link, tenants::TenantId id, VaultKey key) {
  SealedVaultKeys sealed;
  for (size_t page = 0; page < kMaxPages; page++) {
    Json question = name_of(id);
    question["key"] = to_base64({reinterpret_cast<const char*>(key.data()), key.size()});
    question["after"] = sealed.empty() ? std::string() : sealed.rbegin()->first;
    CO_TRY(const Json answer, co_await link.order("seal_key", std::move(question), kOrderLimit));
    const auto keys = answer.find("keys");
    if (keys == answer.end() || !keys->is_array())
      co_return fail(Code::unavailable, "warder-node sent an unknown answer");
    if (keys->empty()) break;
    for (const Json& item : *keys) {
      Fields in(item, "keys");
      CO_TRY(const std::string node, in.string("node", kMaxNodeName));
      CO_TRY(sealed[node], in.string("sealed", kMaxSealedVaultKey));
      CO_CHECKED(in.done());
    }
  }
  co_return sealed;
}

Task<Result<VaultKey>> open_vault_key(NodeLink& link, tenants::TenantId id, std::string sealed) {
  Json question = name_of(id);
  question["sealed"] = std::move(sealed);
  CO_TRY(const Json answer, co_await link.order("open_key", std::move(question), kOrderLimit));
  const auto text = answer.find("key");
  VaultKey key{};
  const auto bytes = text != answer.end() && text->is_string() ? from_base64(text->get_ref<const std::string&>())
                                                               : fail(Code::unavailable, "");
  if (!bytes || bytes->size() != key.size()) co_return fail(Code::unavailable, "warder-node sent an unknown answer");
  std::copy(bytes->begin(), bytes->end(), key.begin());
  co_return key;
}

Task<Result<>> set_drained(NodeLink& link, bool is_drained) {
  Json question = {{"drained", is_drained}};
  CO_TRY(const Json answer, co_await link.order("drain", std::move(question), kOrderLimit));
  co_return Result<>{};
}

}  // namespace cluster
