// NodeEnvelope: one signed message from a node to another. Form: signed_text.h, with the header
//   {"v":1,"kind":"open","id":"<32 hex>","from":"n1","to":"n2","boot":"<hex>",
//    "for":{"principal":"token:ci","account":"acme","workspace":"","policy":"strict","policy_hash":"<64 hex>"},
//    "epoch":3,"issued_at":1790000000000,"expires":1790000030000,"bytes":12,"sha256":"<64 hex>"}
// `boot` and `for` may be missing. The signature covers the header, and the header covers the body.
// Source: a node that asks or answers. Used by: envelope_checker.h, which decides whether this node acts on it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "policies/tenant_id.h"
#include "supervisor/cluster/trust/node_key.h"

namespace cluster {

constexpr size_t kMaxEnvelope = 1 << 20;     // bytes; what nats-server takes by default (max_payload)
constexpr size_t kMaxEnvelopeHeader = 2048;  // bytes of the first line
constexpr size_t kMaxEnvelopeBody = kMaxEnvelope - kMaxEnvelopeHeader - 90;
constexpr int64_t kEnvelopeLifeMs = 30'000;  // expires - issued_at
constexpr size_t kMaxPrincipal = 256;        // bytes

// The client and the tenant that a message acts for, and the tenant's policy as the sender has it.
struct EnvelopeTenant {
  std::string principal;  // "token:ci", "uid:1000": printable ASCII
  tenants::TenantId tenant;
  std::string policy;       // the policy's name
  std::string policy_hash;  // SHA-256 of the policy, 64 hexadecimal digits
  bool operator==(const EnvelopeTenant&) const = default;
};

struct NodeEnvelope {
  std::string kind;      // "open": a word of at most 32 of a-z, 0-9 and '_'
  std::string id;        // 32 hexadecimal digits, random (random_hex(16)): each message has its own
  std::string from, to;  // names of nodes
  // The boot of the receiver that the message is for, 1 to 64 hexadecimal digits; empty: any. A message with a boot
  // cannot be replayed to a later start (envelope_checker.h).
  std::string boot;
  std::optional<EnvelopeTenant> tenant;
  int64_t epoch = 0;         // of the home's ownership; 0: none, where the receiver needs none
  int64_t issued_at_ms = 0;  // of the sender's wall clock, since 1970
  std::string body;

  bool operator==(const NodeEnvelope&) const = default;
};

// The message as bytes. Errors: invalid, exhausted: a member that no receiver would take, named.
Result<std::string> seal_envelope(const NodeEnvelope& envelope, const PrivateKey& key);

// A message of the right form. Its signature is not checked.
struct OpenedEnvelope {
  NodeEnvelope envelope;
  std::string_view header;  // part of the bytes that were read, which must outlive it
  Signature signature{};
};
// Errors: invalid: the form, naming the member; exhausted: larger than a bound.
Result<OpenedEnvelope> open_envelope(std::string_view bytes);

}  // namespace cluster
