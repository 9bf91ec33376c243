// Carrier: opens connections between the warderd of this node and those of other nodes, and owns them.
//   asking  carry(): sends the order "open" to the other node, signed, and waits for its signed answer; "look", a query
//   for
//           operators, which acts for no tenant
//   asked   serve(): checks each order that comes, connects to the warderd of this node, and answers
// The order "push" opens a connection on which a workspace comes, after a check of the home's record.
// No order begins work by itself: that comes later over the connection. An order that is older than a few seconds is
// refused, since its sender has given up.
// Used by: node_service.h. Errors: unavailable, with the other node's reason.
#pragma once
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/base/under_way.h"
#include "supervisor/cluster/bus/bus.h"
#include "supervisor/cluster/link/node_messages.h"
#include "supervisor/cluster/link/node_numbers.h"
#include "supervisor/cluster/node/bus_tunnel.h"
#include "supervisor/cluster/placement/node_table.h"
#include "supervisor/cluster/trust/envelope_checker.h"

namespace cluster {

class Carrier {
 public:
  struct Identity {
    std::string node;
    std::string boot;  // of this start of warder-node
    PrivateKey key;
    TrustRecord trust;
    std::string warderd;                                           // path of the socket of this node's warderd
    std::function<void(const std::string& node)> unanswered = {};  // an order to that node got no answer
    // Whether the node `from` may send the workspace to this one (HomeDirectory::check_push()). Empty: it may not.
    std::function<Task<Result<>>(tenants::TenantId id, std::string from, uint64_t epoch)> check_push = {};
  };
  // Loop, bus and homes must outlive the object.
  Carrier(Loop& loop, Bus& bus, Identity identity);

  // Answers the orders of other nodes. Call it once. Errors: those of Bus::subscribe().
  Result<> begin();
  struct OtherNode {
    std::string name;
    std::string boot;  // of its warder-node; empty: not known
    WireVersions wire = kWire;
  };
  // Opens a connection to the warderd of `node`, for a client of this node, or for a query (nullopt), and carries
  // `local` over it. `local` gets the lines {"opened"} or {"refused"} (node_messages.h).
  Task<> carry(AsyncFd local, OtherNode node, std::optional<NodeClient> for_client);
  // The same, with the order "push": the other node takes a workspace of this node.
  Task<> carry_push(AsyncFd local, OtherNode node, Push push);
  // From then on only the nodes of this record count. Connections with other nodes end.
  void set_trust(TrustRecord trust);
  const PrivateKey& key() const { return identity_.key; }
  size_t connections() const { return tunnels_.size(); }
  // Adds what this object has counted.
  void count_into(NodeNumbers& numbers) const;

 private:
  struct Opened {
    FrameCipher cipher;
    std::unique_ptr<BusSubscription> frames;
    std::string inbox;  // of the other side
    std::string boot;   // of the other warder-node
  };
  // What an order asks for, besides the connection.
  struct Purpose {
    std::string kind;                      // "open", "look" or "push"
    std::optional<EnvelopeTenant> tenant;  // nullopt: "look"
    int64_t epoch = 0;                     // of "push"
  };
  Task<> carry_for(AsyncFd local, OtherNode node, Purpose purpose);
  Task<> serve(std::unique_ptr<BusSubscription> orders);
  Task<> take_order(BusMessage message);
  Task<Result<Opened>> ask(const OtherNode& node, const Purpose& purpose, const FrameCipher::TunnelKeys& keys,
                           const std::string& inbox);
  Result<std::string> seal(NodeEnvelope envelope) const;
  Task<Result<AsyncFd>> connect_to_warderd(const NodeEnvelope& order);
  void refuse(const BusMessage& message, const NodeEnvelope& order, const std::string& boot, const Error& why);
  enum class Side { asking, serving };
  void add(Side side, const std::string& node, const std::string& account, FrameCipher cipher, BusTunnel::Ends ends);
  Result<> check_room_for(const std::string& node) const;
  bool is_trusted(const std::string& node, const PublicKey& key, const std::string& account) const;

  Loop& loop_;
  Bus& bus_;
  const Identity identity_;
  EnvelopeChecker checker_;
  struct Entry {
    std::string node;                                    // the other one
    std::string account;                                 // empty: a query, which ends with the trust record
    PublicKey key;                                       // of the node, when the connection was opened
    std::optional<UnderWay<std::string>::Guard> served;  // nullopt: this node asked for the connection
    std::unique_ptr<BusTunnel> connection;
  };
  UnderWay<std::string> orders_, served_;  // orders in work and connections, by the node that asked for them
  std::list<Entry> tunnels_;
  NodeNumbers counts_;  // orders and refused messages
  Monotonic::time_point warned_{};
  Scope tasks_;  // last: cancelled first
};

}  // namespace cluster
