#include "supervisor/upstream/calls/call_approval.h"

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

using calls::shown_arguments;

TEST_CASE("whoever approves sees everything that there is room for", "[approvals]") {
  std::string text(10'000, 'x');
  text.replace(5000, 11, "rm -rf /srv");
  CHECK(*shown_arguments({{"command", text}}) == R"({"command":")" + text + R"("})");

  std::vector<std::string> receivers(21, "ada@example.com");
  receivers.push_back("eve@example.com");
  CHECK(*shown_arguments({{"to", receivers}}) == Json{{"to", receivers}}.dump());

  Json deep = "the innermost";
  for (int i = 0; i < 20; i++) deep = {{"in", deep}};
  CHECK(*shown_arguments(deep) == deep.dump());
}

TEST_CASE("nobody is asked about a part of a text", "[approvals]") {
  const std::string hidden = "echo ok #" + std::string(50'000, ' ') + "\nrm -rf /srv; echo done";
  const auto refused = shown_arguments({{"command", hidden}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::invalid);
  CHECK_THAT(refused.error().hint, Catch::Matchers::Contains("name of a file"));

  const std::string frame = R"({"text":""})";
  CHECK(shown_arguments({{"text", std::string(16'000 - frame.size(), 'x')}})->size() == 16'000);
  CHECK_FALSE(shown_arguments({{"text", std::string(16'001 - frame.size(), 'x')}}));
  CHECK_FALSE(shown_arguments(Json(std::vector<std::string>(20, std::string(1000, 'x')))));
  CHECK_FALSE(shown_arguments({{"text", std::string(5000, '\x01')}}));  // \u0001
}

TEST_CASE("a call with more members, names or items than fit is not asked about", "[approvals]") {
  CHECK(shown_arguments(Json(std::vector<int>(7000, 1))));
  CHECK_FALSE(shown_arguments(Json(std::vector<int>(9000, 1))));
  CHECK_FALSE(shown_arguments({{std::string(16'000, 'n'), 1}}));
  Json large = Json::object();
  for (int i = 0; i < 40; i++) large[std::to_string(i)] = std::string(1000, 'x');
  const auto refused = shown_arguments(large);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::invalid);
}

TEST_CASE("whoever approves sees each digit of a number", "[approvals]") {
  const char* kArguments = R"({"to":12345678901234567890123,"amount":0.10000000000000000000001,"all":[1e400,-0]})";
  CHECK(*shown_arguments(parse_json(kArguments).value()) == kArguments);
  CHECK_FALSE(shown_arguments(Json(std::vector<Json>(5, parse_json(std::string(4000, '7')).value()))));
}

TEST_CASE("what is shown is ASCII", "[approvals]") {
  const auto visible = shown_arguments({{"to", "\u202egro.elpmaxe"}});
  REQUIRE(visible);
  CHECK(*visible == R"({"to":"\u202egro.elpmaxe"})");
}
