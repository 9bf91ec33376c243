// ExecutionNetwork: what the code of one execution may reach through warder-egress, if its policy has rules for it.
// Each request of the code is written into the audit chain; a rule with the verdict `ask` asks a person. Used by:
// CodeExecution. Errors of prepare(): unavailable, for a secret that cannot be read.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "supervisor/egress/egress_access.h"
#include "supervisor/upstream/calls/upstream_call.h"

namespace runs {

class ExecutionNetwork final : private egress::EgressAccess::Host {
 public:
  // All references must outlive it.
  ExecutionNetwork(egress::EgressLink& link, calls::CallEnvironment& environment, const calls::CallContext& caller);

  bool is_on() const { return rules_.is_on(); }
  // Reads the secrets of the rules. Call it before the program begins.
  Task<Result<>> prepare();
  // The program begins in the jail of this listener, which is borrowed during the call.
  void begin(int listener);
  // The program has ended, and so do its connections.
  Task<> finish();

  // After finish(). nullopt: the program opened no connection, or the service did not serve it.
  const std::optional<egress::EgressTotals>& totals() const { return totals_; }
  // Requests that were refused or failed, without repetitions; the first few.
  struct Refused {
    std::string host;  // with the port
    std::string rule, why;
    bool operator==(const Refused&) const = default;
  };
  const std::vector<Refused>& refused() const { return refused_; }
  // Why the program had no network, although its policy has rules and it opened a connection; empty: it had.
  const std::string& trouble() const { return unfit_.empty() ? access_.trouble() : unfit_; }

 private:
  void note(const egress::EgressEntry& entry) override;
  void note_refused(const egress::EgressEntry& entry);
  Task<bool> ask(egress::EgressEntry entry) override;

  egress::EgressLink& link_;
  calls::CallEnvironment& environment_;
  const calls::CallContext& caller_;
  const policies::EgressRules& rules_;
  egress::Secrets secrets_;
  std::string unfit_;  // why the listener cannot be used; empty: it can
  std::optional<egress::EgressTotals> totals_;
  std::vector<Refused> refused_;
  egress::EgressAccess access_;
};

}  // namespace runs
