// EgressOfServers: the network of upstream servers in jails, by the `egress` of their configuration. Each request of a
// server is an entry of the audit chain.
// Used by: part.cc, for UpstreamServers. Errors: unavailable.
#pragma once
#include "supervisor/egress/egress_access.h"
#include "supervisor/records/journal/journal.h"
#include "supervisor/upstream/process.h"

class EgressOfServers final : public upstream::ServerNetwork {
 public:
  // All must outlive it.
  EgressOfServers(Loop& loop, egress::EgressLink& link, journal::Journal& journal)
      : loop_(loop), link_(link), journal_(journal) {}
  Task<Result<std::unique_ptr<Use>>> open(const upstream::ServerConfig& config, std::string tenant,
                                          int listener) override;

 private:
  Loop& loop_;
  egress::EgressLink& link_;
  journal::Journal& journal_;
};
