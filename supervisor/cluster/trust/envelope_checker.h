// EnvelopeChecker: decides whether this node acts on a message from another node. It is the only way in: a message
// is not used before accept() has returned it.
//
// A message is accepted once. Its id is stored until it has expired, by the wall clock or by the monotonic clock,
// if that is earlier. A clock may be set back, so an expired message could become valid again: therefore a sender's
// messages are refused if they were issued before the newest one of which the id is forgotten. An earlier start may
// have accepted a message, too: a message must have the boot of this start, or be issued 5 s after it. Orders should
// have the boot: then they are taken at once, also while a clock shows a time before the start.
//
// Memory is bounded: 10,000 ids for each sender, 65,536 homes. Further messages are refused while the memory is full. A
// home is forgotten after a minute without a message, if room is needed.
//
// The highest epoch of a home is of the messages alone, so it is a second line only: the handler of a message with an
// epoch compares it with the home's record (HomeDirectory::check_push()). A trusted node that may act for an account
// could name a high epoch and so have other nodes' messages for that home refused, until the home is forgotten.
//
// What a kind of message needs, a tenant or an epoch, is checked by its handler. Clocks are arguments.
// Used by: warder-node, on its loop. A call takes some 0.1 ms for the signature, and 3 ms for a body of 1 MiB.
#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "supervisor/base/clock.h"
#include "supervisor/cluster/trust/envelope.h"
#include "supervisor/cluster/trust/trust_record.h"

namespace cluster {

enum class EnvelopeFault {
  too_large,
  malformed,
  wrong_receiver,  // it names another node as receiver
  unknown_sender,  // the trust record does not name the sender
  forged,          // another key signed it, or it was changed
  expired,
  from_the_future,
  before_start,       // it may be of before this start
  wrong_boot,         // it is for an earlier start of this node's daemon
  tenant_not_served,  // the trust record does not let the sender act for the account
  unknown_policy,     // this node has no policy of that name
  other_policy,       // this node's policy has another hash
  old_epoch,          // the home has a newer owner
  replayed,           // accepted before, or too old to know that
  too_many_ids,
  too_many_homes,
};
// "replayed", for metrics and for messages to other nodes.
std::string_view name_of(EnvelopeFault fault);

struct EnvelopeRefusal {
  EnvelopeFault fault = EnvelopeFault::malformed;
  Error error;  // cause and remedy; text of the message is in it in printable form only
};
using CheckedEnvelope = tl::expected<NodeEnvelope, EnvelopeRefusal>;

struct ClockReading {
  int64_t wall_ms = 0;  // since 1970
  Monotonic::time_point monotonic;
};
ClockReading read_clocks();

class EnvelopeChecker {
 public:
  static constexpr int64_t kToleranceMs = 5000;  // between the wall clocks of two nodes
  static constexpr size_t kMaxIdsOfNode = 10'000, kMaxHomes = 65'536;

  // The hash of this node's policy of that name; nullopt: it has no policy of that name.
  using PolicyLookup = std::function<std::optional<std::string>(const std::string& policy)>;

  // `node`: the name of this node. `boot`: of this start, in hexadecimal digits. `policy_of`: empty: another part
  // checks policies. `max_homes`: tests use fewer.
  EnvelopeChecker(std::string node, std::string boot, TrustRecord trust, PolicyLookup policy_of, ClockReading start,
                  size_t max_homes = kMaxHomes);

  // Checks a message completely, and remembers its id and epoch if it is accepted.
  CheckedEnvelope accept(std::string_view bytes, ClockReading now);
  // From then on only the nodes of this record are trusted. Ids of all former senders stay.
  void set_trust(TrustRecord trust) { trust_ = std::move(trust); }
  const TrustRecord& trust() const { return trust_; }

  // For tests: how much is stored.
  size_t stored_ids(const std::string& node) const;
  size_t stored_homes() const { return homes_.size(); }

 private:
  struct SeenId {
    std::string id;
    int64_t issued_at_ms = 0;
    Monotonic::time_point accepted;
  };
  struct Sender {
    std::deque<SeenId> in_order;  // of acceptance
    std::unordered_set<std::string> ids;
    int64_t forgotten_until_ms = -1;  // the newest issued_at of a forgotten id
  };
  struct HomeEpoch {
    tenants::TenantId home;
    int64_t epoch = 0;
    Monotonic::time_point used;
  };

  using Refused = std::optional<EnvelopeRefusal>;
  Refused check_sender(const OpenedEnvelope& opened) const;
  Refused check_time(const NodeEnvelope& envelope, ClockReading now) const;
  Refused check_tenant(const NodeEnvelope& envelope) const;
  Refused check_epoch(const NodeEnvelope& envelope, ClockReading now);
  Refused check_replay(const NodeEnvelope& envelope, ClockReading now);
  void forget_expired(Sender& sender, ClockReading now);
  // False: no room.
  bool make_room_for_home(ClockReading now);
  void store_epoch(const tenants::TenantId& home, int64_t epoch, ClockReading now);

  std::string node_, boot_;
  TrustRecord trust_;
  PolicyLookup policy_of_;
  int64_t started_ms_;
  size_t max_homes_;
  std::map<std::string, Sender> senders_;  // nodes of trust records, so few
  std::list<HomeEpoch> homes_;             // the last used first
  std::map<tenants::TenantId, std::list<HomeEpoch>::iterator> home_index_;
};

}  // namespace cluster
