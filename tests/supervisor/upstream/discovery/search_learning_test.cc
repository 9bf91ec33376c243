// What searches teach, in files: written beside the requests, read again, and gone when it is forgotten.
#include "supervisor/upstream/discovery/search_learning.h"

#include <fstream>

#include "tests/catalog/library.h"

namespace fs = std::filesystem;
using policies::LearningScope;

namespace {

struct Taught : Library {
  TempDirectory state;
  Loop loop;
  fs::path folder = state.path() / "searches";

  Taught() {
    put("a.json", Json{{"server", "s"}, {"tools", {{{"name", "one"}}, {{"name", "two"}}}}});
    load();
  }
  void teach(discovery::SearchLearning& learning, const std::string& tenant) const {
    learning.searched(tenant, LearningScope::tenant, "quuxify the frobnicator");
    learning.chosen(*produced, tenant, LearningScope::tenant, {"s", "two"});
  }
};

}  // namespace

TEST_CASE("what was learned is written while requests go on, and read again", "[searches]") {
  Taught taught;
  discovery::SearchLearning learning;
  learning.keep_in(taught.folder);
  taught.loop.spawn(learning.keep(taught.loop, std::chrono::milliseconds(1)));
  taught.teach(learning, "acme/build");
  taught.loop.run_until([&] { return fs::exists(taught.folder / "acme~build"); });
  CHECK((fs::status(taught.folder / "acme~build").permissions() & fs::perms::mask) ==
        (fs::perms::owner_read | fs::perms::owner_write));
  learning.write_all();
  discovery::SearchLearning search_learning;
  search_learning.keep_in(taught.folder);
  REQUIRE(search_learning.of("acme/build", LearningScope::tenant) != nullptr);
  CHECK(search_learning.of("acme/build", LearningScope::tenant)->size() == 1);
  CHECK(search_learning.of("other", LearningScope::tenant) == nullptr);
  taught.loop.cancel_all();
}

TEST_CASE("what could not be written is written later", "[searches]") {
  Taught taught;
  std::ofstream(taught.folder) << "in the folder's place";
  discovery::SearchLearning learning;
  learning.keep_in(taught.folder);
  taught.loop.spawn(learning.keep(taught.loop, std::chrono::milliseconds(1)));
  taught.teach(learning, "acme");
  int turns = 0;
  taught.loop.run_until([&] { return turns++ >= 10; });
  fs::remove(taught.folder);
  taught.loop.run_until([&] { return fs::exists(taught.folder / "acme"); });
  learning.write_all();
  taught.loop.cancel_all();
}

TEST_CASE("what is forgotten while it is being written leaves no file", "[searches]") {
  Taught taught;
  for (int turn = 0; turn < 20; turn++) {
    discovery::SearchLearning learning;
    learning.keep_in(taught.folder);
    taught.loop.spawn(learning.keep(taught.loop, std::chrono::milliseconds(1)));
    taught.teach(learning, "acme");
    // The others are written by turns before and after it: somewhere on the way it is forgotten.
    for (int i = 0; i < turn; i++) taught.teach(learning, "tenant" + std::to_string(i));
    int turns = 0;
    taught.loop.run_until([&] { return turns++ >= turn % 5; });
    learning.forget("acme");
    learning.write_all();
    CHECK_FALSE(fs::exists(taught.folder / "acme"));
    CHECK_FALSE(fs::exists(taught.folder / "acme~"));
    taught.loop.cancel_all();
  }
}
