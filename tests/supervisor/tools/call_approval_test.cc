#include "supervisor/tools/call_approval.h"

#include "supervisor/base/json_value.h"
#include "tests/catch.h"

using tools::shown_arguments;

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

TEST_CASE("of what there is no room for long texts are cut, and it is said by how much", "[approvals]") {
  const std::string hidden = "echo ok #" + std::string(50'000, ' ') + "\nrm -rf /srv";
  const auto shown = shown_arguments({{"command", hidden}, {"note", "short"}});
  REQUIRE(shown);
  CHECK(shown->size() > 5000);  // no more is cut than must be
  CHECK(shown->find("echo ok") != shown->npos);
  CHECK(shown->find("rm -rf /srv") != shown->npos);
  CHECK(shown->find(R"("note":"short")") != shown->npos);
  CHECK(shown->find("bytes more") != shown->npos);

  const auto many = shown_arguments(Json(std::vector<std::string>(20, std::string(5000, 'x'))));
  REQUIRE(many);
  CHECK(Json::parse(*many).size() == 20);
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

TEST_CASE("what is shown is ASCII", "[approvals]") {
  const auto shown = shown_arguments({{"to", "\u202egro.elpmaxe"}});
  REQUIRE(shown);
  CHECK(*shown == R"({"to":"\u202egro.elpmaxe"})");
  const auto cut = shown_arguments({{"to", std::string(30'000, 'x') + "\u202e"}, {"note", "\u202e"}});
  REQUIRE(cut);
  CHECK(cut->find_first_not_of(" !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`"
                               "abcdefghijklmnopqrstuvwxyz{|}~") == cut->npos);
}
