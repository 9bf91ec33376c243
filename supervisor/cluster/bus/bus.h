// Bus: messages between the nodes of a cluster, and small shared values (buckets). The interface of one client; the
// product's implementation is nats_bus.h. All functions are called on the loop's thread and return without a wait;
// tasks wait on the loop. Messages are hostile input: the bus bounds their size and number, the readers check the
// bytes.
//
// What the bus promises: messages of one sender to one subject arrive in order, at most once, or not at all. A message
// that was accepted while the bus was reconnecting may arrive late: a node that gives up on an order sends the
// cancellation to the same subject, behind the order.
//
// Destroying a Bus is safe at any time: its running tasks end with an error in a later turn, and messages that were not
// sent yet are dropped. Subscriptions, buckets and watches may outlive it; they then return errors. The loop must
// outlive them all.
// Errors of all tasks: unavailable (not connected, too late, closed), denied (the server refuses this node's key),
// exhausted (a bound of this client), invalid (subject, size). after_timeout() and no_responders() recognise two
// errors.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/base/observer_list.h"
#include "supervisor/base/result.h"

namespace cluster {

// Reply subjects begin with this. respond() publishes to no other subject.
constexpr std::string_view kInboxRoot = "_INBOX.";

struct BusMessage {
  std::string subject;
  std::string reply;  // subject for the answer; empty: the sender wants no answer
  std::string bytes;
  uint64_t dropped_before = 0;  // messages of this subscription that were dropped just before this one
};

enum class BusState {
  connected,     // messages pass
  reconnecting,  // no server can be reached now; the bus tries for ever, with growing pauses
  closed,        // for ever: the servers refuse this node's key. The owner makes another Bus
};
std::string_view bus_state_name(BusState state);  // "connected", "reconnecting", "closed"

struct BusNotice {
  enum class Kind { state, refusal };
  Kind kind = Kind::state;
  BusState state = BusState::connected;
  // One line for the log: the server and its last error; for a refusal, the server's text about the missing
  // permission. Observers get the same refusal once until the next change of state.
  std::string text;
};
// An observer is called from the loop, with no task on the stack, for each change of state, for each reconnect (also if
// the loss was shorter than a turn of the loop) and for refusals. It must not destroy the Bus; defer that.
using BusObserver = std::function<void(const BusNotice&)>;

struct BusStats {
  uint64_t published = 0;        // messages that were accepted by publish() and request()
  uint64_t unsent = 0;           // of these, messages that the library could not send: its buffer was full, or closed
  uint64_t dropped = 0;          // received messages that did not fit into their subscriptions
  uint64_t unknown_replies = 0;  // to no request that waits: late, twice or forged
  uint64_t reconnects = 0;
};

struct SubscriptionBounds {
  size_t max_messages = 4096;  // received and not read yet
  size_t max_bytes =
      16 << 20;  // of these messages with their subjects; a single message may be as large as the server permits
};

// One subscription. The destructor ends it.
class BusSubscription {
 public:
  virtual ~BusSubscription() = default;
  // Waits for the next message. One task at a time. Errors: unavailable, the bus was closed or the subscription ended.
  virtual Task<Result<BusMessage>> next() = 0;
  // All messages that were dropped because their reader was too slow.
  virtual uint64_t dropped() const = 0;
};

struct KvEntry {
  std::string bytes;
  uint64_t revision = 0;  // grows with each change in the bucket
};
struct KvWrite {
  bool written = false;   // false: the key exists (create), or has another revision (update, remove)
  uint64_t revision = 0;  // of the new value, if written
};
struct KvChange {
  enum class Kind {
    value,    // the key has this value
    removed,  // the key has no value any more
    current,  // all values that existed at the start, or at the last reconnect, were returned before this
  };
  Kind kind = Kind::value;
  std::string key;
  std::string bytes;
  uint64_t revision = 0;  // 0 (removed): nobody removed the key, the server lost it
};

// The changes of a bucket. The destructor ends it.
class KvWatch {
 public:
  virtual ~KvWatch() = default;
  // Waits for the next change. First come the keys that exist, the oldest change first, then `current`, then changes as
  // they happen. Of several changes of a key that were not read yet, only the last is returned. After a loss of the
  // connection the bucket is compared with what was returned before: differences come as changes, then `current` again.
  // So no last change of a key is lost, also if the server lost the bucket. One task at a time. Errors: exhausted (the
  // bucket is larger than the bound: the watch has ended), unavailable (closed).
  virtual Task<Result<KvChange>> next() = 0;
};

struct BucketSettings {
  int replicas = 1;                     // 1, 3 or 5; counts when the bucket is created
  size_t max_value_bytes = 64 << 10;    // larger values are refused locally, and by the server
  size_t max_watched_bytes = 64 << 20;  // values of one watch that were not read yet, and all keys
};

// A bucket of values by keys (check_subject). A time-out of a write leaves its outcome unknown: read again, then
// decide. Reads ask the replica that decides about writes.
class KvBucket {
 public:
  virtual ~KvBucket() = default;
  virtual Task<Result<std::optional<KvEntry>>> get(std::string key) = 0;       // nullopt: no such key
  virtual Task<Result<uint64_t>> put(std::string key, std::string bytes) = 0;  // returns the new revision
  // Writes if the key has no value.
  virtual Task<Result<KvWrite>> create(std::string key, std::string bytes) = 0;
  // Writes if the key's last change has this revision; 0: if the key never had a value, nor its removal.
  virtual Task<Result<KvWrite>> update(std::string key, std::string bytes, uint64_t revision) = 0;
  // Removes the value: always, or if the key's last change has this revision. A key without a value is no error.
  virtual Task<Result<KvWrite>> remove(std::string key, std::optional<uint64_t> revision) = 0;
  // All keys with a value, sorted.
  virtual Task<Result<std::vector<std::string>>> keys() = 0;
  // `filter` as in check_filter(): ">" is all keys. Errors: invalid.
  virtual Result<std::unique_ptr<KvWatch>> watch(std::string filter) = 0;
};

class Bus {
 public:
  virtual ~Bus() = default;
  virtual BusState state() const = 0;
  // One line: the server, or the last error.
  virtual std::string status() const = 0;
  virtual ObserverList<BusObserver>& observers() = 0;
  virtual BusStats stats() const = 0;
  // The most bytes of one message, as the server says; 1 MiB before the first connection.
  virtual size_t max_payload() const = 0;

  // Errors: invalid (subject; larger than max_payload(): the server would end the connection), exhausted (the buffer of
  // unsent messages is full), unavailable (closed). Success says that the message will be sent, not that it arrived.
  virtual Result<> publish(std::string subject, std::string bytes, std::string reply = {}) = 0;
  // One of the subscriptions with the same `group` gets each message; empty: every subscription gets it.
  virtual Result<std::unique_ptr<BusSubscription>> subscribe(std::string filter, std::string group = {},
                                                             SubscriptionBounds bounds = {}) = 0;
  // Sends a message and returns its first answer. no_responders() errors come at once: the message reached no node.
  // After a time-out the message may have been read.
  virtual Task<Result<BusMessage>> request(std::string subject, std::string bytes,
                                           std::chrono::milliseconds timeout) = 0;
  // Waits until the server has taken all messages that were published, and all subscriptions, before this call.
  virtual Task<Result<>> flush(std::chrono::milliseconds timeout) = 0;
  // Opens a bucket, and creates it if it is missing. `limit` is the time of each operation on the bucket, this
  // included.
  virtual Task<Result<std::unique_ptr<KvBucket>>> open_bucket(std::string name, BucketSettings settings,
                                                              std::chrono::milliseconds limit) = 0;
};

// Answers a message. Errors: invalid, it wants no answer, or names a reply subject that is no inbox: another machine
// must not choose the subjects that this node publishes to.
Result<> respond(Bus& bus, const BusMessage& message, std::string bytes);

// True: nobody subscribes to the request's subject; it was not delivered.
bool no_responders(const Error& error);
// True: no answer in time; the request or the write may have been done.
bool after_timeout(const Error& error);

// The errors that every Bus returns.
tl::unexpected<Error> no_responders_error(std::string_view subject);
tl::unexpected<Error> timeout_error(std::string_view action, std::chrono::milliseconds timeout);
tl::unexpected<Error> closed_error(std::string_view why);
tl::unexpected<Error> too_large_error(std::string_view subject, size_t bytes, size_t max_bytes);

}  // namespace cluster
