// sanitize_pii and restore_pii as a client sees them: the keys of the server whose contract they keep, and the defects
// that its original had and these must not have.
#include "supervisor/tools/pii_tools.h"

#include "tests/catch.h"

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

ordered_json ok(const mcp::ToolResult& result) {
  REQUIRE(result.structured);
  INFO(result.structured->dump());
  REQUIRE_FALSE(result.is_error);
  CHECK(ordered_json::parse(std::get<mcp::Text>(result.content.at(0)).text) == *result.structured);
  return *result.structured;
}

ordered_json error(const mcp::ToolResult& result, std::string_view code) {
  REQUIRE(result.is_error);
  CHECK((*result.structured)["success"] == false);
  CHECK((*result.structured)["code"] == std::string(code));
  return *result.structured;
}

std::string restored(policies::PiiVault& vault, const std::string& text) {
  return ok(tools::restore_pii(vault, tools::Restoring::allowed, {{"text", text}}))["restored_text"];
}

}  // namespace

TEST_CASE("sanitize_pii answers with the keys that clients know", "[pii]") {
  policies::MemoryVault vault;
  auto answer = ok(
      tools::sanitize_pii(vault, {{"text", "ada@lovelace.org, ada@lovelace.org, 4111 1111 1111 1111 and 10.0.0.1"}}));
  CHECK(answer.size() == 3);
  CHECK_THAT(answer["sanitized_text"].get<std::string>(),
             Catch::Matches(R"((\[EMAIL_\w{6}\]), \1, \[CREDIT_CARD_\w{6}\] and \[IP_ADDRESS_\w{6}\])"));
  CHECK(answer["pii_found"] == 3);                                           // tokens, as before
  CHECK(answer["pii_types"] == json{"CREDIT_CARD", "EMAIL", "IP_ADDRESS"});  // not cut at the underscore
  auto none = ok(tools::sanitize_pii(vault, {{"text", "nothing"}}));
  CHECK(none.dump() == R"({"sanitized_text":"nothing","pii_found":0,"pii_types":[]})");
}

TEST_CASE("sanitize_pii replaces what it found and nothing else", "[pii]") {
  policies::MemoryVault vault;
  const std::string text = "10.0.0.1 is not 110.0.0.12, nor is version 1.2.3.4 or 999.999.999.999 an address";
  auto answer = ok(tools::sanitize_pii(vault, {{"text", text}}));
  CHECK(answer["pii_found"] == 2);
  CHECK_THAT(answer["sanitized_text"].get<std::string>(),
             Catch::EndsWith("nor is version 1.2.3.4 or 999.999.999.999 an address"));
  CHECK(restored(vault, answer["sanitized_text"]) == text);
}

TEST_CASE("sanitize_pii looks for some types only, if it is asked", "[pii]") {
  policies::MemoryVault vault;
  auto answer = ok(tools::sanitize_pii(vault, {{"text", "a@b.co 555-123-4567"}, {"types", {"phone"}}}));
  CHECK(answer["pii_types"] == json{"PHONE"});
  CHECK_THAT(answer["sanitized_text"].get<std::string>(), Catch::StartsWith("a@b.co "));
}

TEST_CASE("restore_pii is off for agents", "[pii]") {
  policies::MemoryVault vault;
  const std::string token = ok(tools::sanitize_pii(vault, {{"text", "a@b.co"}}))["sanitized_text"];
  auto refused = error(tools::restore_pii(vault, tools::Restoring::denied, {{"text", token}}), "denied");
  CHECK(refused["rule"] == "pii.restore");
  CHECK(refused.dump().find("a@b.co") == std::string::npos);
  CHECK(restored(vault, "mail " + token) == "mail a@b.co");
}

TEST_CASE("no tenant restores another's tokens", "[pii]") {
  tools::PiiVaults vaults;
  const std::string token = ok(tools::sanitize_pii(vaults.of("acme"), {{"text", "a@b.co"}}))["sanitized_text"];
  CHECK(restored(vaults.of("acme"), token) == "a@b.co");
  CHECK(restored(vaults.of("other"), token) == token);
  CHECK(ok(tools::sanitize_pii(vaults.of("other"), {{"text", "a@b.co"}}))["sanitized_text"] != token);
}

TEST_CASE("another kind of vault takes the place of the one in memory", "[pii]") {
  std::vector<std::string> made;
  tools::PiiVaults vaults([&](const std::string& tenant) {
    made.push_back(tenant);
    return std::make_unique<policies::MemoryVault>(policies::VaultLimits{1, 1 << 20, std::chrono::seconds(60)});
  });
  ok(tools::sanitize_pii(vaults.of("acme"), {{"text", "a@b.co"}}));
  auto full = error(tools::sanitize_pii(vaults.of("acme"), {{"text", "c@d.co"}}), "exhausted");
  CHECK(full["rule"] == "pii.vault");
  CHECK(made == std::vector<std::string>{"acme"});
}

TEST_CASE("the tools for personal data name what is wrong with their arguments", "[pii]") {
  policies::MemoryVault vault;
  auto [arguments, part] = GENERATE(table<json, std::string>({
      {json::object(), "text"},
      {json{{"text", 7}}, "text"},
      {json{{"text", "x"}, {"types", {"emial"}}}, "emial"},
      {json{{"text", "x"}, {"types", "email"}}, "types"},
      {json{{"text", "x"}, {"txt", ""}}, "txt"},
      {json{{"text", std::string((8 << 20) + 1, 'x')}}, "text"},
  }));
  CHECK_THAT(error(tools::sanitize_pii(vault, arguments), "invalid")["error"].get<std::string>(),
             Catch::Contains(part));
  error(tools::restore_pii(vault, tools::Restoring::allowed, json::object()), "invalid");
}

TEST_CASE("the definitions of the tools for personal data work in every client and stay small", "[pii]") {
  size_t bytes = 0;
  for (const auto& tool : {tools::sanitize_pii_definition(), tools::restore_pii_definition()}) {
    CAPTURE(tool.name);
    CHECK(mcp::portability_problems(tool).empty());
    CHECK_FALSE(tool.annotations.open_world);
    bytes += tool.description.size() + tool.input_schema.dump().size() + tool.output_schema->dump().size();
  }
  CHECK(bytes < 900);
}
