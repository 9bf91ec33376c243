// The reader of folders: what it lists, and what it says of a folder that cannot be read to its end.
#include "supervisor/base/folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <fstream>

#include "supervisor/base/path.h"
#include "tests/catch.h"
#include "tests/failing_reads/failing_folder.h"
#include "tests/temp_directory.h"

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

namespace {

struct SomeFiles {
  TempDirectory temporary;
  std::string path = fs::canonical(temporary.path());
  SomeFiles() {
    for (const char* name : {"b", ".hidden", "c", "a"}) std::ofstream(path + "/" + name) << name;
    fs::create_directory(path + "/inner");
  }
};

}  // namespace

TEST_CASE_METHOD(SomeFiles, "a folder's names come sorted, and without those of every folder", "[folder]") {
  CHECK(read_names(FolderReader::open(path)).value() == Names{".hidden", "a", "b", "c", "inner"});
  const Fd unreadable(::open(path.c_str(), O_PATH | O_CLOEXEC));
  CHECK(read_names(FolderReader::at(unreadable.get(), ".")).value().size() == 5);
  CHECK(read_names(FolderReader::open(path), 5).value().size() == 5);
  const auto over = read_names(FolderReader::open(path), 4);
  REQUIRE_FALSE(over);
  CHECK((over.error().code == Code::exhausted && over.error().err == 0));
  CHECK(has_entries(FolderReader::open(path)).value());
  CHECK_FALSE(has_entries(FolderReader::open(path + "/inner")).value());
}

TEST_CASE_METHOD(SomeFiles, "a folder that is missing, or a file, is an error with its errno", "[folder]") {
  CHECK(read_names(FolderReader::open(path + "/none")).error().err == ENOENT);
  CHECK(read_names(FolderReader::open(path + "/a")).error().err == ENOTDIR);
  CHECK(FolderReader::of(Fd(), "x").error().what.starts_with("cannot list 'x'"));
  CHECK(may_be_folder(path));
  CHECK_FALSE(may_be_folder(path + "/a"));
  CHECK_FALSE(may_be_folder(path + "/none"));
  CHECK_FALSE(may_be_folder(path + "/a/b"));
  CHECK(may_be_folder(path + "/" + std::string(300, 'x')));  // it cannot be looked at
}

TEST_CASE_METHOD(SomeFiles, "a folder that fails halfway is an error, not a shorter folder", "[folder]") {
  const std::string end = fs::path(path).filename();
  for (const int after : {0, 1, 3}) {
    const FailingFolder failing(end, after);
    const auto names = read_names(FolderReader::open(path));
    REQUIRE_FALSE(names);
    CHECK(names.error().err == EIO);
    CHECK(names.error().what == "cannot list '" + path + "': Input/output error");
  }
  const FailingFolder failing(end);
  CHECK(has_entries(FolderReader::open(path)).error().err == EIO);
  CHECK(read_names(FolderReader::open(path + "/inner")).value().empty());
}

TEST_CASE_METHOD(SomeFiles, "a tree whose folder fails is not removed, and says so", "[folder]") {
  std::ofstream(path + "/inner/file") << "x";
  TempDirectory top;
  const Fd parent(::open(fs::path(path).parent_path().c_str(), O_PATH | O_CLOEXEC));
  const RelativePath name = RelativePath::known(fs::path(path).filename().string());
  {
    const FailingFolder failing("/inner");
    CHECK_FALSE(remove_tree_beneath(parent.get(), name));
  }
  CHECK(fs::exists(path + "/inner/file"));
  CHECK(remove_tree_beneath(parent.get(), name));
  CHECK_FALSE(fs::exists(path));
}
