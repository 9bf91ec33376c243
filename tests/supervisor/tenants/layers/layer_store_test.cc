#include "supervisor/tenants/layers/layer_store.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "supervisor/tenants/layers/layer_lookup.h"
#include "supervisor/tenants/layers/tree_scan.h"
#include "tests/catch.h"

namespace fs = std::filesystem;
using layers::CheckDepth;
using layers::LayerStore;

namespace {

// A store, and a tree as an unpacked package leaves it.
struct Folders {
  std::string top = "/tmp/warder-test-layers-XXXXXX";
  std::string store, tree;
  Folders() {
    REQUIRE(::mkdtemp(top.data()));
    store = top + "/layers";
    tree = top + "/tree";
    fs::create_directory(tree);
  }
  ~Folders() { fs::remove_all(top); }
  // A module that no machine has.
  void write(const std::string& name, const std::string& text) const {
    const fs::path path = tree + "/lib/python3/dist-packages/" + name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  Result<layers::NamedLayer> add(const std::string& name) const {
    auto opened = LayerStore::open_to_change(store);
    REQUIRE(opened);
    const Fd source(::open(tree.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    layers::NamedLayer layer;
    layer.name = name;
    layer.python = "3.11";
    return opened->add(layer, source.get());
  }
  std::string refusal() const {
    const auto added = add("hostile");
    CHECK_FALSE(LayerStore::open(store)->find("hostile"));
    CHECK(std::distance(fs::directory_iterator(store), fs::directory_iterator()) == 0);
    return added ? "" : added.error().what;
  }
};

size_t versions_in(const std::string& store) {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(store)) count += entry.path().filename().string().size() == 64;
  return count;
}

}  // namespace

TEST_CASE("the same tree has the same hash, whatever its order, owners, times and modes") {
  const Folders one, other;
  one.write("warder_test_a.py", "a = 1\n");
  one.write("warder_test_b/__init__.py", "");
  const auto first = one.add("data");
  REQUIRE(first);
  other.write("warder_test_b/__init__.py", "");
  other.write("warder_test_a.py", "a = 1\n");
  const std::string file = other.tree + "/lib/python3/dist-packages/warder_test_a.py";
  const timespec times[2] = {{1, 0}, {1, 0}};
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
  REQUIRE(::chmod(file.c_str(), 0600) == 0);
  const auto second = other.add("other-name");
  REQUIRE(second);
  CHECK(first->hash == second->hash);
  CHECK(first->offers.python == std::vector<std::string>{"warder_test_a", "warder_test_b"});
  CHECK(first->files == 6);
  CHECK(first->bytes == 6);
  other.write("warder_test_a.py", "a = 2\n");
  CHECK(other.add("other-name")->hash != first->hash);
  CHECK(versions_in(other.store) == 1);  // the former version had no other name
  struct stat status {};
  REQUIRE(::stat((one.store + "/" + first->hash + "/tree/lib/python3/dist-packages/warder_test_a.py").c_str(),
                 &status) == 0);
  CHECK((status.st_mode & 07777) == 0644);
  CHECK(status.st_mtime == 315'532'800);
}

TEST_CASE("a store lists, finds and removes") {
  const Folders folders;
  CHECK(LayerStore::open(folders.store).error().code == Code::not_found);
  fs::create_directory(folders.store);
  CHECK(LayerStore::open(folders.store)->list()->empty());
  folders.write("warder_test_a.py", "a = 1\n");
  const auto added = folders.add("data");
  REQUIRE(added);
  REQUIRE(folders.add("same"));
  auto store = LayerStore::open_to_change(folders.store);
  REQUIRE(store);
  REQUIRE(store->list()->size() == 2);
  CHECK(store->list()->front().name == "data");
  CHECK(store->find("data")->hash == added->hash);
  CHECK(store->find("none").error().code == Code::not_found);
  CHECK(store->find("../data").error().code == Code::invalid);
  CHECK(versions_in(folders.store) == 1);
  REQUIRE(store->remove("same"));
  CHECK(versions_in(folders.store) == 1);
  {
    const auto reserved = store->hold(added->hash);
    REQUIRE(reserved);
    const auto refused = store->remove("data");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().what.find("in use") != std::string::npos);
    CHECK(store->find("data"));
  }
  REQUIRE(store->remove("data"));
  CHECK(versions_in(folders.store) == 0);
  CHECK(store->list()->empty());
}

TEST_CASE("a layer in use stays on disk when its name gets a new version") {
  const Folders folders;
  folders.write("warder_test_a.py", "a = 1\n");
  const auto former = folders.add("data");
  REQUIRE(former);
  auto reserved = LayerStore::open(folders.store)->hold(former->hash);
  REQUIRE(reserved);
  folders.write("warder_test_a.py", "a = 2\n");
  REQUIRE(folders.add("data"));
  CHECK(versions_in(folders.store) == 2);
  reserved->reset();
  folders.write("warder_test_a.py", "a = 3\n");
  REQUIRE(folders.add("data"));
  CHECK(versions_in(folders.store) == 1);
}

TEST_CASE("a changed layer is noticed, and the file is named") {
  const Folders folders;
  folders.write("warder_test_a.py", "a = 1\n");
  folders.write("warder_test_b.py", "b = 1\n");
  const auto added = folders.add("data");
  REQUIRE(added);
  const auto store = LayerStore::open(folders.store);
  REQUIRE(store->check(added->hash, CheckDepth::quick));
  REQUIRE(store->check(added->hash, CheckDepth::full));
  const std::string version = folders.store + "/" + added->hash, slot = version + "/tree/lib/python3/dist-packages/";
  const auto match = [&](const char* kind) {
    for (const CheckDepth depth : {CheckDepth::quick, CheckDepth::full}) {
      const auto checked = store->check(added->hash, depth);
      REQUIRE_FALSE(checked);
      CAPTURE(checked.error().what);
      CHECK(checked.error().what.find(kind) != std::string::npos);
      CHECK(!checked.error().hint.empty());
    }
  };
  SECTION("another byte, and the same size and time") {
    std::ofstream(slot + "warder_test_a.py") << "a = 7\n";
    const timespec times[2] = {{315'532'800, 0}, {315'532'800, 0}};
    REQUIRE(::utimensat(AT_FDCWD, (slot + "warder_test_a.py").c_str(), times, 0) == 0);
    match("warder_test_a.py' was changed");
  }
  SECTION("an added file") {
    std::ofstream(slot + "warder_test_c.py") << "";
    ::chmod((slot + "warder_test_c.py").c_str(), 0644);
    match("warder_test_c.py' was added");
  }
  SECTION("a removed file") {
    fs::remove(slot + "warder_test_b.py");
    match("warder_test_b.py' is missing");
  }
  SECTION("a link in the place of a file") {
    fs::remove(slot + "warder_test_b.py");
    fs::create_symlink("/etc/passwd", slot + "warder_test_b.py");
    match("leads out");
  }
  SECTION("a set-id mode") {
    ::chmod((slot + "warder_test_b.py").c_str(), 04755);
    match("set-user-id");
  }
  SECTION("a changed manifest") {
    std::ofstream(version + "/manifest.json", std::ios::app) << "\n";
    std::ofstream(version + "/fingerprint") << "";
    match("manifest was changed");
  }
  SECTION("other inode numbers alone are no change") {
    fs::rename(slot + "warder_test_a.py", slot + "x");
    fs::copy_file(slot + "x", slot + "warder_test_a.py");
    fs::remove(slot + "x");
    CHECK(store->check(added->hash, CheckDepth::quick));

    const auto fingerprint = [&] {
      std::stringstream text;
      text << std::ifstream(version + "/fingerprint").rdbuf();
      return text.str();
    };
    const std::string before = fingerprint();
    REQUIRE(folders.add("data"));  // the next build writes the fingerprint of the files that are there
    const Fd tree(::open((version + "/tree").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    CHECK(fingerprint() == *layers::fingerprint_of(tree.get()));
    CHECK(fingerprint() != before);
  }
}

TEST_CASE("hostile trees are refused, and nothing of them stays") {
  const Folders folders;
  const std::string location = folders.tree + "/lib/python3/dist-packages/";
  folders.write("warder_test_a.py", "a = 1\n");
  SECTION("a link out") {
    fs::create_symlink("/etc/shadow", location + "link");
    CHECK(folders.refusal().find("link' is refused") != std::string::npos);
  }
  SECTION("a folder that is a link") {
    fs::create_directory_symlink("/", folders.tree + "/share");
    CHECK(folders.refusal().find("'share' is refused") != std::string::npos);
  }
  SECTION("set-id modes") {
    ::chmod((location + "warder_test_a.py").c_str(), 04755);
    CHECK(folders.refusal().find("warder_test_a.py' is refused") != std::string::npos);
  }
  SECTION("a FIFO") {
    REQUIRE(::mkfifo((location + "pipe").c_str(), 0644) == 0);
    CHECK(folders.refusal().find("pipe' is refused") != std::string::npos);
  }
  SECTION("a file that runs at every start") {
    folders.write("x.pth", "import os\n");
    CHECK(folders.refusal().find("x.pth' is refused") != std::string::npos);
  }
  SECTION("deep folders") {
    std::string path = "lib";
    for (int i = 0; i < 40; i++) path += "/d";
    fs::create_directories(folders.tree + "/" + path);
    CHECK(folders.refusal().find("nested deeper") != std::string::npos);
  }
  SECTION("a large file with a hole") {
    std::ofstream(location + "bomb").flush();
    REQUIRE(::truncate((location + "bomb").c_str(), 5ll << 30) == 0);
    CHECK(folders.refusal().find("at most 4 GiB") != std::string::npos);
  }
  SECTION("a file of /usr") {
    fs::create_directories(folders.tree + "/bin");
    std::ofstream(folders.tree + "/bin/env") << "";
    CHECK(folders.refusal().find("'bin/env' is refused: /usr has a file of this name") != std::string::npos);
  }
  SECTION("nothing") {
    fs::remove_all(folders.tree + "/lib");
    CHECK(folders.refusal().find("no file") != std::string::npos);
  }
}
