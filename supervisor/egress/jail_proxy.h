// JailProxy: the proxy of one jail. It accepts the connections that code in the jail makes to the jail's listener, and
// serves what the rules allow: tunnels (CONNECT) to hosts that speak TLS, and requests with http:// addresses.
// Source: hostile code in a jail; hosts and name servers, which are not trusted. Heads, bodies, connections, bytes and
// time are bounded. Used by: EgressService. Errors are answered to the code, as JSON with rule, cause and remedy.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "policies/egress_rules.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"
#include "supervisor/egress/egress_entry.h"
#include "supervisor/egress/tunnel.h"

namespace egress {

// EgressNetwork: how the proxy reaches hosts.
struct EgressNetwork {
  std::string name_servers;  // "127.0.0.1:5353"; empty: the system's
  std::string authorities;   // PEM file with certificate authorities; empty: the system's
};

struct JailSettings {
  policies::EgressRules rules;
  std::vector<std::string> secrets;  // of each rule: the header's value; empty: the rule has no secret
};

struct EgressCounts {
  uint64_t requests = 0, denied = 0;  // each request is in the first, a refused one in the second, too
};
class JailProxy {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    // Reports a request before it is served. Waits while the daemon does not read.
    virtual Task<> report(EgressEntry entry) = 0;
    // Asks a person. False: refused, or no decision came.
    virtual Task<bool> ask(EgressEntry entry) = 0;
  };

  // `listener`: a listening TCP socket in the jail's network namespace. All arguments but it must outlive the proxy.
  static Result<std::unique_ptr<JailProxy>> open(Loop& loop, const EgressNetwork& network, JailSettings settings,
                                                 Fd listener, Host& host);
  // Ends all connections.
  ~JailProxy();
  JailProxy(const JailProxy&) = delete;
  JailProxy& operator=(const JailProxy&) = delete;

  EgressTotals totals() const;

 private:
  JailProxy(Loop& loop, const EgressNetwork& network, JailSettings settings, AsyncFd listener, Host& host);
  Task<> accept_all();
  Task<> serve(AsyncFd client);

  Loop& loop_;
  const EgressNetwork& network_;
  JailSettings settings_;
  AsyncFd listener_;
  Host& host_;
  ByteBudget up_, down_;
  EgressCounts counts_;
  uint32_t open_ = 0;                 // connections
  std::shared_ptr<Event> slot_free_;  // fires when a connection has ended
  Scope connections_, accepting_;     // last: cancelled first
};

}  // namespace egress
