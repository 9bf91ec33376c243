#include "supervisor/egress/egress_entry.h"

#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"

namespace egress {
namespace {

constexpr size_t kAuditTextBytes = 200;  // of a path and a cause in the audit

}  // namespace

void add_to_packet(Json& packet, const EgressEntry& entry) {
  packet["method"] = entry.method;
  packet["host"] = entry.host;
  packet["port"] = entry.port;
  packet["path"] = entry.path;
  packet["verdict"] = entry.verdict;
  packet["rule"] = entry.rule;
  packet["cause"] = entry.cause;
  packet["address"] = entry.address;
}

void add_to_packet(Json& packet, const EgressTotals& totals) {
  packet["requests"] = totals.requests;
  packet["denied"] = totals.denied;
  packet["bytes_up"] = totals.bytes_up;
  packet["bytes_down"] = totals.bytes_down;
}

Json audit_shape(const EgressEntry& entry) {
  Json shape{{"method", entry.method}};
  if (!entry.path.empty()) shape["path"] = printable(entry.path, kAuditTextBytes);
  if (!entry.rule.empty()) shape["rule"] = entry.rule;
  if (!entry.address.empty()) shape["address"] = entry.address;
  if (!entry.cause.empty()) shape["cause"] = printable(entry.cause, kAuditTextBytes);
  shape["verdict"] = entry.verdict == "allowed" ? "ok" : entry.verdict;
  return shape;
}

Result<EgressEntry> read_entry(const Json& packet) {
  constexpr size_t kMaxText = 32 << 10;
  Fields in(packet, "event");
  EgressEntry entry;
  TRY(entry.method, in.string("method", kMaxText));
  TRY(entry.host, in.string("host", kMaxText));
  TRY(const int64_t port, in.integer("port", 0, UINT16_MAX));
  entry.port = static_cast<uint16_t>(port);
  TRY(entry.path, in.string("path", kMaxText));
  TRY(entry.verdict, in.string("verdict", kMaxText));
  TRY(entry.rule, in.string("rule", kMaxText));
  TRY(entry.cause, in.string("cause", kMaxText));
  TRY(entry.address, in.string("address", kMaxText));
  return entry;
}

Result<EgressTotals> read_totals(const Json& packet) {
  Fields in(packet, "event");
  EgressTotals totals;
  for (const auto& [key, into] :
       {std::pair{"requests", &totals.requests}, std::pair{"denied", &totals.denied},
        std::pair{"bytes_up", &totals.bytes_up}, std::pair{"bytes_down", &totals.bytes_down}}) {
    TRY(const int64_t value, in.integer(key, 0, INT64_MAX));
    *into = static_cast<uint64_t>(value);
  }
  return totals;
}

}  // namespace egress
