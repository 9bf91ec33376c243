#include "supervisor/operations/bus/caller.h"

#include <fmt/format.h>

#include <algorithm>

namespace bus {
namespace {

using namespace std::chrono_literals;

constexpr auto kBusPatience = 10s;
constexpr auto kPersonPatience = 120s;            // a person may have to type a password
constexpr uint32_t kMaxConcurrentQuestions = 16;  // calls of one sender, or questions of one user

constexpr auto kGrantUsed = 60s, kDenialUsed = 10s;  // answers of polkit; one that does not answer counts as a denial
constexpr size_t kMaxEntries = 4096;                 // names on the bus
constexpr size_t kWaitingOfSender = 16;              // calls of one name that wait for the same answer

std::string sender_of(sd_bus_message* call) {
  const char* name = sd_bus_message_get_sender(call);
  return name ? name : "";
}

std::string action_of(Right right) {
  switch (right) {
    case Right::manage_executions:
      return "org.warder.Warder1.manage-executions";
    case Right::see_all:
      return "org.warder.Warder1.see-all";
    case Right::approve_calls:
      return "org.warder.Warder1.approve-calls";
    case Right::reveal_personal_data:
      return "org.warder.Warder1.reveal-personal-data";
    default:
      return "org.warder.Warder1.configure";
  }
}

Result<MessagePtr> new_call(BusConnection& connection, const char* destination, const char* path, const char* interface,
                            const char* member) {
  sd_bus_message* call = nullptr;
  const int r = sd_bus_message_new_method_call(connection.get(), &call, destination, path, interface, member);
  if (r < 0) return fail_errno(-r, fmt::format("call {}", member), Code::unavailable);
  return MessagePtr(call);
}

// Reads one entry of GetConnectionCredentials, which is a{sv}. Known entries: UnixUserID (u), UnixGroupIDs (au).
int read_credential(sd_bus_message* reply, policies::Peer& peer, bool& has_uid) {
  const char *key = nullptr, *type = nullptr;
  int r = sd_bus_message_read(reply, "s", &key);
  if (r < 0) return r;
  const std::string_view name(key);
  r = sd_bus_message_peek_type(reply, nullptr, &type);
  if (r < 0) return r;
  if (name == "UnixUserID" && std::string_view(type) == "u") {
    has_uid = true;
    return sd_bus_message_read(reply, "v", "u", &peer.uid);
  }
  if (name != "UnixGroupIDs" || std::string_view(type) != "au") return sd_bus_message_skip(reply, "v");
  const void* groups = nullptr;
  size_t size = 0;
  r = sd_bus_message_enter_container(reply, 'v', "au");
  if (r >= 0) r = sd_bus_message_read_array(reply, 'u', &groups, &size);
  if (r < 0) return r;
  const auto* first = static_cast<const gid_t*>(groups);
  peer.groups.assign(first, first + size / sizeof(gid_t));
  return sd_bus_message_exit_container(reply);
}

}  // namespace

struct Authority::Turn {
  Authority& authority;
  std::string sender;
  Turn(Authority& a, std::string user) : authority(a), sender(std::move(user)) { authority.asking_[sender]++; }
  Turn(const Turn&) = delete;
  ~Turn() {
    auto it = authority.asking_.find(sender);
    if (--it->second == 0) authority.asking_.erase(it);
  }
  bool too_many() const { return authority.asking_.at(sender) > kMaxConcurrentQuestions; }
};

Task<Result<Viewer>> Authority::view(MessagePtr call) {
  auto viewer = co_await view_of(sender_of(call.get()));
  co_return viewer;
}

Task<Result<Viewer>> Authority::view_of(std::string sender) {
  if (is_stale(sender)) {
    auto [waiting, is_first] = learning_.try_emplace(sender);
    if (is_first) {
      auto learned = co_await learn(sender);
      for (const auto& item : std::exchange(learning_[sender], {})) item.resolve(learned);
      learning_.erase(sender);
      CO_CHECKED(std::move(learned));
    } else {
      if (waiting->second.size() >= kWaitingOfSender)
        co_return fail(Code::exhausted, "too many calls at once", "wait for the answers");
      OneShot<Result<>> learned(loop_, fail(Code::unavailable, "the caller's rights could not be read"));
      waiting->second.push_back(learned.resolver());
      CO_CHECKED(co_await learned);
    }
  }
  const auto it = senders_.find(sender);
  if (it == senders_.end()) co_return fail(Code::exhausted, "too many callers at once", "call again");
  it->second.used = Monotonic::now();
  co_return viewer(it->second);
}

// Reads who the sender is, and whether it sees all tenants.
Task<Result<>> Authority::learn(std::string sender) {
  CO_TRY(policies::Peer peer, co_await identify_name(sender));
  KnownSender known_sender;
  known_sender.peer = peer;
  known_sender.sees_all = is_master(peer);
  known_sender.used = Monotonic::now();
  if (!known_sender.sees_all && rules_.polkit) {
    auto granted = co_await ask_polkit(sender, PolkitMayAsk::no_user, peer.uid, Right::see_all);
    known_sender.sees_all = granted.has_value();
    const bool was_requested = granted || granted.error().code == Code::denied;
    known_sender.until = Monotonic::now() + (granted ? kGrantUsed : was_requested ? kDenialUsed : 0s);
  }
  senders_.insert_or_assign(sender, std::move(known_sender));
  forget_oldest();
  co_return Result<>{};
}

void Authority::forget_oldest() {
  if (senders_.size() <= kMaxEntries) return;
  const auto oldest = std::min_element(senders_.begin(), senders_.end(),
                                       [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
  senders_.erase(oldest);
}

Viewer Authority::viewer(const KnownSender& sender) const {
  return {sender.peer, tenant_of(sender.peer), sender.sees_all};
}

std::optional<Viewer> Authority::known_view(std::string_view sender) const {
  const auto it = senders_.find(sender);
  if (it == senders_.end()) return {};
  return viewer(it->second);
}

bool Authority::is_stale(std::string_view sender) const {
  const auto it = senders_.find(sender);
  return it == senders_.end() || (it->second.until && *it->second.until < Monotonic::now());
}

Task<Result<policies::Peer>> Authority::identify(MessagePtr call) {
  auto peer = co_await identify_name(sender_of(call.get()));
  co_return peer;
}

Task<Result<policies::Peer>> Authority::identify_name(std::string sender) {
  Turn turn(*this, sender);
  if (turn.too_many()) co_return fail(Code::exhausted, "too many calls at once", "wait for the answers");
  CO_TRY(MessagePtr question, new_call(connection_, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                       "org.freedesktop.DBus", "GetConnectionCredentials"));
  int r = sd_bus_message_append(question.get(), "s", sender.c_str());
  if (r < 0) co_return fail_errno(-r, "read the caller's credentials");
  CO_TRY(MessagePtr answer, co_await connection_.call(std::move(question), kBusPatience));
  policies::Peer peer;
  peer.uid = static_cast<uid_t>(-1);
  peer.gid = static_cast<gid_t>(-1);
  bool has_uid = false;
  r = sd_bus_message_enter_container(answer.get(), 'a', "{sv}");
  while (r > 0 && (r = sd_bus_message_enter_container(answer.get(), 'e', "sv")) > 0) {
    r = read_credential(answer.get(), peer, has_uid);
    if (r >= 0) r = sd_bus_message_exit_container(answer.get());
    if (r >= 0) r = 1;
  }
  if (r < 0 || !has_uid) co_return fail(Code::unavailable, "the bus does not name the caller's user");
  co_return peer;
}

// If the bus does not give the groups of the caller, it is not known which rule fits: no tenant.
std::string Authority::tenant_of(const policies::Peer& caller) const {
  return caller.groups.empty() ? std::string() : rules_.tenant_of(caller);
}

Task<Result<policies::Peer>> Authority::allow(MessagePtr call, Right right, std::string tenant) {
  CO_TRY(policies::Peer peer, co_await identify(share(call.get())));
  if (is_master(peer)) co_return peer;
  if (!tenant.empty() && tenant_of(peer) == tenant) co_return peer;
  if (rules_.polkit) {
    const bool has_person = sd_bus_message_get_allow_interactive_authorization(call.get()) > 0;
    const PolkitMayAsk may_ask = has_person ? PolkitMayAsk::person : PolkitMayAsk::no_user;
    CO_CHECKED(co_await ask_polkit(sender_of(call.get()), may_ask, peer.uid, right));
    co_return peer;
  }
  co_return fail(Code::denied, fmt::format("user {} has no permission for this call", peer.uid),
                 tenant.empty() ? "call as root or as the daemon's user"
                                : "it belongs to another tenant; call as root or as the daemon's user");
}

// A person may take minutes or never answer. So the questions of one user are bounded over all connections.
Task<Result<>> Authority::ask_polkit(std::string sender, PolkitMayAsk may_ask, uid_t user, Right right) {
  const bool may_ask_person = may_ask == PolkitMayAsk::person;
  const std::string action = action_of(right);
  Turn turn(*this, fmt::format("user {}", user));
  if (turn.too_many()) co_return fail(Code::exhausted, "too many questions to polkit at once", "wait for the answers");
  CO_TRY(MessagePtr question,
         new_call(connection_, "org.freedesktop.PolicyKit1", "/org/freedesktop/PolicyKit1/Authority",
                  "org.freedesktop.PolicyKit1.Authority", "CheckAuthorization"));
  int r = sd_bus_message_append(question.get(), "(sa{sv})sa{ss}us", "system-bus-name", 1, "name", "s", sender.c_str(),
                                action.c_str(), 0, may_ask_person ? 1u : 0u, "");
  if (r < 0) co_return fail_errno(-r, "ask polkit");
  auto answer = co_await connection_.call(std::move(question), may_ask_person ? kPersonPatience : kBusPatience);
  if (!answer) {
    co_return fail(Code::denied, fmt::format("only root may do this: polkit did not answer ({})", answer.error().what),
                   "install polkitd, or call as root");
  }
  int authorized = 0, challenge = 0;
  r = sd_bus_message_enter_container(answer->get(), 'r', "bba{ss}");
  if (r > 0) r = sd_bus_message_read(answer->get(), "bb", &authorized, &challenge);
  if (r > 0 && authorized) co_return Result<>{};
  co_return fail(Code::denied, fmt::format("polkit does not grant {}", action),
                 challenge ? "run the command as root, or where polkit can ask for the password of an administrator"
                           : "ask an administrator to call");
}

}  // namespace bus
