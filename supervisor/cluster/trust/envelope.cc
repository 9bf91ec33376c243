#include "supervisor/cluster/trust/envelope.h"

#include <fmt/format.h>

#include <algorithm>

#include "policies/names.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/sha256.h"
#include "supervisor/cluster/trust/signed_text.h"

namespace cluster {
namespace {

constexpr int64_t kMaxSafeInteger = 9'007'199'254'740'991;  // 2^53 - 1: whole in every reader of JSON

Json tenant_member(const EnvelopeTenant& of) {
  return {{"principal", of.principal},
          {"account", of.tenant.account},
          {"workspace", of.tenant.workspace},
          {"policy", of.policy},
          {"policy_hash", of.policy_hash}};
}

std::string envelope_header(const NodeEnvelope& envelope, const std::string& body_hash) {
  Json header = {{"v", 1}, {"kind", envelope.kind}, {"id", envelope.id}, {"from", envelope.from}, {"to", envelope.to}};
  if (!envelope.boot.empty()) header["boot"] = envelope.boot;
  if (envelope.tenant) header["for"] = tenant_member(*envelope.tenant);
  header["epoch"] = envelope.epoch;
  header["issued_at"] = envelope.issued_at_ms;
  header["expires"] = envelope.issued_at_ms + kEnvelopeLifeMs;
  header["bytes"] = envelope.body.size();
  header["sha256"] = body_hash;
  return dump_json(header);
}

tl::unexpected<Error> wrong_member(const char* kind) { return fail(Code::invalid, kind); }

Result<> check_tenant(const EnvelopeTenant& of) {
  const bool printable_principal =
      !of.principal.empty() && of.principal.size() <= kMaxPrincipal &&
      std::all_of(of.principal.begin(), of.principal.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (!printable_principal) return wrong_member("for.principal: not 1 to 256 of printable ASCII");
  auto tenant = tenants::TenantId::parse(of.tenant.text());
  if (!tenant || *tenant != of.tenant) return wrong_member("for.account, for.workspace: they name no tenant");
  if (!policies::valid_name(of.policy)) return wrong_member("for.policy: no name of a policy");
  if (!is_hex(of.policy_hash, 64)) return wrong_member("for.policy_hash: not 64 hexadecimal digits");
  return {};
}

// What both sides check; the types are those of the reader.
Result<> check_envelope(const NodeEnvelope& envelope) {
  if (!is_kind_word(envelope.kind)) return wrong_member("kind: not 1 to 32 of a-z, 0-9 and '_'");
  if (!is_hex(envelope.id, 32)) return wrong_member("id: not 32 hexadecimal digits");
  if (!is_cluster_word(envelope.from)) return wrong_member("from: no name of a node");
  if (!is_cluster_word(envelope.to)) return wrong_member("to: no name of a node");
  if (envelope.boot.size() > 64 || !is_hex(envelope.boot, envelope.boot.size()))
    return wrong_member("boot: not 1 to 64 hexadecimal digits");
  if (envelope.tenant) CHECKED(check_tenant(*envelope.tenant));
  if (envelope.epoch < 0 || envelope.epoch > kMaxSafeInteger) return wrong_member("epoch: outside 0..2^53-1");
  if (envelope.issued_at_ms < 0 || envelope.issued_at_ms > kMaxSafeInteger - kEnvelopeLifeMs)
    return wrong_member("issued_at: outside 0..2^53-1");
  if (envelope.body.size() > kMaxEnvelopeBody)
    return fail(Code::exhausted,
                fmt::format("the body has {} bytes, more than {}", envelope.body.size(), kMaxEnvelopeBody),
                "send it in parts");
  return {};
}

Result<std::optional<EnvelopeTenant>> read_tenant(const Json* value) {
  std::optional<EnvelopeTenant> tenant;
  if (!value) return tenant;
  Fields in(*value, "for");
  EnvelopeTenant of;
  TRY(of.principal, in.string("principal", kMaxPrincipal));
  TRY(of.tenant.account, in.string("account", 64));
  TRY(of.tenant.workspace, in.string("workspace", 64));
  TRY(of.policy, in.string("policy", 64));
  TRY(of.policy_hash, in.string("policy_hash", 64));
  CHECKED(in.done());
  tenant = std::move(of);
  return tenant;
}

}  // namespace

Result<std::string> seal_envelope(const NodeEnvelope& envelope, const PrivateKey& key) {
  CHECKED(check_envelope(envelope));
  const std::string header = envelope_header(envelope, sha256_hex(envelope.body));
  return join_signed(header, key.sign(kEnvelopePurpose, header), envelope.body);
}

Result<OpenedEnvelope> open_envelope(std::string_view bytes) {
  if (bytes.size() > kMaxEnvelope)
    return fail(Code::exhausted, fmt::format("it has {} bytes, more than {}", bytes.size(), kMaxEnvelope));
  TRY(const SignedText parts, split_signed(bytes, kMaxEnvelopeHeader, kMaxEnvelopeBody));
  TRY(const Json header, parse_canonical(parts.header));
  Fields in(header, "");
  OpenedEnvelope opened;
  NodeEnvelope& read = opened.envelope;
  CHECKED(in.integer("v", 1, 1));
  TRY(read.kind, in.string("kind", 32));
  TRY(read.id, in.string("id", 32));
  TRY(read.from, in.string("from", 32));
  TRY(read.to, in.string("to", 32));
  TRY(read.boot, in.string_or("boot", "", 64));
  TRY(read.tenant, read_tenant(in.find("for")));
  TRY(read.epoch, in.integer("epoch", 0, kMaxSafeInteger));
  TRY(read.issued_at_ms, in.integer("issued_at", 0, kMaxSafeInteger - kEnvelopeLifeMs));
  TRY(const int64_t expires, in.integer("expires", 0, kMaxSafeInteger));
  TRY(const int64_t size, in.integer("bytes", 0, static_cast<int64_t>(kMaxEnvelopeBody)));
  TRY(const std::string hash, in.string("sha256", 64));
  CHECKED(in.done());
  if (expires != read.issued_at_ms + kEnvelopeLifeMs) return wrong_member("expires: not 30 s after issued_at");
  if (static_cast<size_t>(size) != parts.body.size()) return wrong_member("bytes: the body has another length");
  if (hash != sha256_hex(parts.body)) return wrong_member("sha256: the body is another one");
  read.body = parts.body;
  CHECKED(check_envelope(read));
  if (envelope_header(read, hash) != parts.header) return wrong_member("its first line is not in canonical form");
  opened.header = parts.header;
  opened.signature = parts.signature;
  return opened;
}

}  // namespace cluster
