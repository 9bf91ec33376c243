// Which messages a node acts on: hostile senders, a hostile bus, clocks that are wrong.
#include "supervisor/cluster/trust/envelope_checker.h"

#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/supervisor/cluster/trust_fixture.h"

using namespace cluster;
using trust_test::key_of;
using trust_test::node_of;
using trust_test::record_of;

namespace {

constexpr unsigned char kN1 = 1, kN2 = 2, kN3 = 3;
constexpr int64_t kStart = 1'790'000'000'000;  // wall clock, ms
constexpr int64_t kHour = 3'600'000;

// The node n2, a minute after its start.
struct Receiver {
  Receiver() { run(60'000); }

  // Time passes on both clocks.
  void run(int64_t ms) {
    now.wall_ms += ms;
    now.monotonic += std::chrono::milliseconds(ms);
  }
  NodeEnvelope message() {
    NodeEnvelope envelope;
    envelope.kind = "open";
    envelope.id = fmt::format("{:032x}", ++messages);
    envelope.from = "n1";
    envelope.to = "n2";
    envelope.tenant = EnvelopeTenant{"token:ci", {"acme", "reports"}, "strict", std::string(64, 'a')};
    envelope.epoch = 3;
    envelope.issued_at_ms = now.wall_ms;
    envelope.body = "a line of MCP";
    return envelope;
  }
  std::string accept(const std::string& sealed) {
    const auto accepted = checker.accept(sealed, now);
    if (accepted) return "accepted";
    CHECK(accepted.error().error.what.starts_with("message refused: "));
    CHECK_FALSE(accepted.error().error.hint.empty());
    return std::string(name_of(accepted.error().fault));
  }
  std::string accept(const NodeEnvelope& envelope, unsigned char key = kN1) {
    return accept(seal_envelope(envelope, key_of(key)).value());
  }

  uint64_t messages = 0;
  ClockReading now{kStart, Monotonic::time_point(std::chrono::hours(5))};
  EnvelopeChecker checker{"n2", "b007",
                          record_of({node_of("n1", kN1), node_of("n2", kN2), node_of("n3", kN3, {{"web"}})}),
                          [](const std::string& policy) -> std::optional<std::string> {
                            if (policy != "strict") return {};
                            return std::string(64, 'a');
                          },
                          now};
};

}  // namespace

TEST_CASE_METHOD(Receiver, "a message is accepted once", "[cluster]") {
  const NodeEnvelope envelope = message();
  const std::string sealed = seal_envelope(envelope, key_of(kN1)).value();
  CHECK(checker.accept(sealed, now).value() == envelope);
  CHECK(accept(sealed) == "replayed");
  run(29'000);
  CHECK(accept(sealed) == "replayed");
  run(6000);  // 35 s: the last moment within the tolerance
  CHECK(accept(sealed) == "replayed");
  run(1);
  CHECK(accept(sealed) == "expired");
  run(kHour);
  CHECK(accept(sealed) == "expired");
  CHECK(accept(message()) == "accepted");
  CHECK(checker.stored_ids("n1") == 1);  // the first is forgotten
}

TEST_CASE_METHOD(Receiver, "a message is refused for its sender, receiver, tenant, policy or epoch", "[cluster]") {
  struct Case {
    const char* outcome;
    std::function<void(NodeEnvelope&)> change;
    unsigned char key = kN1;
  };
  const Case cases[] = {
      {"accepted", [](NodeEnvelope&) {}},
      {"accepted", [](NodeEnvelope& e) { e.tenant.reset(); }},
      {"accepted", [](NodeEnvelope& e) { e.boot = "b007"; }},
      {"wrong_boot", [](NodeEnvelope& e) { e.boot = "b006"; }},
      {"forged", [](NodeEnvelope&) {}, kN3},  // another trusted node says that it is n1
      {"forged", [](NodeEnvelope&) {}, 77},
      {"forged", [](NodeEnvelope& e) { e.from = "n3"; }},
      {"forged", [](NodeEnvelope& e) { e.from = "n2"; }},  // as if this node had sent it
      {"unknown_sender", [](NodeEnvelope& e) { e.from = "n4"; }},
      {"wrong_receiver", [](NodeEnvelope& e) { e.to = "n3"; }},
      {"tenant_not_served", [](NodeEnvelope& e) { e.from = "n3"; }, kN3},
      {"accepted",
       [](NodeEnvelope& e) {
         e.from = "n3", e.tenant->tenant = {"web", "x"};
       },
       kN3},
      {"unknown_policy", [](NodeEnvelope& e) { e.tenant->policy = "other"; }},
      {"other_policy", [](NodeEnvelope& e) { e.tenant->policy_hash[63] = 'b'; }},
      {"from_the_future", [](NodeEnvelope& e) { e.issued_at_ms += 5001; }},
      {"accepted", [](NodeEnvelope& e) { e.issued_at_ms += 5000; }},
      {"expired", [](NodeEnvelope& e) { e.issued_at_ms -= 35'001; }},
      {"accepted", [](NodeEnvelope& e) { e.issued_at_ms -= 35'000; }},
      {"accepted", [](NodeEnvelope& e) { e.epoch = 4; }},
      {"old_epoch", [](NodeEnvelope& e) { e.epoch = 3; }},
      {"accepted", [](NodeEnvelope& e) { e.tenant->tenant.workspace = "other"; }},  // another home
      {"accepted", [](NodeEnvelope& e) { e.epoch = 0; }},                           // it names no epoch
  };
  for (const auto& item : cases) {
    NodeEnvelope envelope = message();
    item.change(envelope);
    INFO(envelope.id << " " << item.outcome);
    CHECK(accept(envelope, item.key) == item.outcome);
  }
  NodeEnvelope next = message(), late = message();
  next.epoch = 9, late.epoch = 8;
  CHECK(accept(next) == "accepted");
  CHECK(accept(late) == "old_epoch");
}

TEST_CASE_METHOD(Receiver, "a message that the bus changed is refused", "[cluster]") {
  const std::string sealed = seal_envelope(message(), key_of(kN1)).value();
  for (size_t size = 0; size < sealed.size(); size++) CHECK(accept(sealed.substr(0, size)) != "accepted");
  for (size_t i = 0; i < sealed.size(); i++) {
    for (int bit = 0; bit < 8; bit++) {
      std::string wrong = sealed;
      wrong[i] = static_cast<char>(wrong[i] ^ (1 << bit));
      CHECK(accept(wrong) != "accepted");
    }
  }
  const std::string other = seal_envelope(message(), key_of(kN1)).value();
  const size_t header = sealed.find('\n') + 1, body = header + 89;
  CHECK(accept(sealed.substr(0, header) + other.substr(header)) == "forged");  // another signature
  CHECK(accept(sealed.substr(0, body) + "another line!") == "malformed");      // another body
  CHECK(accept(sealed + "x") == "malformed");
  std::string tenant = sealed;
  tenant.replace(tenant.find("\"acme\""), 6, "\"evil\"");
  CHECK(accept(tenant) == "forged");
  CHECK(accept(std::string(1'100'000, 'x')) == "too_large");
  CHECK(accept(sealed + std::string(1'100'000, 'x')) == "too_large");
  CHECK(checker.stored_ids("n1") == 0);  // nothing of all that took room
  CHECK(checker.stored_homes() == 0);
  CHECK(accept(sealed) == "accepted");
}

TEST_CASE_METHOD(Receiver, "two nodes with one name: the trust record knows one key", "[cluster]") {
  CHECK(accept(message(), kN1) == "accepted");
  CHECK(accept(message(), 50) == "forged");
  auto record = record_of({node_of("n1", kN1), node_of("n1", 50), node_of("n2", kN2)});
  CHECK_FALSE(sign_trust(record, key_of(trust_test::kAuthority)));
}

TEST_CASE_METHOD(Receiver, "a key that is removed while orders are out", "[cluster]") {
  const NodeEnvelope sent = message();
  checker.set_trust(record_of({node_of("n2", kN2), node_of("n3", kN3)}, 2));
  CHECK(accept(sent) == "unknown_sender");
  checker.set_trust(record_of({node_of("n1", 11), node_of("n2", kN2)}, 3));  // n1 has a new key
  CHECK(accept(sent) == "forged");
  CHECK(accept(message(), 11) == "accepted");
  // Its accounts are taken away.
  checker.set_trust(record_of({node_of("n1", 11, {{"web"}}), node_of("n2", kN2)}, 4));
  CHECK(accept(message(), 11) == "tenant_not_served");
  // Added again: what was accepted before is still known.
  checker.set_trust(record_of({node_of("n1", kN1), node_of("n2", kN2)}, 5));
  CHECK(accept(sent) == "accepted");
  CHECK(accept(sent) == "replayed");
}

TEST_CASE_METHOD(Receiver, "this node's clock is set back by an hour, and nothing is accepted twice", "[cluster]") {
  const std::string sealed = seal_envelope(message(), key_of(kN1)).value();
  CHECK(accept(sealed) == "accepted");
  now.wall_ms -= kHour;
  CHECK(accept(sealed) == "from_the_future");
  NodeEnvelope bound = message();  // of a sender whose clock was set back, too
  CHECK(accept(bound) == "before_start");
  bound.boot = "b007";  // it cannot be of before the start
  CHECK(accept(bound) == "accepted");
  run(kHour);  // the clock shows the former time again, and the id is forgotten by then
  CHECK(accept(sealed) == "replayed");
  run(1000);
  CHECK(accept(message()) == "accepted");
}

TEST_CASE_METHOD(Receiver, "this node's clock is set forward by an hour and back again", "[cluster]") {
  const std::string sealed = seal_envelope(message(), key_of(kN1)).value();
  CHECK(accept(sealed) == "accepted");
  const int64_t right = now.wall_ms;
  now.wall_ms += kHour;
  CHECK(accept(sealed) == "expired");
  CHECK(accept(message()) == "accepted");  // one more sender with the wrong time; the id of `sealed` is forgotten
  CHECK(checker.stored_ids("n1") == 1);
  now.wall_ms = right;
  CHECK(accept(sealed) == "replayed");
  run(1000);
  CHECK(accept(message()) == "accepted");
}

TEST_CASE("after a start, messages to an earlier start are refused", "[cluster]") {
  Receiver before;
  const NodeEnvelope sent = before.message();
  NodeEnvelope bound = before.message();
  bound.boot = "b007";
  CHECK(before.accept(sent) == "accepted");
  CHECK(before.accept(bound) == "accepted");
  before.run(1000);
  before.checker = EnvelopeChecker("n2", "b008", before.checker.trust(), nullptr, before.now);
  CHECK(before.accept(sent) == "before_start");
  CHECK(before.accept(bound) == "wrong_boot");
  NodeEnvelope fresh = before.message();
  CHECK(before.accept(fresh) == "before_start");  // the sender's clock may be ahead
  fresh.boot = "b008";
  CHECK(before.accept(fresh) == "accepted");
  before.run(5001);
  CHECK(before.accept(before.message()) == "accepted");
}

TEST_CASE_METHOD(Receiver, "memory is bounded, and full memory refuses", "[cluster]") {
  NodeEnvelope envelope = message();
  for (size_t i = 0; i < EnvelopeChecker::kMaxIdsOfNode; i++) {
    envelope.id = fmt::format("{:032x}", 1000 + i);
    if (i == EnvelopeChecker::kMaxIdsOfNode / 2) {
      run(20'000);
      envelope.issued_at_ms = now.wall_ms;
    }
    REQUIRE(checker.accept(seal_envelope(envelope, key_of(kN1)).value(), now));
  }
  CHECK(checker.stored_ids("n1") == EnvelopeChecker::kMaxIdsOfNode);
  CHECK(accept(message()) == "too_many_ids");
  NodeEnvelope of_other = message();
  of_other.from = "n3";
  of_other.tenant.reset();
  CHECK(accept(of_other, kN3) == "accepted");  // one sender does not shut out the others
  run(15'001);                                 // the older half has expired
  CHECK(accept(message()) == "accepted");
  CHECK(checker.stored_ids("n1") == EnvelopeChecker::kMaxIdsOfNode / 2 + 1);
  run(40'001);
  CHECK(accept(message()) == "accepted");
  CHECK(checker.stored_ids("n1") == 1);
}

TEST_CASE_METHOD(Receiver, "epochs of many homes are bounded, the longest unused is forgotten first", "[cluster]") {
  constexpr size_t kFewHomes = 4;
  checker = EnvelopeChecker("n2", "b007", checker.trust(), nullptr, {kStart, {}}, kFewHomes);
  NodeEnvelope envelope = message();
  envelope.epoch = 7;
  CHECK(accept(envelope) == "accepted");
  for (size_t i = 1; i < kFewHomes; i++) {
    envelope = message();
    envelope.tenant->tenant.workspace = fmt::format("w{}", i);
    CHECK(accept(envelope) == "accepted");
  }
  CHECK(checker.stored_homes() == kFewHomes);
  envelope = message();
  envelope.tenant->tenant.workspace = "one-more";
  CHECK(accept(envelope) == "too_many_homes");
  run(59'000);
  envelope = message();
  envelope.epoch = 7;
  CHECK(accept(envelope) == "accepted");  // used now
  run(2000);
  envelope = message();
  envelope.tenant->tenant.workspace = "one-more";
  CHECK(accept(envelope) == "accepted");
  CHECK(checker.stored_homes() == kFewHomes);
  CHECK(accept(message()) == "old_epoch");
}
