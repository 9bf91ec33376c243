// The shipped examples of guardrails: every rule of them refuses or asks where it should, and lets pass what is not its
// affair.
#include <algorithm>
#include <filesystem>

#include "policies/call_rules.h"
#include "policies/policy.h"
#include "policies/store.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"
#include "tests/fresh_meter.h"

using namespace policies;
namespace fs = std::filesystem;

namespace {

struct Case {
  const char *rule, *server, *tool, *caught, *passes;  // arguments
};
const Case kCases[] = {
    {"security-paths", "files", "read_text", R"({"path": "/data/../etc/passwd"})",
     R"({"path": "/data/a..b/notes.txt"})"},
    {"security-paths", "files", "move", R"({"source": "a", "destination": "/home/ada/.ssh/id"})",
     R"({"source": "a", "destination": "b/.sshfs"})"},
    {"security-paths", "files", "read_many", R"({"paths": ["notes.txt", "/etc/shadow"]})",
     R"({"paths": ["notes.txt"], "lines": ["/etc/shadow"]})"},
    {"security-paths", "files", "edit", R"({"edits": [{"file": {"name": "/root/.profile"}}]})",
     R"({"edits": [{"file": {"name": "a"}, "text": "/root/.profile"}]})"},
    {"security-addresses", "web", "fetch", R"({"url": "http://169.254.169.254/latest"})",
     R"({"url": "https://example.com/?q=localhost"})"},
    {"security-addresses", "web", "fetch", R"({"url": "http://user@10.0.0.7:8080/"})",
     R"({"url": "http://100.0.0.7/"})"},
    {"security-addresses", "web", "fetch", R"({"url": "FILE:///etc/passwd"})", R"({"url": "https://a.org/file:x"})"},
    {"security-addresses", "web", "fetch_all", R"({"urls": ["https://a.org", "http://127.0.0.1"]})",
     R"({"urls": ["https://a.org"], "words": ["http://127.0.0.1"]})"},
    {"security-addresses", "web", "fetch", R"({"request": {"url": {"of": "http://localhost/"}}})",
     R"({"request": {"body": "http://localhost/"}})"},
    {"security-commands", "box", "run_command", "{}", nullptr},
    {"privacy-secrets", "web", "search", R"({"query": "what is AKIAIOSFODNN7EXAMPLE"})",
     R"({"query": "what is AKIA"})"},
    {"privacy-secrets", "web", "search", R"({"words": ["what", "AKIAIOSFODNN7EXAMPLE"]})", R"({"words": ["what"]})"},
    {"privacy-secrets", "chat", "say", R"({"message": {"text": "it is AKIAIOSFODNN7EXAMPLE"}})",
     R"({"message": {"text": "it is lost"}})"},
    {"privacy-secrets", "crm", "set", R"({"fields": {"AKIAIOSFODNN7EXAMPLE": 1}})", R"({"fields": {"key": 1}})"},
    {"privacy-numbers", "mail", "send", R"({"body": "her number is 078-05-1120"})", R"({"body": "call 555-1234"})"},
    {"privacy-numbers", "chat", "post_message", R"({"text": "pay with 4111 1111 1111 1111"})",
     R"({"text": "order 4111"})"},
    {"privacy-numbers", "mail", "send", R"({"parts": ["hello", "078-05-1120"]})", R"({"parts": ["hello", "555"]})"},
    {"privacy-numbers", "crm", "create_contact", R"({"contact": {"notes": {"card": "4111-1111-1111-1111"}}})",
     R"({"contact": {"notes": {"card": "lost"}}})"},
    {"business-payment-limit", "bank", "transfer", R"({"amount": 10001})", R"({"amount": 100})"},
    {"business-payment-limit", "bank", "transfer", R"({"amount": "100"})", nullptr},
    {"business-payment-limit", "bank", "pay", "{}", nullptr},
    {"business-payment-limit", "bank", "pay", R"({"payment": {"amount": 1}})", nullptr},
    {"business-payment-limit", "bank", "pay", R"({"amount": [1, 20000]})", nullptr},
    {"business-payments", "bank", "refund", R"({"amount": 100.01})", R"({"amount": 0})"},
    {"business-deletes", "crm", "delete_contact", R"({"id": 1})", nullptr},
    {"business-mass-mail", "mail", "send",
     R"({"to": [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20], "body": "hello"})",
     R"({"to": ["ada"], "body": "hello"})"},
    {"business-mass-mail", "mail", "send",
     R"({"message": {"bcc": [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]}})",
     R"({"message": {"bcc": ["ada"], "lines": [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]}})"},
    {"business-mass-mail", "mail", "send",
     R"({"to": "a@x,b@x,c@x,d@x,e@x,f@x,g@x,h@x,i@x,j@x,k@x,l@x,m@x,n@x,o@x,p@x,q@x,r@x,s@x,t@x,u@x"})",
     R"({"to": "ada@x, ben@x"})"},
};

// Of one of the shipped policies.
const CallRules& calls_of(const char* policy) {
  static const Result<Store> store =
      Store::load({fs::path(WARDER_SOURCE_DIR "/policies").string()}, Mode::checkout, HostCapacity{4});
  REQUIRE(store);
  REQUIRE(store->find(policy));
  return store->find(policy)->calls;
}

// Each case is caught by its rule; what it lets pass is `otherwise`.
void check_cases(const CallRules& calls, Verdict otherwise) {
  for (const Case& item : kCases) {
    INFO(item.rule << ": " << item.caught);
    const auto caught = calls.decide(item.server, item.tool, Json::parse(item.caught), FreshMeter());
    REQUIRE(caught);
    REQUIRE(caught->rule != nullptr);
    CHECK(caught->rule->name == item.rule);
    CHECK(caught->verdict != Verdict::allow);
    if (!item.passes) continue;
    INFO("passes: " << item.passes);
    const auto passed = calls.decide(item.server, item.tool, Json::parse(item.passes), FreshMeter());
    REQUIRE(passed);
    CHECK(passed->verdict == otherwise);
    CHECK(passed->rule == nullptr);
  }
}

}  // namespace

TEST_CASE("each rule of the example guardrails decides what is its affair, and nothing else", "[guardrails]") {
  const CallRules& calls = calls_of("guardrails");
  check_cases(calls, Verdict::allow);
  for (const CallRule& rule : calls.rules) {
    INFO(rule.name);
    CHECK(std::any_of(std::begin(kCases), std::end(kCases), [&](const Case& item) { return item.rule == rule.name; }));
  }
  CHECK(calls.decide("crm", "list_contacts", Json::object(), FreshMeter())->verdict == Verdict::allow);
  CHECK(calls.results == CallRules::Results::tokenised);
  CHECK(calls.rates.size() == 2);
}

TEST_CASE("in strict mode what no rule refuses is asked about, and administrators decide", "[guardrails]") {
  const CallRules& calls = calls_of("guardrails-strict");
  check_cases(calls, Verdict::ask);
  CHECK(calls.approval.by == ApprovalRules::By::administrator);
  CHECK(calls.per_execution == 20);
  for (const RateRule& base : calls_of("guardrails").rates) {
    INFO(base.name);
    const auto own = std::find_if(calls.rates.begin(), calls.rates.end(),
                                  [&](const RateRule& rate) { return rate.name == base.name; });
    REQUIRE(own != calls.rates.end());
    CHECK(own->tools == base.tools);
    CHECK(own->per_minute <= base.per_minute);
  }
}
