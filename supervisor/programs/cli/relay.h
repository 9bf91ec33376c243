// Relay: the protocol part of the stdio proxy. It receives lines and makes lines; it has no descriptors and no clock.
// It passes lines on unchanged. To keep a client connected over a restart of warderd, it remembers the calls that wait
// for an answer, the client's initialize request and its subscriptions. A daemon that did not run a call marks its
// answer (mcp/protocol.h, kNotRun); the relay then holds the call for the next daemon and does not pass the answer on.
// Source: the lines of client and daemon. Used by: stdio_proxy.cc, which owns the descriptors and reports when a
// connection begins and ends.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/programs/cli/envelope.h"
#include "supervisor/programs/cli/lines.h"
#include "supervisor/programs/cli/offline.h"

namespace cli {

class Relay {
 public:
  // `hello` is the first line of every connection to the daemon.
  explicit Relay(std::string hello) : hello_(std::move(hello)) {}

  LineOutbox& to_client() { return to_client_; }
  LineOutbox& to_daemon() { return to_daemon_; }

  void from_client(const LineSplitter::Item& line);
  // False: the line is no message and was dropped; the client's stream carries only protocol lines.
  bool from_daemon(const LineSplitter::Item& line);

  // A connection was made: sends the client's initialize and settings again, then the calls that may be repeated,
  // then the held requests.
  void connected();
  // The connection ended: answers the calls that may have run. Holds new requests until connected() or give_up().
  void disconnected();
  // No daemon can be reached: answers all waiting requests with `trouble`, and new requests at once, until connected().
  void give_up(Trouble trouble);
  // Answers the requests held for the next daemon with `trouble`. Calls that run on the connected daemon continue.
  void drop_queued(Trouble trouble);
  // Why the daemon refused this connection; nullopt: it did not. No request of a refused connection ran.
  const std::optional<Trouble>& refusal() const { return refusal_; }

  // No request waits for an answer, and no line waits to be sent to the daemon. Subscriptions do not count.
  bool idle() const;
  // False: the buffer for the next request is full; read no more from the client.
  bool takes_requests() const;

 private:
  enum class DaemonLink { up, awaited, down };
  // Whether a request may be sent again after a lost connection. never: it may change state. once: it changes no state,
  // but may be the reason why the daemon ended. always: it also runs no work (a list, a ping).
  enum class Repeats { never, once, always };
  struct Call {
    uint64_t order = 0;  // calls are sent again in the order they came
    std::string raw_id;
    std::string method;
    std::string line;  // empty: the line was too long to store, so it cannot be sent again
    Repeats repeats = Repeats::never;
    ProtocolEra era = ProtocolEra::legacy;
    int sent = 0;               // how often it was sent; bounds a request that may end the daemon
    bool acknowledged = false;  // subscriptions/listen: the client got the acknowledgement
    bool wants_tools_changed = false;
  };
  struct HeldMessage {
    std::string line;
    std::string id;  // canonical; empty for notifications
  };

  void message_from_client(std::string_view message, const Envelope& envelope);
  static Repeats repeats_of(std::string_view method);
  void note(std::string_view message, const Envelope& envelope);  // in every state of the link
  void track(std::string_view message, const Envelope& envelope);
  void answer_locally(std::string_view message, const Envelope& envelope);
  void queue(std::string_view message, const Envelope& envelope);
  void introduce();
  void take_back_unsent();
  void drop_held(std::string_view id);
  void forget(std::map<std::string, Call, std::less<>>::iterator call);
  bool is_saved(std::string_view message, const Envelope& envelope);
  void acknowledge(Call& subscription);
  void announce_tools(const Call* subscription);

  const std::string hello_;
  DaemonLink link_ = DaemonLink::awaited;
  LineOutbox to_client_, to_daemon_;
  std::map<std::string, Call, std::less<>> calls_;  // sent or to be sent again, by canonical id
  size_t saved_bytes_ = 0;                          // of the lines in calls_
  std::vector<HeldMessage> queued_;                 // messages for the next daemon
  size_t held_bytes_ = 0;
  bool draining_ = false;           // the connected daemon takes no more calls
  std::optional<Trouble> refusal_;  // of this connection

  std::string initialize_;                                    // the client's initialize request; legacy clients only
  bool greeted_ = false;                                      // initialize_ was answered
  bool initialized_ = false;                                  // notifications/initialized came
  std::map<std::string, std::string, std::less<>> settings_;  // legacy requests, sent again on each connection
  std::set<std::string, std::less<>> own_ids_;                // of requests that the relay itself sent
  std::set<std::string, std::less<>> client_requests_;        // ids of the daemon's requests that wait for the client
  std::string tools_[2];                                      // result of the last complete tools/list, by era
  Trouble trouble_;
  uint64_t counter_ = 0;
};

}  // namespace cli
