#include "catalog/words.h"

#include "tests/catch.h"

namespace {

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> all;
  catalog::Word word;
  for (catalog::WordReader reader(text); reader.next(word);)
    all.push_back((word.form == catalog::Word::Form::joined ? "=" : "") + word.text);
  return all;
}

using All = std::vector<std::string>;

// By the book, to compare with.
unsigned slow_distance(const std::string& a, const std::string& b) {
  std::vector<unsigned> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); j++) row[j] = static_cast<unsigned>(j);
  for (size_t i = 1; i <= a.size(); i++) {
    unsigned corner = row[0];
    row[0] = static_cast<unsigned>(i);
    for (size_t j = 1; j <= b.size(); j++) {
      unsigned best = std::min({row[j] + 1, row[j - 1] + 1, corner + (a[i - 1] == b[j - 1] ? 0 : 1)});
      corner = std::exchange(row[j], best);
    }
  }
  return row[b.size()];
}

}  // namespace

TEST_CASE("identifiers are read in parts and joined", "[words]") {
  auto [text, expected] = GENERATE(table<std::string, All>({
      {"create_issue", {"create", "issue", "=createissue"}},
      {"createIssue", {"create", "issue", "=createissue"}},
      {"CreateIssueHTTPServer2", {"create", "issue", "http", "server2", "=createissuehttpserver2"}},
      {"read-only", {"read", "only", "=readonly"}},
      {"github.create_issue", {"github", "create", "issue", "=createissue"}},
      {"s3 base64 oauth2", {"s3", "base64", "oauth2"}},
      {"__init__ _a_ -b-", {"init", "a", "b"}},
      {"Sends an e-mail.", {"sends", "an", "e", "mail", "=email"}},
      {"XMLHttpRequest", {"xml", "http", "request", "=xmlhttprequest"}},
      {"\xC3\x9C"
       "ber gr\xC3\xB6\xC3\x9F"
       "er",
       {"\xC3\x9C"
        "ber",
        "gr\xC3\xB6\xC3\x9F"
        "er"}},
      {"\u706B\u8F66\u7968\u3001\u7968 iPhone\u624B\u673A",
       {"\u706B\u8F66", "\u8F66\u7968", "\u7968", "i", "phone", "=iphone", "\u624B\u673A"}},
      {"it\u2019s \u201Cso\u201D \u2013 100\u20AC", {"it", "s", "so", "100"}},
      {"", {}},
      {"__ -- .,;", {}},
  }));
  CAPTURE(text);
  CHECK(words(text) == expected);
}

TEST_CASE("a run without an end is no word, and costs nothing but time", "[words]") {
  CHECK(words(std::string(100'000, 'x')).empty());
  CHECK(words(std::string(100'000, 'x') + "_tail b") == All{"tail", "b"});
  std::string many;
  for (int i = 0; i < 10'000; i++) many += "aB";
  CHECK(words(many).size() == 10'001);  // "a", "Ba" and so on; too long to join
}

TEST_CASE("stems bring the forms of a word together", "[words]") {
  catalog::Stemmer stemmer;
  CHECK(std::string(stemmer.stem("issues")) == std::string(stemmer.stem("issue")));
  CHECK(std::string(stemmer.stem("searching")) == std::string(stemmer.stem("searches")));
  CHECK(std::string(stemmer.stem("spreadsheet")) != std::string(stemmer.stem("read")));
  CHECK(stemmer.stem("").empty());
}

TEST_CASE("names are folded to letters and digits", "[words]") {
  CHECK(catalog::folded("Create-Issue") == "createissue");
  CHECK(catalog::folded("github.create_issue") == "githubcreateissue");
  CHECK(catalog::folded("._-") == "._-");
}

TEST_CASE("one edit is one letter more, less, other, or two swapped", "[words]") {
  for (const char* near : {"create", "creat", "ceate", "creaate", "crexte", "craete", "rceate", "xreate"}) {
    CAPTURE(near);
    CHECK(catalog::within_one_edit("create", near));
    CHECK(catalog::within_one_edit(near, "create"));
  }
  for (const char* far : {"crea", "raceet", "ecrate2", "creation", ""}) {
    CAPTURE(far);
    CHECK_FALSE(catalog::within_one_edit("create", far));
  }
  CHECK(catalog::within_one_edit("", "a"));
}

TEST_CASE("the edit distance is that of the textbook", "[words]") {
  CHECK(catalog::Spelling("create").distance("craete") == 2);
  CHECK(catalog::Spelling("").distance("abc") == 3);
  CHECK(catalog::Spelling("abc").distance("abc") == 0);
  CHECK(catalog::Spelling(std::string(64, 'a')).distance(std::string(64, 'b')) == 64);
  CHECK(catalog::Spelling(std::string(65, 'a')).distance("a") == 64);  // far away
  unsigned seed = 7;
  auto random = [&](unsigned below) { return (seed = seed * 1664525 + 1013904223) >> 16 % below; };
  for (int i = 0; i < 2000; i++) {
    std::string a, b;
    for (unsigned n = random(3) % 20 + 1; n > 0; n--) a += static_cast<char>('a' + random(5) % 3);
    for (unsigned n = random(3) % 20 + 1; n > 0; n--) b += static_cast<char>('a' + random(5) % 3);
    CAPTURE(a, b);
    REQUIRE(catalog::Spelling(a).distance(b) == slow_distance(a, b));
  }
}
