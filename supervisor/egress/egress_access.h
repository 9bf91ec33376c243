// EgressAccess: the network of one program in a jail. The jail's listener goes to warder-egress when the program opens
// its first connection, and again when the service comes back after its end: a program without connections costs the
// service nothing. While the service is not there, connections are closed at once. Used by: supervisor/tools/execution
// (programs of agents), supervisor/daemon (upstream servers in jails). Errors of begin(): exhausted: no descriptor;
// unavailable: another socket of the jail has the port.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "supervisor/egress/egress_link.h"

namespace egress {

class EgressAccess final : private EgressUse::Host {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    // A request was allowed, denied, or has failed.
    virtual void note(const EgressEntry& entry) = 0;
    // A person decides. Destroying the task takes the question back.
    virtual Task<bool> ask(EgressEntry entry) = 0;
  };
  // All references must outlive it.
  EgressAccess(Loop& loop, EgressLink& link, const policies::EgressRules& rules, Host& host);
  // Ends all connections; the listener refuses further ones.
  ~EgressAccess() override;
  EgressAccess(const EgressAccess&) = delete;
  EgressAccess& operator=(const EgressAccess&) = delete;

  // The program begins. `listener` is borrowed during the call. A second call begins again, with another jail.
  Result<> begin(int listener, Secrets secrets);
  // The program has ended, and so do its connections. nullopt: it opened none, or the service did not answer.
  Task<std::optional<EgressTotals>> finish();
  // Why a connection was not served; empty: all were.
  const std::string& trouble() const { return trouble_; }

 private:
  Task<> hand_over();
  void stop();
  void note(const EgressEntry& entry) override { host_.note(entry); }
  Task<bool> ask(EgressEntry entry) override { return host_.ask(std::move(entry)); }
  void lost() override;

  Loop& loop_;
  EgressLink& link_;
  const policies::EgressRules& rules_;
  Host& host_;
  Secrets secrets_;
  AsyncFd listener_;  // empty: no program runs
  std::unique_ptr<EgressUse> use_;
  std::optional<OneShot<>::Resolver> closed_;
  std::string trouble_;
  Scope waiting_;  // last: cancelled first
};

}  // namespace egress
