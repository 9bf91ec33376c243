#include "supervisor/cluster/node/carrier.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/base/random.h"
#include "supervisor/base/sha256.h"
#include "supervisor/base/unix_socket.h"
#include "supervisor/cluster/link/first_line.h"
#include "supervisor/cluster/link/query_messages.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr char kOpen[] = "open", kLookOrder[] = "look", kPush[] = "push";  // kinds of orders
constexpr auto kOpenLimit = 2300ms;
constexpr auto kServingLimit = 1200ms;  // for warderd; the other node waits kOpenLimit
constexpr int64_t kOldestOrderMs = 2'300 + EnvelopeChecker::kToleranceMs;  // its sender waits kOpenLimit
constexpr size_t kMaxConnections = 4096;
constexpr auto kWarnEvery = 10s;     // refused orders; each client of the bus can send some
constexpr size_t kMaxOrders = 1024;  // in work
constexpr size_t kMaxOrdersOfNode = 256;
constexpr size_t kMaxServedOfNode = 1024;  // as many as a warderd holds to others (RequestRouter)
constexpr SubscriptionBounds kFrames{.max_messages = 4096, .max_bytes = 2 * BusTunnel::kWindow};

// The body of "open" and "opened". "refused" has {"why", "remedy", "order"}.
struct Greeting {
  std::string key;    // of FrameCipher
  std::string inbox;  // the subject for frames to the sender
  std::string boot;   // of the sender's start
  std::string order;  // the id of the order that is answered; empty: it is the order
};

std::string write_greeting(const Greeting& greeting) {
  return dump_json(
      {{"key", greeting.key}, {"inbox", greeting.inbox}, {"boot", greeting.boot}, {"order", greeting.order}});
}

// The inbox must be one of the sender's: frames for this connection go there.
Result<Greeting> read_greeting(const NodeEnvelope& envelope) {
  TRY(const Json body, parse_json(envelope.body));
  Fields in(body, envelope.kind);
  Greeting greeting;
  TRY(greeting.key, in.string("key", 64));
  TRY(greeting.inbox, in.string("inbox", 200));
  TRY(greeting.boot, in.string("boot", 64));
  TRY(greeting.order, in.string("order", 64));
  CHECKED(in.done());
  if (!greeting.inbox.starts_with(fmt::format("{}{}.c.", kInboxRoot, envelope.from)))
    return fail(Code::invalid, envelope.kind + ".inbox: not of the sender");
  return greeting;
}

// Subjects of JWTs may have any characters. A name that an envelope does not take is sent as its hash: it is the same
// for each connection of the principal.
std::string envelope_principal(const std::string& name) {
  const bool fits = !name.empty() && name.size() <= kMaxPrincipal &&
                    std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
  return fits ? name : "sha256:" + sha256_hex(name);
}

void send_line(int socket, const Json& message) {
  const std::string line = dump_json(message) + "\n";
  (void)!::send(socket, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);  // fits into an empty buffer
}

}  // namespace

Carrier::Carrier(Loop& loop, Bus& bus, Identity identity)
    : loop_(loop),
      bus_(bus),
      identity_(std::move(identity)),
      checker_(identity_.node, identity_.boot, identity_.trust, {}, read_clocks()),
      tasks_(loop) {}

Result<> Carrier::begin() {
  TRY(auto orders, bus_.subscribe("w1.node." + identity_.node));
  tasks_.spawn(serve(std::move(orders)));
  return {};
}

Task<> Carrier::serve(std::unique_ptr<BusSubscription> orders) {
  for (;;) {
    auto message = co_await orders->next();
    if (!message) co_return;
    if (tasks_.live() < kMaxOrders) tasks_.spawn(take_order(*std::move(message)));
  }
}

Result<std::string> Carrier::seal(NodeEnvelope envelope) const {
  envelope.from = identity_.node;
  envelope.issued_at_ms = read_clocks().wall_ms;
  return seal_envelope(envelope, identity_.key);
}

void Carrier::refuse(const BusMessage& message, const NodeEnvelope& order, const std::string& boot, const Error& why) {
  counts_.refused_here++;
  NodeEnvelope answer{.kind = "refused", .id = random_hex(16), .to = order.from, .boot = boot};
  answer.body = dump_json({{"why", why.what}, {"remedy", why.hint}, {"order", order.id}});
  if (auto sealed = seal(std::move(answer))) (void)respond(bus_, message, *std::move(sealed));
}

// One node, which may be in wrong hands, leaves room for the others.
Result<> Carrier::check_room_for(const std::string& node) const {
  if (orders_.count_of(node) < kMaxOrdersOfNode && served_.count_of(node) < kMaxServedOfNode) return {};
  return fail(Code::exhausted, fmt::format("the node {} has too many connections to {}", node, identity_.node),
              "send the request again later");
}

// Returns when warderd serves the client: systemd accepts connections for a warderd that does not run or is stopped,
// too. `order` must outlive the task.
Task<Result<AsyncFd>> Carrier::connect_to_warderd(const NodeEnvelope& order) {
  if (tunnels_.size() >= kMaxConnections) co_return fail(Code::exhausted, "the node carries too many connections");
  CO_TRY(Fd created, connect_unix(identity_.warderd, SOCK_STREAM));
  CO_TRY(AsyncFd socket, AsyncFd::adopt(loop_, std::move(created)));
  if (!order.tenant) {
    const TrustedNode* asking = checker_.trust().find(order.from);
    if (!asking) co_return fail(Code::denied, "the node was removed");
    send_line(socket.get(), {{"look", write_query_order({order.from, asking->accounts})}});
    co_return socket;
  }
  const EnvelopeTenant& tenant = *order.tenant;
  if (order.kind == kPush) {
    const Push push{order.from, tenant.tenant, static_cast<uint64_t>(order.epoch), tenant.policy, tenant.policy_hash};
    send_line(socket.get(), {{"take", write_push(push)}});
    co_return socket;
  }
  const NodeClient for_client{order.from, tenant.principal, tenant.tenant.account, tenant.policy, tenant.policy_hash};
  send_line(socket.get(), {{"act", write_node_client(for_client)}});
  const auto answer = co_await read_first_line(loop_, socket, kMaxLine, kServingLimit);
  const auto message = answer ? parse_json(*answer) : Result<Json>(Json());
  if (!message || !message->is_object() || !message->contains("serving"))
    co_return fail(Code::unavailable, "it does not answer", "ask the administrator: systemctl status warder");
  co_return socket;
}

// An order that is not accepted gets no answer: its sender is not known.
Task<> Carrier::take_order(BusMessage message) {
  const auto accepted = checker_.accept(message.bytes, read_clocks());
  if (!accepted) {
    counts_.refused[std::string(name_of(accepted.error().fault))]++;
    const auto now = Monotonic::now();
    if (now - warned_ >= kWarnEvery) {
      warned_ = now;
      log_warning("cluster: an order is refused: {}; further ones are logged after {} s", accepted.error().error.what,
                  kWarnEvery.count());
    }
    co_return;
  }
  const NodeEnvelope& order = *accepted;
  const bool is_known = order.tenant ? order.kind == kOpen || order.kind == kPush : order.kind == kLookOrder;
  if (!is_known) co_return;
  if (read_clocks().wall_ms - order.issued_at_ms > kOldestOrderMs) co_return;  // its sender has given up
  const auto greeting = read_greeting(order);
  if (!greeting) co_return refuse(message, order, {}, greeting.error());
  const std::string& boot = greeting->boot;
  const auto room = check_room_for(order.from);
  if (!room) co_return refuse(message, order, boot, room.error());
  const UnderWay<std::string>::Guard in_work(orders_, order.from);
  if (order.kind == kPush) {
    Result<> checked = fail(Code::denied, "this node takes no workspaces");
    if (identity_.check_push)
      checked = co_await identity_.check_push(order.tenant->tenant, order.from, static_cast<uint64_t>(order.epoch));
    if (!checked) co_return refuse(message, order, boot, checked.error());
  }
  const FrameCipher::TunnelKeys keys;
  auto cipher = FrameCipher::make(keys, FrameCipher::Side::requested, greeting->key);
  if (!cipher) co_return refuse(message, order, boot, cipher.error());
  auto local = co_await connect_to_warderd(order);
  if (!local) co_return refuse(message, order, boot, std::move(local).error().within("warderd of " + identity_.node));
  const std::string inbox = fmt::format("{}{}.c.{}", kInboxRoot, identity_.node, random_hex(16));
  auto frames = bus_.subscribe(inbox, {}, kFrames);
  if (!frames) co_return refuse(message, order, boot, frames.error());
  // The bus sends in order, so a server knows the subscription before the other node sends its first frame.
  NodeEnvelope opened{.kind = "opened", .id = random_hex(16), .to = order.from, .boot = boot};
  opened.body = write_greeting({keys.public_text(), inbox, identity_.boot, order.id});
  auto answer = seal(std::move(opened));
  if (!answer || !respond(bus_, message, *std::move(answer))) co_return;
  counts_.opened_here++;
  add(Side::serving, order.from, order.tenant ? order.tenant->tenant.account : std::string(), *std::move(cipher),
      BusTunnel::Ends{*std::move(local), greeting->inbox, *std::move(frames)});
}

Task<Result<Carrier::Opened>> Carrier::ask(const OtherNode& node, const Purpose& purpose,
                                           const FrameCipher::TunnelKeys& keys, const std::string& inbox) {
  CO_TRY(auto frames, bus_.subscribe(inbox, {}, kFrames));
  if (!kWire.overlaps(node.wire))
    co_return fail(Code::unavailable,
                   fmt::format("it speaks versions {} to {} of the protocol between nodes, this node {} to {}",
                               node.wire.oldest, node.wire.newest, kWire.oldest, kWire.newest),
                   "install the same version of warder-cluster on all machines");
  const TrustedNode* trusted = checker_.trust().find(node.name);
  if (!trusted) co_return fail(Code::denied, "the trust record does not name the node " + node.name);
  if (purpose.tenant && !trusted->may_act_for(purpose.tenant->tenant.account))
    co_return fail(Code::denied,
                   fmt::format("the trust record does not let the node {} have the account {}", node.name,
                               purpose.tenant->tenant.account),
                   "ask the administrator: warder cluster add --accounts");
  const std::string id = random_hex(16);
  NodeEnvelope order{.kind = purpose.kind, .id = id, .to = node.name, .boot = node.boot};
  order.tenant = purpose.tenant;
  order.epoch = purpose.epoch;
  order.body = write_greeting({keys.public_text(), inbox, identity_.boot, {}});
  CO_TRY(std::string sealed, seal(std::move(order)));
  CO_TRY(const BusMessage message, co_await bus_.request("w1.node." + node.name, std::move(sealed), kOpenLimit));
  const auto accepted = checker_.accept(message.bytes, read_clocks());
  if (!accepted) {
    counts_.refused[std::string(name_of(accepted.error().fault))]++;
    co_return tl::unexpected<Error>(accepted.error().error);
  }
  if (accepted->from != node.name) co_return fail(Code::denied, "another node answered");
  if (accepted->kind == "refused") {
    CO_TRY(const Json body, parse_json(accepted->body));
    if (text_member(body, "order") != id) co_return fail(Code::denied, "the answer is for another order");
    counts_.refused_there++;
    co_return fail(Code::unavailable, text_member(body, "why"), text_member(body, "remedy"));
  }
  CO_TRY(const Greeting greeting, read_greeting(*accepted));
  if (accepted->kind != "opened" || greeting.order != id)
    co_return fail(Code::denied, "the answer is for another order");
  CO_TRY(FrameCipher cipher, FrameCipher::make(keys, FrameCipher::Side::asking, greeting.key));
  Opened opened{std::move(cipher), std::move(frames), greeting.inbox, greeting.boot};
  co_return opened;
}

Task<> Carrier::carry(AsyncFd local, OtherNode node, std::optional<NodeClient> for_client) {
  Purpose purpose{kLookOrder};
  if (for_client)
    purpose = {kOpen, EnvelopeTenant{envelope_principal(for_client->principal),
                                     {for_client->account},
                                     for_client->policy,
                                     for_client->policy_hash}};
  return carry_for(std::move(local), std::move(node), std::move(purpose));
}

Task<> Carrier::carry_push(AsyncFd local, OtherNode node, Push push) {
  Purpose purpose{kPush, EnvelopeTenant{"move", push.id, push.policy, push.policy_hash},
                  static_cast<int64_t>(push.epoch)};
  return carry_for(std::move(local), std::move(node), std::move(purpose));
}

Task<> Carrier::carry_for(AsyncFd local, OtherNode node, Purpose purpose) {
  const FrameCipher::TunnelKeys keys;
  const std::string inbox = fmt::format("{}{}.c.{}", kInboxRoot, identity_.node, random_hex(16));
  Error why{Code::exhausted, 0, "the node carries too many connections", "send the request again later", {}};
  if (tunnels_.size() < kMaxConnections) {
    auto opened = co_await ask(node, purpose, keys, inbox);
    if (opened) {
      counts_.opened++;
      send_line(local.get(), {{"opened", {{"boot", opened->boot}}}});
      add(Side::asking, node.name, purpose.tenant ? purpose.tenant->tenant.account : std::string(),
          std::move(opened->cipher), BusTunnel::Ends{std::move(local), opened->inbox, std::move(opened->frames)});
      co_return;
    }
    why = std::move(opened).error();
    if (no_responders(why) || after_timeout(why)) {
      counts_.unreachable++;
      if (identity_.unanswered) identity_.unanswered(node.name);
    }
    if (no_responders(why)) why.what = "the node is not connected to the cluster";
    if (after_timeout(why)) {
      why.what = "the node does not answer";
      why.hint =
          "ask the administrator: journalctl --unit=warder-node on both machines; their clocks must agree to 5 s";
    }
  }
  if (why.hint.empty()) why.hint = "ask the administrator: journalctl --unit=warder-node";
  send_line(local.get(), {{"refused", {{"why", why.what}, {"remedy", why.hint}}}});
}

void Carrier::set_trust(TrustRecord trust) {
  checker_.set_trust(std::move(trust));
  for (auto& entry : tunnels_)
    if (!is_trusted(entry.node, entry.key, entry.account)) entry.connection->close();
}

void Carrier::count_into(NodeNumbers& numbers) const {
  numbers.connections = tunnels_.size();
  numbers.opened = counts_.opened;
  numbers.refused_there = counts_.refused_there;
  numbers.unreachable = counts_.unreachable;
  numbers.opened_here = counts_.opened_here;
  numbers.refused_here = counts_.refused_here;
  numbers.refused = counts_.refused;
}

bool Carrier::is_trusted(const std::string& node, const PublicKey& key, const std::string& account) const {
  const TrustedNode* found = checker_.trust().find(node);
  return found && found->key == key && !account.empty() && found->may_act_for(account);
}

// A removed node gets no connection: the local socket is closed.
void Carrier::add(Side side, const std::string& node, const std::string& account, FrameCipher cipher,
                  BusTunnel::Ends ends) {
  const TrustedNode* found = checker_.trust().find(node);
  if (!found) return;
  const auto tunnel = tunnels_.emplace(tunnels_.end());
  tunnel->node = node, tunnel->account = account, tunnel->key = found->key;
  if (side == Side::serving) tunnel->served.emplace(served_, node);
  auto ended = [this, tunnel] { loop_.defer([this, tunnel] { tunnels_.erase(tunnel); }); };
  tunnel->connection = std::make_unique<BusTunnel>(loop_, bus_, std::move(cipher), std::move(ends), std::move(ended));
  tunnel->connection->begin();
}

}  // namespace cluster
