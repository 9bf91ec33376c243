// NetworkOfExecution: an ExecutionNetwork by the rules of the caller's policy. Made by: part.cc.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "supervisor/egress/egress_access.h"
#include "supervisor/executions/runs/execution_network.h"
#include "supervisor/upstream/calls/upstream_call.h"

namespace egress {

class NetworkOfExecution final : public runs::ExecutionNetwork, private EgressAccess::Host {
 public:
  // All references must outlive it.
  NetworkOfExecution(EgressLink& link, calls::CallEnvironment& environment, const calls::CallContext& caller);

  Task<Result<>> prepare() override;
  void begin(int listener) override;
  Task<> finish() override;
  std::optional<runs::NetworkTotals> totals() const override { return totals_; }
  const std::vector<runs::RefusedRequest>& refused() const override { return refused_; }
  const std::string& trouble() const override { return unfit_.empty() ? access_.trouble() : unfit_; }

 private:
  void note(const EgressEntry& entry) override;
  void note_refused(const EgressEntry& entry);
  Task<bool> ask(EgressEntry entry) override;

  EgressLink& link_;
  calls::CallEnvironment& environment_;
  const calls::CallContext& caller_;
  const policies::EgressRules& rules_;
  Secrets secrets_;
  std::string unfit_;  // why the listener cannot be used; empty: it can
  std::optional<runs::NetworkTotals> totals_;
  std::vector<runs::RefusedRequest> refused_;
  EgressAccess access_;
};

}  // namespace egress
