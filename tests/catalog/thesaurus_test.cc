// The thesaurus, read from a small WordNet of our own in the format of wndb(5WN), and, where Debian's is installed,
// from that.
#include "catalog/thesaurus.h"

#include <filesystem>
#include <fstream>

#include "catalog/words.h"
#include "tests/catch.h"
#include "tests/temp_directory.h"

namespace {

struct Files {
  TempDirectory folder;
  Files() {
    const std::string car = "00000000 06 n 03 car 0 Auto 0 motor_car 0 001 @ 00000080 n 0000 | four wheels  \n";
    const std::string vehicle = "00000080 06 n 01 vehicle 0 000 | it moves  \n";
    REQUIRE(car.size() == 80);
    put("data.noun", car + vehicle);
    put("index.noun",
        "  1 a licence\nauto n 1 1 @ 1 1 00000000\ncar n 1 1 @ 1 1 00000000\nmotor_car n 1 0 1 0 00000000\n"
        "vehicle n 1 0 1 1 00000080\n");
    put("noun.exc", "caar car\n");
    for (const char* part : {"verb", "adj", "adv"}) {
      put(std::string("data.") + part, "");
      put(std::string("index.") + part, "");
      put(std::string(part) + ".exc", "");
    }
  }
  void put(const std::string& name, const std::string& text) {
    std::ofstream(folder.path() / name, std::ios::binary) << text;
  }
  auto load() const { return catalog::load_thesaurus(folder.path().string()); }
};

std::vector<std::string> related(const catalog::Thesaurus& thesaurus, const char* word) {
  std::vector<std::string> all;
  for (const auto& [stem, kind] : thesaurus.related(word))
    all.push_back((kind == catalog::Thesaurus::Kind::wider ? "wider " : "") + std::string(stem));
  return all;
}

using All = std::vector<std::string>;

}  // namespace

TEST_CASE("synonyms and what is wider are read, and words in their forms", "[thesaurus]") {
  const auto created = Files().load();
  REQUIRE(created);
  const catalog::Thesaurus& words = **created;
  CHECK(words.size() == 3);
  CHECK(related(words, "car") == All{"auto", "wider vehicl"});
  CHECK(related(words, "vehicle").empty());
  CHECK(related(words, "boat").empty());
  CHECK(words.base_form("cars") == "car");
  CHECK(words.base_form("caar") == "car");
  CHECK(words.base_form("motor_car").empty());
  CHECK(words.knows("vehicles"));
  CHECK_FALSE(words.knows("vehicel"));
  CHECK_FALSE(words.knows(""));
}

TEST_CASE("files that are no WordNet are refused, with the place", "[thesaurus]") {
  const auto [name, text] = GENERATE(table<std::string, std::string>({
      {"index.noun", "car n x\n"},
      {"index.noun", "car n 1 1 @ 1 1 tomorrow\n"},
      {"index.noun", "car n 1 1 @ 1 1 00000005\n"},
      {"index.noun", "car n 1 1 @ 1 1 99999999\n"},
      {"index.noun", "car n 1 999999 @ 1 1 00000000\n"},
      {"data.noun", "00000000 06 n zz car 0 000 | x\n"},
      {"data.noun", "00000000 06 n ff car 0 000 | x\n"},
      {"data.noun", "00000000 06 n 01 car 0 001 @ 00000400 n 0000 | x\n"},
      {"data.noun", "00000001 06 n 01 car 0 000 | x\n"},
      {"data.noun", ""},
      {"noun.exc", "cars\n"},
  }));
  CAPTURE(name, text);
  Files files;
  files.put(name, text);
  const auto created = files.load();
  REQUIRE_FALSE(created);
  CHECK(created.error().code == Code::invalid);
  CHECK_THAT(created.error().what, Catch::Contains("noun"));
}

TEST_CASE("only files that do not exist are not found", "[thesaurus]") {
  CHECK(catalog::load_thesaurus("/nowhere").error().code == Code::not_found);
  CHECK(catalog::load_thesaurus("/dev/null").error().code == Code::not_found);  // no folder
  Files files;
  std::filesystem::remove(files.folder.path() / "adj.exc");
  CHECK(files.load().error().code == Code::not_found);
  std::filesystem::create_symlink("adj.exc", files.folder.path() / "adj.exc");  // to itself
  const auto created = files.load();
  REQUIRE_FALSE(created);
  CHECK(created.error().code == Code::unavailable);
  CHECK_THAT(created.error().what, Catch::Contains("adj.exc: Too many levels of symbolic links"));
}

TEST_CASE("Debian's WordNet is read", "[thesaurus]") {
  if (!std::filesystem::exists(catalog::kWordNetFolder)) {
    WARN("wordnet-base is not installed");
    return;
  }
  const auto thesaurus = catalog::load_thesaurus(catalog::kWordNetFolder);
  REQUIRE(thesaurus);
  CHECK((*thesaurus)->size() > 50'000);
  CHECK((*thesaurus)->bytes() < 8'000'000);
  CHECK((*thesaurus)->base_form("bought") == "buy");
  CHECK((*thesaurus)->base_form("planned") == "plan");
  const auto words = related(**thesaurus, "car");
  CHECK(std::find(words.begin(), words.end(), "automobil") != words.end());
}
