// EgressEntry: one request of code to a host, for the audit and for questions. EgressTotals: what one program did.
// Used by: both ends of the service's socket. Errors of the reader: invalid.
#pragma once
#include <cstdint>
#include <string>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"

namespace egress {

struct EgressEntry {
  std::string method, host, path;  // of a tunnel: "CONNECT", and no path
  uint16_t port = 0;
  std::string verdict;  // "allowed", "denied", "failed", "ask"
  std::string rule;     // "egress.rules[0] (pypi)", or empty
  std::string cause;    // of "denied" and "failed"
  std::string address;  // that was dialled
};

struct EgressTotals {
  uint64_t requests = 0, denied = 0, bytes_up = 0, bytes_down = 0;
};

// The members of a packet (service.h).
void add_to_packet(Json& packet, const EgressEntry& entry);
void add_to_packet(Json& packet, const EgressTotals& totals);
// The entry's details for the audit chain: method, path, rule, address, cause, verdict ("ok" for "allowed").
Json audit_shape(const EgressEntry& entry);
// The packet's text is bounded by its size.
Result<EgressEntry> read_entry(const Json& packet);
Result<EgressTotals> read_totals(const Json& packet);

}  // namespace egress
