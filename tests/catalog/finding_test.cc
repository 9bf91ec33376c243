// How much is found of what people write, as a floor: far above what a search finds that demands half of the words
// (recall@5 of 27 and 37 on these halves, half of the answers empty). Fixed figures, no times.
#include "tests/catalog/finding.h"

#include "tests/catch.h"

using finding::Half;

TEST_CASE("what people write finds its tool among the five that are listed", "[finding]") {
  const auto catalog = finding::tools();
  REQUIRE(catalog->size() == 360);
  for (Half half : {Half::tuned, Half::held_out}) {
    const auto wishes = finding::wishes(half);
    REQUIRE(wishes.size() == 167);
    const auto match = finding::measure(*catalog, wishes);
    INFO("recall@1 " << match.recall1 << ", @5 " << match.recall5 << ", @10 " << match.recall10);
    CHECK(match.recall1 >= 44);
    CHECK(match.recall5 >= 72);
    CHECK(match.empty <= 4);  // of words that no tool has
  }
}

TEST_CASE("what people write finds its tool among thousands of others", "[finding]") {
  const auto match = finding::measure(*finding::tools(5'440), finding::wishes(Half::held_out));
  INFO("recall@1 " << match.recall1 << ", @5 " << match.recall5 << ", @10 " << match.recall10);
  CHECK(match.recall5 >= 60);
}

TEST_CASE("strong and weak say something", "[finding]") {
  const auto sure = finding::sureness(finding::wishes(Half::held_out));
  INFO("strong " << sure.strong_share << " %, right of them " << sure.strong_right << ", weak " << sure.weak_right);
  CHECK(sure.strong_right >= 60);
  CHECK(sure.weak_right >= 60);
}
