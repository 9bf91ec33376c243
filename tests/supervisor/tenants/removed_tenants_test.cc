// Removed tenants: their folders through the steps of a removal, and what is none of ours.
#include "supervisor/tenants/removed_tenants.h"

#include <fcntl.h>

#include <filesystem>
#include <fstream>

#include "supervisor/base/fd.h"
#include "tests/catch.h"
#include "tests/temp_directory.h"

using namespace tenants;
namespace fs = std::filesystem;

namespace {

struct Folder {
  TempDirectory slot;
  Fd descriptor{::open(slot.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  void fill(const std::string& name) {
    fs::create_directories(slot.path() / name / "workspace/deep/er");
    std::ofstream(slot.path() / name / "workspace/deep/er/file") << "x";
  }
};

}  // namespace

TEST_CASE("a removed tenant is found again at each step, under its name with dots", "[tenants]") {
  Folder folder;
  folder.fill("acme.v1.5");
  auto removed = set_aside(folder.descriptor.get(), "acme.v1.5", 1234, 56);
  REQUIRE(removed);
  CHECK_FALSE(fs::exists(folder.slot.path() / "acme.v1.5"));
  for (bool in_journal : {true, false}) {
    const auto match = list_removed(folder.descriptor.get());
    REQUIRE(match);
    REQUIRE(match->size() == 1);
    CHECK(match->front().name == "acme.v1.5");
    CHECK(match->front().at_ms == 1234);
    CHECK(match->front().last_row == 56);
    CHECK(match->front().in_journal == in_journal);
    if (in_journal) REQUIRE(leave_journal(folder.descriptor.get(), *removed));
  }
  REQUIRE(delete_files(folder.descriptor.get(), *removed, [] { return false; }));
  CHECK(fs::is_empty(folder.slot.path()));
}

TEST_CASE("a deletion that is stopped leaves a smaller tree, and goes on later", "[tenants]") {
  Folder folder;
  folder.fill("acme");
  for (int i = 0; i < 3'000; i++) std::ofstream(folder.slot.path() / "acme/workspace" / std::to_string(i)) << "x";
  const auto removed = set_aside(folder.descriptor.get(), "acme", 5, 0);
  REQUIRE(removed);
  int looks = 0;
  const auto stopped = delete_files(folder.descriptor.get(), *removed, [&looks] { return ++looks == 3; });
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == Code::unavailable);
  CHECK(list_removed(folder.descriptor.get())->size() == 1);
  REQUIRE(delete_files(folder.descriptor.get(), *removed, [] { return false; }));
  CHECK(fs::is_empty(folder.slot.path()));
}

TEST_CASE("folders that no removal made are left alone", "[tenants]") {
  Folder folder;
  for (const char* name : {"acme", ".removing-acme", ".removing-.5-1", ".removing-acme.x-1", ".removing-acme.5-x",
                           ".removing-acme.5-", ".deleting-a/b", ".removing-acme.-5-1", ".removing-acme.5--1",
                           ".removing-acme.99999999999999999999-1", ".other-acme.5-1", ".removing-Acme.5-1"})
    fs::create_directories(folder.slot.path() / name);
  const auto removed = list_removed(folder.descriptor.get());
  REQUIRE(removed);
  CHECK(removed->empty());
}

TEST_CASE("a link in the place of a tenant is renamed, and what it names stays", "[tenants]") {
  Folder folder;
  TempDirectory other;
  std::ofstream(other.path() / "precious") << "x";
  fs::create_directory_symlink(other.path(), folder.slot.path() / "acme");
  const auto removed = set_aside(folder.descriptor.get(), "acme", 5, 0);
  REQUIRE(removed);
  CHECK_FALSE(delete_files(folder.descriptor.get(), *removed, [] { return false; }));
  CHECK(fs::exists(other.path() / "precious"));
  CHECK_FALSE(set_aside(folder.descriptor.get(), "acme", 6, 0));
}
