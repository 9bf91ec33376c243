#include "catalog/index.h"

#include "tests/catch.h"

namespace {

catalog::Index index_of(const std::vector<std::string>& descriptions) {
  catalog::IndexBuilder builder;
  for (const auto& text : descriptions) builder.add({"", "", text, "", "", ""});
  return std::move(builder).finish();
}

std::vector<uint32_t> documents(const catalog::Index::Ranking& ranking) {
  std::vector<uint32_t> all;
  for (const auto& hit : ranking.hits) all.push_back(hit.document);
  return all;
}

using Documents = std::vector<uint32_t>;

}  // namespace

TEST_CASE("rarer words are worth more, and equals keep their order", "[index]") {
  auto index = index_of({"file red", "file", "file", "file blue", "red and much more that nobody asked for"});
  CHECK(documents(index.rank(index.terms("red file"), 5)) == Documents{0, 4, 1, 2, 3});
  CHECK(documents(index.rank(index.terms("file"), 2)) == Documents{1, 2});
  CHECK(index.rank(index.terms("file"), 2).total == 4);
}

TEST_CASE("a word counts once, however often and in whatever form it is asked for", "[index]") {
  auto index = index_of({"search issue", "issue", "search"});
  auto once = index.rank(index.terms("search issue"), 3),
       often = index.rank(index.terms("issues issue ISSUE searching search"), 3);
  REQUIRE(once.hits.size() == often.hits.size());
  for (size_t i = 0; i < once.hits.size(); i++) CHECK(once.hits[i].score == often.hits[i].score);
}

TEST_CASE("what is found does not depend on the 65,536 documents of one shard", "[index]") {
  catalog::IndexBuilder builder;
  for (int i = 0; i < 70'000; i++)
    builder.add({i == 69'999 ? "needle" : "hay", "", i % 1000 == 0 ? "needle" : "", "", "", ""});
  auto index = std::move(builder).finish();
  auto ranking = index.rank(index.terms("needle"), 3);
  CHECK(documents(ranking) == Documents{69'999, 0, 1000});
  CHECK(ranking.total == 71);
  CHECK(index.rank(index.terms("hay"), 1).total == 69'999);
  catalog::Index::Mask accept(70'000, 0);
  std::fill(accept.begin() + 65'000, accept.end() - 1, 1);
  CHECK(documents(index.rank(index.terms("needle"), 9, accept)) == Documents{65'000, 66'000, 67'000, 68'000, 69'000});
}

TEST_CASE("preferred documents are ranked before all others, in every shard", "[index]") {
  const size_t preferred = GENERATE(0, 10, 65'536, 66'100, 70'000, 80'000);
  CAPTURE(preferred);
  catalog::IndexBuilder builder;
  for (size_t i = 0; i < 70'000; i++)
    builder.add({i % 1000 == 999 ? "needle" : "hay", "", i % 1000 == 0 ? "needle" : "", "", "", ""});
  auto index = std::move(builder).finish(preferred);
  auto ranking = index.rank(index.terms("needle"), 140);
  CHECK(ranking.total == 140);
  REQUIRE(ranking.hits.size() == 140);
  auto later = [&](const catalog::Index::Hit& hit) { return hit.document >= preferred; };
  CHECK(std::is_partitioned(ranking.hits.begin(), ranking.hits.end(), [&](const auto& hit) { return !later(hit); }));
  const auto border = std::find_if(ranking.hits.begin(), ranking.hits.end(), later);
  auto better = [](const auto& a, const auto& b) {
    return a.score != b.score ? a.score > b.score : a.document < b.document;
  };
  CHECK(std::is_sorted(ranking.hits.begin(), border, better));
  CHECK(std::is_sorted(border, ranking.hits.end(), better));
}

TEST_CASE("what has any of the words is ranked, however many it lacks", "[index]") {
  auto index = index_of({"alpha", "alpha beta", "alpha beta gamma", "delta", "alpha beta gamma delta"});
  CHECK(documents(index.rank(index.terms("alpha beta gamma delta"), 9)).front() == 4);
  CHECK(index.rank(index.terms("alpha beta gamma delta"), 9).total == 5);
  CHECK(documents(index.rank(index.terms("absent delta missing unheard unseen"), 9)) == Documents{3, 4});
  CHECK_FALSE(index.terms("absent missing").known());
  CHECK_FALSE(index.terms("").known());
}

TEST_CASE("stop words are not asked for, unless there is nothing else", "[index]") {
  auto index = index_of({"read the file", "what to do"});
  CHECK(index.terms("how can you please read this file").words.size() == 2);
  CHECK(index.terms("what to do").words.size() == 3);
}

TEST_CASE("neighbours that tools write as one word are found, and the other way round", "[index]") {
  auto index = index_of({"filesystem access", "websearch", "something else"});
  CHECK(documents(index.rank(index.terms("file system"), 5)) == Documents{0});
  CHECK(documents(index.rank(index.terms("web search"), 5)) == Documents{1});
  auto split = index_of({"web search", "search", "else"});
  CHECK(documents(split.rank(split.terms("webSearch"), 5)) == Documents{0, 1});
}

TEST_CASE("unknown words are replaced by their nearest, within reason", "[index]") {
  auto index = index_of({"create issue", "delete branch"});
  CHECK(documents(index.rank(index.corrected(index.terms("craete isue")), 5)) == Documents{0});
  CHECK(index.corrected(index.terms("xyz")).words.empty());
  const std::string empty = "qqqqa qqqqb qqqqc qqqqd qqqqe qqqqf qqqqg ";
  CHECK(index.corrected(index.terms(empty + "isue")).words.size() == 1);
  CHECK(index.corrected(index.terms(empty + "qqqqh isue")).words.empty());  // the ninth
  CHECK(index.corrected(index.terms("de")).words.empty());
  auto other = index_of({"a large number of things", "no longer"});
  CHECK(other.corrected(other.terms("vulnerability")).words.empty());  // "vulner" is not "number"
  CHECK(documents(other.rank(other.corrected(other.terms("nubmers")), 5)) == Documents{0});
}

TEST_CASE("queries of any size and bytes are answered", "[index]") {
  auto index = index_of({"alpha beta"});
  std::string long_query;
  for (int i = 0; i < 100'000; i++) long_query += "w" + std::to_string(i) + "_x alpha ";
  CHECK(index.terms(long_query).words.size() <= catalog::kMaxQueryWords);
  CHECK(index.terms(std::string(1 << 20, '\xFF')).words.empty());
  CHECK(index.terms(std::string("\0alpha\0", 7)).words.size() == 1);
  CHECK(index.rank(index.terms("alpha"), 0).hits.empty());
  catalog::Index empty = catalog::IndexBuilder().finish();
  CHECK(empty.rank(empty.terms("alpha"), 5).total == 0);
  CHECK(empty.corrected(empty.terms("alpha")).words.empty());
}

TEST_CASE("many words of the highest worth do not overflow into the count", "[index]") {
  catalog::IndexBuilder builder;
  std::string all;
  for (int i = 0; i < 48; i++) all += std::string(1, static_cast<char>('a' + i % 26)) + "q" + std::to_string(i) + " ";
  builder.add({all, all, all, all, all, all});
  for (int i = 0; i < 1000; i++) builder.add({"other", "", "", "", "", ""});
  auto index = std::move(builder).finish();
  auto ranking = index.rank(index.terms(all), 5);
  CHECK(documents(ranking) == Documents{0});
  CHECK(ranking.hits[0].score > 48 * 10'000);
}
