// The form of envelopes: what open_envelope() takes, and nothing else.
#include "supervisor/cluster/trust/envelope.h"

#include "supervisor/base/sha256.h"
#include "supervisor/cluster/trust/signed_text.h"
#include "tests/catch.h"
#include "tests/supervisor/cluster/trust_fixture.h"

using namespace cluster;
using trust_test::key_of;

namespace {

NodeEnvelope some_envelope() {
  NodeEnvelope envelope;
  envelope.kind = "open";
  envelope.id = std::string(32, 'a');
  envelope.from = "n1";
  envelope.to = "n2";
  envelope.boot = "b007";
  envelope.tenant = EnvelopeTenant{"token:ci", {"acme", "reports"}, "strict", std::string(64, 'c')};
  envelope.epoch = 3;
  envelope.issued_at_ms = 1'790'000'000'000;
  envelope.body = std::string("{}\n\0\xff b", 7);
  return envelope;
}

std::string header_of(const std::string& sealed) { return sealed.substr(0, sealed.find('\n')); }

// A message with this header, signed: what a trusted node under an attacker's control can send.
std::string with_header(const std::string& header, const std::string& body) {
  return join_signed(header, key_of(1).sign(kEnvelopePurpose, header), body);
}

std::string replaced(std::string text, const std::string& subject, const std::string& by) {
  const size_t at = text.find(subject);
  REQUIRE(at != text.npos);
  return text.replace(at, subject.size(), by);
}

}  // namespace

TEST_CASE("an envelope comes back as it was sealed", "[cluster]") {
  for (const bool full : {true, false}) {
    NodeEnvelope envelope = some_envelope();
    if (!full) {
      envelope.boot.clear();
      envelope.tenant.reset();
      envelope.epoch = 0;
      envelope.body.clear();
    }
    const std::string sealed = seal_envelope(envelope, key_of(1)).value();
    const auto opened = open_envelope(sealed);
    REQUIRE(opened);
    CHECK(opened->envelope == envelope);
    CHECK(key_of(1).public_key().verifies(kEnvelopePurpose, opened->header, opened->signature));
  }
}

TEST_CASE("an envelope's form is the only one, also if a trusted key signed another", "[cluster]") {
  const NodeEnvelope envelope = some_envelope();
  const std::string sealed = seal_envelope(envelope, key_of(1)).value(), header = header_of(sealed);
  REQUIRE(open_envelope(with_header(header, envelope.body)));
  const std::string hash = sha256_hex(envelope.body);
  struct Case {
    const char *what, *by, *names;
  };
  const Case cases[] = {
      {"{\"v\":1", "{\"v\":2", "v"},
      {"{\"v\":1", "{\"v\":1.0", "canonical"},
      {"{\"v\":1", "{ \"v\":1", "canonical"},
      {"{\"v\":1", "{\"v\":1,\"v\":1", "canonical"},
      {"{\"v\":1,\"kind\":\"open\"", "{\"kind\":\"open\",\"v\":1", "canonical"},
      {"\"kind\":\"open\"", "\"kind\":\"op\\u0065n\"", "canonical"},
      {"\"kind\":\"open\"", "\"kind\":\"Open\"", "kind"},
      {"\"kind\":\"open\"", "\"kind\":[\"open\"]", "kind"},
      {"\"kind\":\"open\",", "", "kind: missing"},
      {"\"kind\":\"open\",", "\"kind\":\"open\",\"more\":1,", "more"},
      {"\"from\":\"n1\"", "\"from\":\"-n1\"", "from"},
      {"\"from\":\"n1\"", "\"from\":\"n1/../n2\"", "from"},
      {"\"to\":\"n2\"", "\"to\":\"\"", "to"},
      {"\"boot\":\"b007\"", "\"boot\":\"\"", "canonical"},
      {"\"boot\":\"b007\"", "\"boot\":null", "canonical"},
      {"\"boot\":\"b007\"", "\"boot\":\"../x\"", "boot"},
      {"\"workspace\":\"reports\"", "\"workspace\":\"../x\"", "for.workspace"},
      {"\"workspace\":\"reports\"", "\"workspace\":\"default\"", "for.workspace"},
      {"\"account\":\"acme\"", "\"account\":\"acme/reports\"", "for.account"},
      {"\"account\":\"acme\"", "\"account\":\"acme\",\"account\":\"evil\"", "canonical"},
      {"\"account\":\"acme\"", "\"account\":\"acme\",\"x\":{\"y\":{\"z\":{\"d\":1}}}", "nested"},
      {"\"principal\":\"token:ci\"", "\"principal\":\"\\u202eci\"", "for.principal"},
      {"\"principal\":\"token:ci\"", "\"principal\":\"\\ud800\"", "for.principal"},
      {"\"policy\":\"strict\"", "\"policy\":\".strict\"", "for.policy"},
      {"\"epoch\":3", "\"epoch\":-1", "epoch"},
      {"\"epoch\":3", "\"epoch\":3.5", "epoch"},
      {"\"epoch\":3", "\"epoch\":9007199254740992", "epoch"},
      {"\"epoch\":3", "\"epoch\":\"3\"", "epoch"},
      {"\"epoch\":3", "\"epoch\":03", "JSON"},
      {"\"issued_at\":1790000000000", "\"issued_at\":1790000000001", "expires"},
      {"\"expires\":1790000030000", "\"expires\":1890000030000", "expires"},
      {"\"bytes\":7", "\"bytes\":8", "bytes"},
      {"\"sha256\":\"", "\"sha256\":\"0", "sha256"},
  };
  for (const auto& [what, by, names] : cases) {
    INFO(what << " -> " << by);
    const auto opened = open_envelope(with_header(replaced(header, what, by), envelope.body));
    REQUIRE_FALSE(opened);
    INFO(opened.error().what);
    CHECK(opened.error().what.find(names) != std::string::npos);
  }
  for (const char* other : {"", "[]", "null", "{}", "\"v\"", "{\"v\":1}x"})
    CHECK_FALSE(open_envelope(with_header(other, "")));
}

TEST_CASE("an envelope is bounded", "[cluster]") {
  NodeEnvelope envelope = some_envelope();
  envelope.body.assign(kMaxEnvelopeBody, 'x');
  const std::string largest = seal_envelope(envelope, key_of(1)).value();
  CHECK(largest.size() <= kMaxEnvelope);
  CHECK(open_envelope(largest));
  envelope.body += 'x';
  CHECK(seal_envelope(envelope, key_of(1)).error().code == Code::exhausted);
  CHECK(open_envelope(largest + "x").error().code == Code::exhausted);
  CHECK(open_envelope(largest + std::string(kMaxEnvelope / 10, 'x')).error().code == Code::exhausted);
  CHECK(open_envelope(std::string(3000, 'x')).error().code == Code::exhausted);
  CHECK(open_envelope(std::string(1'100'000, '\n')).error().code == Code::exhausted);
  // Names of the longest form fit into a header.
  envelope.body.clear();
  envelope.kind.assign(32, 'k');
  envelope.from.assign(32, 'f');
  envelope.to.assign(32, 't');
  envelope.boot.assign(64, 'b');
  envelope.tenant = EnvelopeTenant{
      std::string(256, '"'), {std::string(64, 'a'), std::string(64, 'W')}, std::string(64, 'p'), std::string(64, 'c')};
  envelope.epoch = envelope.issued_at_ms = 9'007'199'254'000'000;
  const std::string longest = seal_envelope(envelope, key_of(1)).value();
  CHECK(open_envelope(longest)->envelope == envelope);
}

TEST_CASE("a sender learns which member no receiver would take", "[cluster]") {
  const auto refused = [](auto change) {
    NodeEnvelope envelope = some_envelope();
    change(envelope);
    const auto sealed = seal_envelope(envelope, key_of(1));
    return sealed ? std::string("taken") : sealed.error().what;
  };
  CHECK(refused([](NodeEnvelope& e) { e.kind = "a b"; }).starts_with("kind:"));
  CHECK(refused([](NodeEnvelope& e) { e.id = "x"; }).starts_with("id:"));
  CHECK(refused([](NodeEnvelope& e) { e.to = "N"; }).starts_with("to:"));
  CHECK(refused([](NodeEnvelope& e) { e.tenant->principal = "a\nb"; }).starts_with("for.principal:"));
  CHECK(refused([](NodeEnvelope& e) { e.tenant->policy_hash = "C"; }).starts_with("for.policy_hash:"));
  CHECK(refused([](NodeEnvelope& e) { e.epoch = -1; }).starts_with("epoch:"));
}
