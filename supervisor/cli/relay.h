// Relay: the protocol half of the stdio proxy. Lines in, lines out, no descriptors and no clock.
// It passes lines on untouched and remembers just enough of them to carry a client over a restart of warderd:
// which calls wait for an answer, how the client introduced itself, what it subscribed to. A daemon that did not run a
// call says so in its answer (mcp/protocol.h, kNotRun): it keeps the call for the next daemon, the client hears
// nothing. Used by: stdio_proxy.cc, which owns the descriptors and says when a connection comes and goes.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/cli/envelope.h"
#include "supervisor/cli/lines.h"
#include "supervisor/cli/offline.h"

namespace cli {

class Relay {
 public:
  // `hello` is the first line of every connection to the daemon.
  explicit Relay(std::string hello) : hello_(std::move(hello)) {}

  LineOutbox& to_client() { return to_client_; }
  LineOutbox& to_daemon() { return to_daemon_; }

  void from_client(const LineReader::Line& line);
  // False: not a message, dropped; the client's stream carries protocol lines only.
  bool from_daemon(const LineReader::Line& line);

  // A connection stands: introduces the client again, sends again what may be sent twice, then what was held back.
  void connected();
  // The connection ended: answers the calls that may have run; holds back what comes until connected() or give_up().
  void disconnected();
  // No daemon for now: answers everything that waits, and from now on at once, until connected().
  void give_up(Trouble trouble);
  // Answers what was kept for the next daemon; what runs is left to the one that is there.
  void give_up_held(Trouble trouble);
  // Why the daemon refuses this connection, once it has said so: none of its requests ran.
  const std::optional<Trouble>& refusal() const { return refusal_; }

  // Nothing is owed to the client and nothing waits to be sent. Subscriptions are owed nothing.
  bool idle() const;
  // False: what the next request would fill is full; read no more from the client.
  bool takes_requests() const;

 private:
  enum class Link { up, awaited, down };
  // How often a request may be sent: one that changes nothing twice, as it may be what ends the daemon; one that runs
  // nothing either (a list, a ping) as often as needed.
  enum class Repeats { never, once, always };
  struct Call {
    uint64_t order = 0;  // calls are sent again in the order they came
    std::string raw_id;
    std::string method;
    std::string line;  // empty: too long to be kept, it cannot be sent again
    Repeats repeats = Repeats::never;
    ProtocolEra era = ProtocolEra::legacy;
    int sent = 0;               // a request that ends the daemon is not sent for ever
    bool acknowledged = false;  // subscriptions/listen: the client knows that it stands
    bool wants_tools_changed = false;
  };
  struct Held {
    std::string line;
    std::string id;  // canonical; empty for notifications
  };

  void message_from_client(std::string_view message, const Envelope& envelope);
  static Repeats repeats_of(std::string_view method);
  void note(std::string_view message, const Envelope& envelope);  // whatever the state of the link
  void track(std::string_view message, const Envelope& envelope);
  void answer_locally(std::string_view message, const Envelope& envelope);
  void hold(std::string_view message, const Envelope& envelope);
  void introduce();
  void take_back_unsent();
  void drop_held(std::string_view id);
  void forget(std::map<std::string, Call, std::less<>>::iterator call);
  bool is_kept(std::string_view message, const Envelope& envelope);
  void acknowledge(Call& subscription);
  void announce_tools(const Call* subscription);
  std::string own_id();

  const std::string hello_;
  Link link_ = Link::awaited;
  LineOutbox to_client_, to_daemon_;
  std::map<std::string, Call, std::less<>> calls_;  // sent or to be sent again, by canonical id
  size_t kept_bytes_ = 0;                           // of their lines
  std::vector<Held> held_;                          // for the next daemon
  size_t held_bytes_ = 0;
  bool draining_ = false;           // the daemon that is there takes no more calls
  std::optional<Trouble> refusal_;  // of this connection

  std::string initialize_;                                    // the client's own, legacy only
  bool greeted_ = false;                                      // it was answered
  bool initialized_ = false;                                  // notifications/initialized came
  std::map<std::string, std::string, std::less<>> settings_;  // legacy requests whose effect must outlive a connection
  std::set<std::string, std::less<>> own_ids_;                // of requests sent again on our own account
  std::set<std::string, std::less<>> asked_;                  // the daemon's requests that wait for the client
  std::string tools_[2];                                      // last complete tools/list, by era
  Trouble trouble_;
  uint64_t counter_ = 0;
};

}  // namespace cli
