#include "supervisor/programs/cli/admin/short_ids.h"

#include "tests/catch.h"

using namespace admin;
using Catch::Matchers::Contains;

namespace {

const std::vector<std::string> kIds = {"e241513dc21dbc3db", "e241599999999999d", "e0a46245395ac18cd"};

Result<std::string> matched(std::string_view typed) { return match_id(typed, kIds, "execution", "warder ps --all"); }

}  // namespace

TEST_CASE("the beginning of an id means the only id that begins so", "[short_ids]") {
  CHECK(*matched("e0") == kIds[2]);
  CHECK(*matched("e24151") == kIds[0]);
  CHECK(*matched(kIds[1]) == kIds[1]);
}

TEST_CASE("several ids that begin so are all named", "[short_ids]") {
  const auto match = matched("e2415");
  REQUIRE(!match);
  CHECK(match.error().code == Code::invalid);
  CHECK_THAT(match.error().what, Contains("2 ids") && Contains(kIds[0]) && Contains(kIds[1]) && !Contains(kIds[2]));
  const std::vector<std::string> many(30, "");
  std::vector<std::string> ids;
  for (size_t i = 0; i < many.size(); i++) ids.push_back("e" + std::to_string(100 + i));
  const auto crowd = match_id("e", ids, "execution", "warder ps");
  CHECK_THAT(crowd.error().what, Contains("30 ids") && Contains("...") && !Contains("e129"));
}

TEST_CASE("an id that equals what was typed is meant, also if others begin so", "[short_ids]") {
  CHECK(*match_id("e1", {"e12", "e1"}, "execution", "warder ps") == "e1");
}

TEST_CASE("no id and an empty word are errors with the command that lists ids", "[short_ids]") {
  const auto none = matched("f");
  REQUIRE(!none);
  CHECK(none.error().code == Code::not_found);
  CHECK_THAT(none.error().hint, Contains("warder ps --all"));
  CHECK(matched("").error().code == Code::invalid);
}

TEST_CASE("printed ids are as long as tells them apart, and at least 6", "[short_ids]") {
  CHECK(short_length(kIds) == 6);
  CHECK(short_length({"e24151a", "e24151b"}) == 7);
  CHECK(short_length({"e1"}) == 6);
  CHECK(short_length({}) == 6);
  CHECK(short_length({"e24151a", "e24151a"}) == 6);
}
