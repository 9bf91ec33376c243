// sanitize_pii and restore_pii as a client sees them: the keys of the server whose contract they keep, and the defects
// that its original had and these must not have.
#include "supervisor/tools/pii/pii_tools.h"

#include <filesystem>

#include "policies/policy.h"
#include "supervisor/base/path.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/tenants/privacy/pii_response_filter.h"
#include "supervisor/tenants/tenant.h"
#include "tests/catch.h"
#include "tests/fresh_meter.h"
#include "tests/supervisor/protocol/mcp/portability.h"

namespace {

const policies::PiiRules kRules;  // the standard policy's
policies::PiiRules trusting() {
  policies::PiiRules rules;
  rules.restore = policies::PiiRules::Restore::agents;
  return rules;
}

Json ok(const Result<Json>& result) {
  INFO((result ? "" : result.error().what));
  REQUIRE(result);
  return *result;
}

// On a loop of its own.
template <class T>
T result_of(Loop& loop, Task<T> task) {
  std::optional<T> value;
  const auto keep = [](Task<T> waited, std::optional<T>& into) -> Task<> { into = co_await std::move(waited); };
  loop.spawn(keep(std::move(task), value));
  loop.run_until([&] { return value.has_value(); });
  return *std::move(value);
}

policies::PiiVault& of(privacy::PiiVaults& vaults, const std::string& tenant) {
  Loop loop;
  auto vault = result_of(loop, vaults.of({tenant}, kRules.lifetime));
  REQUIRE(vault);
  return **vault;
}

// Vaults whose opening takes until it is told to end.
struct SlowVaults {
  Loop loop;
  size_t openings = 0;
  bool is_broken = false;
  std::vector<std::shared_ptr<Event>> may_end;
  privacy::PiiVaults vaults{loop, [this](tenants::TenantId tenant) { return make(std::move(tenant)); }};

  Task<privacy::PiiVaults::VaultResult> make(tenants::TenantId) {
    openings++;
    const auto reserved = may_end.emplace_back(std::make_shared<Event>());
    co_await *reserved;
    if (is_broken) co_return fail(Code::denied, "sealed with another key");
    co_return std::make_shared<policies::MemoryVault>();
  }
  Started<Result<privacy::PiiVaults::VaultPtr>> ask(const std::string& tenant) {
    return start(vaults.of({tenant}, kRules.lifetime));
  }
  void end_openings() {
    for (const auto& item : std::exchange(may_end, {})) item->fire();
  }
  Result<privacy::PiiVaults::VaultPtr> answer(Started<Result<privacy::PiiVaults::VaultPtr>>& request) {
    REQUIRE(request.done());
    auto collect =
        [](Started<Result<privacy::PiiVaults::VaultPtr>>& from) -> Task<Result<privacy::PiiVaults::VaultPtr>> {
      auto vault = co_await from;
      co_return vault;
    };
    return result_of(loop, collect(request));
  }
};

Result<Json> sanitize(policies::PiiVault& vault, const policies::PiiRules& rules, const Json& arguments) {
  return tools::sanitize_pii(vault, rules, arguments, FreshMeter());
}

Result<Json> tokenize(policies::PiiVault& vault, const policies::PiiRules& rules, const Json& arguments) {
  return tools::tokenize_pii(vault, rules, arguments, FreshMeter());
}

Result<Json> restore(policies::PiiVault& vault, const policies::PiiRules& rules, const Json& arguments) {
  return tools::restore_pii(vault, rules, arguments, FreshMeter());
}

Result<Json> detokenize(policies::PiiVault& vault, const policies::PiiRules& rules, const Json& arguments) {
  return tools::detokenize_pii(vault, rules, arguments, FreshMeter());
}

Json error(const Result<Json>& refused, std::string_view code) {
  const mcp::ToolResult result = tools::answer_for_agent(refused);
  REQUIRE(result.is_error);
  CHECK((*result.structured)["success"] == false);
  CHECK((*result.structured)["code"] == std::string(code));
  return *result.structured;
}

std::string restored(policies::PiiVault& vault, const std::string& text) {
  return ok(restore(vault, trusting(), {{"text", text}}))["restored_text"];
}

}  // namespace

TEST_CASE("sanitize_pii answers with the keys that clients know", "[pii]") {
  policies::MemoryVault vault;
  auto answer =
      ok(sanitize(vault, kRules, {{"text", "ada@lovelace.org, ada@lovelace.org, 4111 1111 1111 1111 and 10.0.0.1"}}));
  CHECK(answer.size() == 3);
  CHECK_THAT(answer["sanitized_text"].get<std::string>(),
             Catch::Matches(R"((\[EMAIL_\w{6}\]), \1, \[CREDIT_CARD_\w{6}\] and \[IP_ADDRESS_\w{6}\])"));
  CHECK(answer["pii_found"] == 3);                                           // tokens, as before
  CHECK(answer["pii_types"] == Json{"CREDIT_CARD", "EMAIL", "IP_ADDRESS"});  // not cut at the underscore
  auto none = ok(sanitize(vault, kRules, {{"text", "nothing"}}));
  CHECK(none.dump() == R"({"sanitized_text":"nothing","pii_found":0,"pii_types":[]})");
}

TEST_CASE("sanitize_pii replaces what it found and nothing else", "[pii]") {
  policies::MemoryVault vault;
  const std::string text = "10.0.0.1 is not 110.0.0.12, nor is version 1.2.3.4 or 999.999.999.999 an address";
  auto answer = ok(sanitize(vault, kRules, {{"text", text}}));
  CHECK(answer["pii_found"] == 2);
  CHECK_THAT(answer["sanitized_text"].get<std::string>(),
             Catch::EndsWith("nor is version 1.2.3.4 or 999.999.999.999 an address"));
  CHECK(restored(vault, answer["sanitized_text"]) == text);
}

TEST_CASE("sanitize_pii looks for some types only, if it is asked", "[pii]") {
  policies::MemoryVault vault;
  auto answer = ok(sanitize(vault, kRules, {{"text", "a@b.co 555-123-4567"}, {"types", {"phone"}}}));
  CHECK(answer["pii_types"] == Json{"PHONE"});
  CHECK_THAT(answer["sanitized_text"].get<std::string>(), Catch::StartsWith("a@b.co "));
}

TEST_CASE("restore_pii is off for agents", "[pii]") {
  policies::MemoryVault vault;
  const std::string token = ok(sanitize(vault, kRules, {{"text", "a@b.co"}}))["sanitized_text"];
  auto refused = error(restore(vault, kRules, {{"text", token}}), "denied");
  CHECK(refused["rule"] == "pii.restore");
  CHECK(refused.dump().find("a@b.co") == std::string::npos);
  CHECK(restored(vault, "mail " + token) == "mail a@b.co");
}

TEST_CASE("no tenant restores another's tokens", "[pii]") {
  Loop loop;
  privacy::PiiVaults vaults(loop);
  const std::string token = ok(sanitize(of(vaults, "acme"), kRules, {{"text", "a@b.co"}}))["sanitized_text"];
  CHECK(restored(of(vaults, "acme"), token) == "a@b.co");
  CHECK(restored(of(vaults, "other"), token) == token);
  CHECK(ok(sanitize(of(vaults, "other"), kRules, {{"text", "a@b.co"}}))["sanitized_text"] != token);
}

TEST_CASE("another kind of vault takes the place of the one in memory", "[pii]") {
  std::vector<std::string> created;
  Loop loop;
  privacy::PiiVaults vaults(loop, [&](tenants::TenantId tenant) -> Task<privacy::PiiVaults::VaultResult> {
    created.push_back(tenant.text());
    const policies::VaultLimits limits{1, 1 << 20, std::chrono::seconds(60)};
    co_return std::make_shared<policies::MemoryVault>(limits);
  });
  ok(sanitize(of(vaults, "acme"), kRules, {{"text", "a@b.co"}}));
  auto full = error(sanitize(of(vaults, "acme"), kRules, {{"text", "c@d.co"}}), "exhausted");
  CHECK(full["rule"] == "pii.vault");
  CHECK(created == std::vector<std::string>{"acme"});
}

TEST_CASE("the tools for personal data name what is wrong with their arguments", "[pii]") {
  policies::MemoryVault vault;
  auto [arguments, part] = GENERATE(table<Json, std::string>({
      {Json::object(), "text"},
      {Json{{"text", 7}}, "text"},
      {Json{{"text", "x"}, {"types", {"emial"}}}, "emial"},
      {Json{{"text", "x"}, {"types", "emial"}}, "emial"},
      {Json{{"text", "x"}, {"txt", ""}}, "txt"},
      {Json{{"text", std::string(4'000'001, 'x')}}, "text"},                  // its answer has it twice
      {Json{{"text", std::string(2'000'000, '"')}}, "bytes make an answer"},  // and escaped
  }));
  CHECK_THAT(error(sanitize(vault, kRules, arguments), "invalid")["error"].get<std::string>(), Catch::Contains(part));
  error(restore(vault, trusting(), Json::object()), "invalid");
}

TEST_CASE("the definitions of the tools for personal data work in every client and stay small", "[pii]") {
  size_t bytes = 0;
  for (const auto& tool : {tools::sanitize_pii_definition(), tools::restore_pii_definition()}) {
    CAPTURE(tool.name);
    CHECK(mcp_test::portability_problems(tool).empty());
    bytes += tool.description.size() + tool.input_schema.dump().size();
  }
  CHECK(bytes < 900);
}

TEST_CASE("jailed code gets tokens with what they stand for, and no more unless the policy says so", "[pii]") {
  policies::MemoryVault vault;
  const std::string name = ok(sanitize(vault, kRules, {{"text", "grace@navy.mil"}}))["sanitized_text"];
  auto answer = tokenize(vault, kRules, {{"text", "mail a@b.co, not " + name}});
  REQUIRE(answer);
  const Json& tokens = (*answer)["tokens"];
  CHECK(tokens.size() == 2);  // the one that was in the text already, too: the map alone gives the text back
  std::string text = (*answer)["text"];
  for (const auto& [token, original] : tokens.items())
    text.replace(text.find(token), token.size(), original.get<std::string>());
  CHECK(text == "mail a@b.co, not " + name);

  auto refused = detokenize(vault, kRules, {{"text", name}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::denied);
  CHECK(refused.error().rule == "pii.restore");
  policies::PiiRules rules;
  rules.restore = policies::PiiRules::Restore::code;
  CHECK((*detokenize(vault, rules, {{"text", name}}))["text"] == "grace@navy.mil");
  error(restore(vault, rules, {{"text", name}}), "denied");  // that is for agents
  for (const Json& wrong : {Json::object(), Json{{"text", 1}}, Json{{"text", "x"}, {"more", 1}}, Json(nullptr)}) {
    CHECK_FALSE(tokenize(vault, rules, wrong));
    CHECK_FALSE(detokenize(vault, rules, wrong));
  }
}

TEST_CASE("a vault that cannot be opened is asked for again", "[pii]") {
  SlowVaults slow;
  slow.is_broken = true;
  auto first = slow.ask("acme"), second = slow.ask("acme");
  slow.end_openings();
  for (auto* request : {&first, &second}) {
    const auto refused = slow.answer(*request);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::denied);
    CHECK(refused.error().what == "sealed with another key");
  }
  CHECK(slow.openings == 1);
  slow.is_broken = false;
  auto retry = slow.ask("acme");
  slow.end_openings();
  CHECK(slow.answer(retry));
  CHECK(slow.openings == 2);
}

TEST_CASE("a vault is opened once for all who ask meanwhile, and others do not wait for it", "[pii]") {
  SlowVaults slow;
  auto first = slow.ask("acme"), second = slow.ask("acme");
  { auto cancelled = slow.ask("acme"); }
  {
    auto removed = slow.ask("other");  // it was the first to ask, and left
  }
  auto other = slow.ask("other");
  bool turned = false;
  slow.loop.defer([&] { turned = true; });
  slow.loop.run_until([&] { return turned; });
  CHECK_FALSE(first.done());
  CHECK(slow.openings == 2);
  slow.end_openings();
  auto existing = slow.ask("acme");
  CHECK(existing.done());  // without a turn of the loop
  const auto vault = slow.answer(existing).value();
  CHECK(slow.answer(first).value() == vault);
  CHECK(slow.answer(second).value() == vault);
  CHECK(slow.answer(other).value() != vault);
  CHECK(slow.openings == 2);
}

TEST_CASE("vaults that go while one is opened leave nobody behind", "[pii]") {
  auto slow = std::make_unique<SlowVaults>();
  { auto request = slow->ask("acme"); }
  CHECK(slow->openings == 1);
  slow.reset();
}

TEST_CASE("answers are sanitised for the tenants whose policy wants it", "[pii]") {
  Loop loop;
  privacy::PiiVaults vaults(loop);
  char state[] = "/tmp/pii-tools-XXXXXX";
  REQUIRE(::mkdtemp(state) != nullptr);
  auto policy = std::make_shared<policies::Policy>();
  policies::PiiRules& rules = policy->pii;
  const auto tenant = tenants::Tenant::open(loop, open_directory(state)->get(), "acme", *policy).value();
  Work work(loop);
  const auto outgoing = privacy::pii_response_filter(
      [&](const mcp::RequestContext&) -> Result<tenants::Requester> {
        return tenants::Requester{tenant, policy, {}, {}};
      },
      vaults, work);
  mcp::RequestContext context(loop, {"1"}, mcp::Version::v2025_06_18, nullptr);
  CHECK(outgoing(context) == nullptr);
  rules.answers = policies::PiiRules::Answers::sanitised;
  auto texts = outgoing(context);
  REQUIRE(texts);
  const auto cleaned = [&](std::string text) {
    auto reserved = std::make_shared<std::string>(std::move(text));
    mcp::ResponseFilter::Job job = [reserved](mcp::TextFilter& filter) -> Result<> {
      TRY(*reserved, filter.redact(*reserved));
      return {};
    };
    REQUIRE(result_of(loop, texts->apply(std::move(job))));
    return *reserved;
  };
  const std::string clean = cleaned("mail a@b.co");
  CHECK_THAT(clean, Catch::Matches(R"(mail \[EMAIL_\w{6}\])"));
  CHECK(cleaned(clean) == clean);  // what the agent got before stays what it is
  CHECK(restored(of(vaults, "acme"), clean) == "mail a@b.co");
  std::filesystem::remove_all(state);
}
