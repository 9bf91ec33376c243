#include "supervisor/upstream/calls/call_rates.h"

#include "tests/catch.h"

using namespace std::chrono_literals;

namespace {

policies::CallRules rules() {
  policies::CallRules rules;
  rules.rates = {{"mails", {"mail.*"}, 2}, {"sending", {"mail.send", "sms.send"}, 1}, {"never", {"door.open"}, 0}};
  return rules;
}

}  // namespace

TEST_CASE("a tenant may call so often in any minute, each tenant for itself", "[call_rates]") {
  calls::CallRates rates;
  const auto now = Monotonic::now();
  CHECK(rates.take("a", rules(), "mail", "list", now));
  CHECK(rates.take("a", rules(), "mail", "list", now + 30s));
  const auto refused = rates.take("a", rules(), "mail", "list", now + 59s);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::exhausted);
  CHECK(refused.error().rule == "calls.mails");
  CHECK(refused.error().what == "mail.list is called too often: 2 calls per minute are allowed");
  CHECK(refused.error().hint == "call again in 1 s");
  CHECK(rates.take("b", rules(), "mail", "list", now + 59s));
  CHECK(rates.take("a", rules(), "mail", "list", now + 60s));
  CHECK_FALSE(rates.take("a", rules(), "mail", "list", now + 89s));
  CHECK(rates.take("a", rules(), "mail", "list", now + 90s));
}

TEST_CASE("each rule that names a tool must have room, and one that has none counts nothing", "[call_rates]") {
  calls::CallRates rates;
  const auto now = Monotonic::now();
  CHECK(rates.take("a", rules(), "sms", "send", now));
  CHECK(rates.take("a", rules(), "files", "read", now));  // nothing counts it
  for (int i = 0; i < 3; i++) CHECK(rates.take("a", rules(), "mail", "send", now).error().rule == "calls.sending");
  CHECK(rates.take("a", rules(), "mail", "list", now));
  CHECK(rates.take("a", rules(), "mail", "list", now));
  CHECK(rates.take("a", rules(), "door", "open", now).error().hint == "solve the task without this tool");
}

TEST_CASE("a policy that allows less from now on counts what was called before", "[call_rates]") {
  calls::CallRates rates;
  const auto now = Monotonic::now();
  auto changed = rules();
  for (int i = 0; i < 2; i++) CHECK(rates.take("a", changed, "mail", "list", now + i * 10s));
  changed.rates[0].per_minute = 1;
  CHECK(rates.take("a", changed, "mail", "list", now + 20s).error().hint == "call again in 50 s");
}
