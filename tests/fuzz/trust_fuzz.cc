// Signed texts of a cluster. The first byte chooses the input: e an envelope as it is; h the header of an envelope,
// which a trusted node has signed; r a signed rule as it is; t the content of a trust record, which an authority has
// signed; j a join request; n a NATS key.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "supervisor/cluster/trust/envelope_checker.h"
#include "supervisor/cluster/trust/join_request.h"
#include "supervisor/cluster/trust/nkey.h"
#include "supervisor/cluster/trust/signed_text.h"

namespace {

using namespace cluster;

constexpr int64_t kNow = 1'790'000'010'000;  // ms; the corpus has messages of 10 s before

void require(bool holds) {
  if (!holds) std::abort();
}

const PrivateKey& key_of(unsigned char number) {
  static const auto make = [](unsigned char byte) {
    PrivateKey::Seed seed{};
    seed.fill(byte);
    return PrivateKey::of_seed(seed);
  };
  static const PrivateKey kNode = make(1), kAuthority = make(90);
  return number == 1 ? kNode : kAuthority;
}

TrustRecord some_record() {
  TrustRecord record;
  record.cluster = "c1";
  record.serial = 1;
  record.authorities = {key_of(90).public_key()};
  record.nodes = {{"n1", key_of(1).public_key(), nkey_public_text(key_of(90).public_key()), {}}};
  return record;
}

// True: it was accepted.
bool envelope(std::string_view bytes, bool is_signed) {
  const ClockReading now{kNow, Monotonic::time_point(std::chrono::hours(1))};
  EnvelopeChecker checker("n2", "b007", some_record(), nullptr,
                          {kNow - 60'000, now.monotonic - std::chrono::minutes(1)});
  const auto accepted = checker.accept(bytes, now);
  if (!accepted) {
    require(!accepted.error().error.what.empty() && !accepted.error().error.hint.empty());
    require(checker.stored_ids("n1") == 0);
    return false;
  }
  require(is_signed);  // a fuzzer has no key
  require(accepted->from == "n1" && accepted->to == "n2" && bytes.size() <= kMaxEnvelope);
  require(seal_envelope(*accepted, key_of(1)) == bytes);  // there is one form only
  require(checker.accept(bytes, now).error().fault == EnvelopeFault::replayed);
  return true;
}

bool takes_a_good_envelope() {
  NodeEnvelope good;
  good.kind = "open";
  good.id = std::string(32, 'a');
  good.from = "n1";
  good.to = "n2";
  good.issued_at_ms = kNow - 10'000;
  return envelope(seal_envelope(good, key_of(1)).value(), true);
}

void trust_record(std::string_view text) {
  const auto read = read_trust_anchor(text);
  if (!read) return require(!read.error().what.empty());
  require(read->has_authority(read->by) && read->nodes.size() <= kMaxTrustedNodes);
  for (size_t i = 1; i < read->nodes.size(); i++) require(read->nodes[i - 1].name < read->nodes[i].name);
  if (read->by == key_of(90).public_key()) require(sign_trust(*read, key_of(90)) == text);
}

std::string with_content(std::string_view content) {
  SignedRule rule;
  rule.kind = "trust";
  rule.cluster = rule.name = "c1";
  rule.serial = 2;
  rule.content = content.substr(0, kMaxRuleContent);
  return sign_rule(rule, key_of(90)).value();
}

void join_request(std::string_view line) {
  if (const auto request = read_join_request(line)) require(is_cluster_word(request->node));
}

void nats_key(std::string_view text) {
  if (const auto key = parse_nkey_public(text)) require(nkey_public_text(*key) == text);
  if (const auto name = nkey_public_key(text)) require(parse_nkey_public(*name).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool kTakesGood = takes_a_good_envelope();
  require(kTakesGood);  // else nothing behind the first checks would be tested
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t line = rest.find('\n');
  switch (data[0]) {
    case 'e':
      envelope(rest, false);
      break;
    case 'h': {
      const std::string_view header = rest.substr(0, line);
      const std::string_view body = line == rest.npos ? std::string_view() : rest.substr(line + 1);
      envelope(join_signed(header, key_of(1).sign(kEnvelopePurpose, header), body), true);
      break;
    }
    case 'r':
      trust_record(rest);
      break;
    case 't':
      trust_record(with_content(rest));
      break;
    case 'j':
      join_request(rest);
      break;
    case 'n':
      nats_key(rest);
      break;
    default:
      break;
  }
  return 0;
}
