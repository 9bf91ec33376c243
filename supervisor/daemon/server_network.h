// EgressOfServers: the network of upstream servers in jails, by the `egress` of their configuration. Each request of a
// server is an entry of the audit chain.
// Used by: DaemonParts, for UpstreamServers. Errors: unavailable.
#pragma once
#include "supervisor/egress/egress_link.h"
#include "supervisor/journal/journal.h"
#include "supervisor/upstream/process.h"

class EgressOfServers final : public upstream::ServerNetwork {
 public:
  // Both must outlive it.
  EgressOfServers(egress::EgressLink& link, journal::Journal& journal) : link_(link), journal_(journal) {}
  Task<Result<std::unique_ptr<Use>>> open(const upstream::ServerConfig& config, std::string tenant,
                                          int listener) override;

 private:
  egress::EgressLink& link_;
  journal::Journal& journal_;
};
