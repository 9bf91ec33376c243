// The index of a workspace against a walk of it: after thousands of random changes they say the same.
#include "supervisor/tenants/index/index_state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <random>
#include <set>

#include "supervisor/tenants/index/changes.h"
#include "tests/supervisor/tenants/scene.h"

namespace fs = std::filesystem;
using tenants::FileStamp;
using tenants::FolderId;
using tenants::IndexState;

namespace {

using Files = std::map<std::string, FileStamp>;

struct Pictured {
  Files files;
  tenants::Usage usage;
};

Pictured by_walk(int directory) {
  Pictured seen;
  tenants::UsageCount count;
  auto walk = tenants::Walk::begin(directory, RelativePath(), {}, tenants::WalkOrder::any).value();
  std::vector<tenants::Entry> all;
  while (!walk.step(1000, all).value()) continue;
  for (const tenants::Entry& entry : all) {
    count.add(entry);
    if (entry.kind != tenants::FileKind::directory) seen.files[entry.path] = FileStamp::of(entry);
  }
  seen.usage = count.usage();
  return seen;
}

Pictured by_index(IndexState& index) {
  Pictured seen;
  index.table().each_file([&](FolderId folder, const std::string& name, const FileStamp& stamp) {
    const std::string path = index.table().path_of(folder);
    seen.files[path.empty() ? name : path + "/" + name] = stamp;
  });
  seen.usage = index.table().usage();
  return seen;
}

bool indexed_has(IndexState& index, const std::string& path) { return by_index(index).files.contains(path); }

std::string displayed(const FileStamp& stamp) {
  return fmt::format("; inode {}, {} names, {} bytes of {}, mtime {}, ctime {}", stamp.inode, stamp.links, stamp.size,
                     stamp.allocated, stamp.mtime_ns, stamp.ctime_ns);
}

// A name that comes and goes changes the ctime of a file, and no event names its other names.
bool same(const FileStamp& a, FileStamp b) {
  b.ctime_ns = a.ctime_ns;
  return a.is_unchanged(b) && a.links == b.links;
}

std::string differences(const Pictured& a, const Pictured& b) {
  std::string text;
  for (const auto& [path, stamp] : a.files) {
    const auto other = b.files.find(path);
    if (other == b.files.end()) {
      text += "only walked: " + path + "\n";
    } else if (!same(other->second, stamp)) {
      text += "differs: " + path + displayed(stamp) + displayed(other->second) + "\n";
    }
  }
  for (const auto& [path, stamp] : b.files)
    if (!a.files.contains(path)) text += "only indexed: " + path + "\n";
  std::map<uint64_t, std::set<uint32_t>> links;
  for (const auto& [path, stamp] : b.files) links[stamp.inode].insert(stamp.links);
  for (const auto& [inode, counts] : links)
    if (counts.size() > 1) text += fmt::format("inode {} has {} numbers of names\n", inode, counts.size());
  if (a.usage.files != b.usage.files)
    text += "files: " + std::to_string(a.usage.files) + " and " + std::to_string(b.usage.files) + "\n";
  if (a.usage.bytes != b.usage.bytes)
    text += "bytes: " + std::to_string(a.usage.bytes) + " and " + std::to_string(b.usage.bytes) + "\n";
  if (a.usage.largest != b.usage.largest)
    text += "largest: " + std::to_string(a.usage.largest) + " and " + std::to_string(b.usage.largest) + "\n";
  return text;
}

struct Indexed {
  TempDirectory temp;
  fs::path top = temp.path() / "workspace", outside = temp.path() / "outside";
  std::shared_ptr<tenants::WatchShares> shares;
  Fd directory;
  std::unique_ptr<IndexState> index;

  explicit Indexed(uint64_t watches = 100'000, uint64_t files = 100'000)
      : shares(std::make_shared<tenants::WatchShares>(watches, watches, 10)) {
    fs::create_directories(top);
    fs::create_directories(outside);
    directory = open_directory(top.string()).value();
    open(files);
  }
  void open(uint64_t files) { index = IndexState::open(directory.get(), shares, {files}).value(); }
  bool inspect(size_t slice = 100'000) {
    index->begin_scan();
    for (int i = 0; i < 1'000'000 && index->unusable().empty(); i++)
      if (index->step(slice)) return true;
    return false;
  }
  void check() {
    REQUIRE(inspect());
    CHECK(differences(by_walk(directory.get()), by_index(*index)) == "");
  }
  tenants::LoggedChanges changes(const tenants::ChangeLog& log) { return index->table().changes(log, 1'000'000); }
};

// Changes a tree at random, in all ways that a program has.
class Hand {
 public:
  Hand(fs::path top, fs::path outside, unsigned seed)
      : top_(std::move(top)), outside_(std::move(outside)), random_(seed) {}

  void change() {
    const fs::path a = any_name(), b = any_name();
    std::error_code ignored;
    switch (below(16)) {
      case 0:
      case 1:
      case 2:
        return write(a, below(9000));
      case 3:
        return void(fs::create_directories(a, ignored));
      case 4:
        return fs::rename(a, b, ignored);
      case 5:
        return void(fs::remove(a, ignored));
      case 6:
        return below(8) == 0 ? void(fs::remove_all(a, ignored)) : void();
      case 7:
        return fs::create_hard_link(a, b, ignored);
      case 8:
        return fs::create_symlink("no/such/file", a, ignored);
      case 9:
        static_cast<void>(::truncate(a.c_str(), below(100'000)) == 0);
        return;
      case 10:
        return map_and_write(a);
      case 11:
        return void(::chmod(a.c_str(), fs::is_directory(fs::symlink_status(a)) ? 0700 : 0600 + below(8)));
      case 12:
        return void(::mkfifo(a.c_str(), 0600));
      case 13:  // a tree at once
        fs::create_directories(a / "t/u", ignored);
        for (int i = 0; i < 5; i++) write(a / "t/u" / std::to_string(i), 1);
        return;
      case 14:  // a folder leaves the workspace, and may come back
        if (!has_links(a)) fs::rename(a, outside_ / std::to_string(below(3)), ignored);
        return;
      default:
        fs::rename(outside_ / std::to_string(below(3)), b, ignored);
    }
  }

 private:
  unsigned below(unsigned limit) { return std::uniform_int_distribution<unsigned>(0, limit - 1)(random_); }
  fs::path any_name() {
    fs::path path = top_;
    for (unsigned depth = below(4); depth > 0; depth--) path /= std::string(1, static_cast<char>('a' + below(3)));
    return path / std::string(1, static_cast<char>('a' + below(5)));
  }
  // Names outside of a workspace, which no jail can make, are not seen when they come.
  static bool has_links(const fs::path& path) {
    if (fs::symlink_status(path).type() != fs::file_type::directory) return true;
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      struct stat info;
      if (::lstat(entry.path().c_str(), &info) == 0 && !S_ISDIR(info.st_mode) && info.st_nlink > 1) return true;
    }
    return false;
  }
  // Never through a link, and never into a FIFO without a reader.
  static void write(const fs::path& path, size_t bytes) {
    const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, 0644));
    if (file) (void)write_all(file.get(), std::string(bytes, 'x'));
  }
  static void map_and_write(const fs::path& path) {
    const Fd file(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK));
    struct stat info;
    if (!file || ::fstat(file.get(), &info) < 0 || !S_ISREG(info.st_mode) || info.st_size == 0) return;
    const auto size = static_cast<size_t>(info.st_size);
    void* bytes = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (bytes == MAP_FAILED) return;
    static_cast<char*>(bytes)[size / 2] ^= 1;
    ::munmap(bytes, size);
  }

  fs::path top_, outside_;
  std::mt19937 random_;
};

}  // namespace

size_t inotify_instances() {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code removed;
    count += fs::read_symlink(entry.path(), removed) == "anon_inode:inotify";
  }
  return count;
}

TEST_CASE("the inotify instance of an index that ended is used again, without its watches and events", "[index]") {
  Indexed indexed;
  fs::create_directories(indexed.top / "folder");
  indexed.check();
  REQUIRE(indexed.shares->claimed() == 2);
  std::ofstream(indexed.top / "folder/changed-later") << "text";
  const size_t instances = inotify_instances();
  indexed.index.reset();
  CHECK(indexed.shares->claimed() == 0);
  CHECK(inotify_instances() == instances);

  Indexed other;
  other.index.reset();
  other.shares = indexed.shares;
  const size_t before = inotify_instances();
  other.open(100);
  CHECK(inotify_instances() == before);
  other.check();
  std::ofstream(indexed.top / "folder/changed-again") << "text";
  std::ofstream(other.top / "file") << "text";
  other.check();
  CHECK(other.index->table().count() == 1);
}

TEST_CASE("an index and a walk say the same after random changes", "[index]") {
  for (const unsigned seed : {1u, 2u, 3u, 4u, 5u, 6u}) {
    Indexed s;
    Hand hand(s.top, s.outside, seed);
    std::mt19937 random(seed);
    for (int round = 0; round < 150; round++) {
      for (unsigned i = random() % 40; i > 0; i--) hand.change();
      INFO("seed " << seed << ", round " << round);
      REQUIRE(s.inspect(1 + random() % 50));
      REQUIRE(differences(by_walk(s.directory.get()), by_index(*s.index)) == "");
    }
  }
}

TEST_CASE("changes while an index looks are seen, in this look or in the next", "[index]") {
  for (const unsigned seed : {11u, 12u, 13u, 14u}) {
    Indexed s;
    Hand hand(s.top, s.outside, seed);
    std::mt19937 random(seed);
    for (int round = 0; round < 100; round++) {
      s.index->begin_scan();
      for (int i = 0; i < 60; i++) {
        hand.change();
        (void)s.index->step(1 + random() % 4);
      }
      INFO("seed " << seed << ", round " << round);
      REQUIRE(s.inspect(1 + random() % 50));
      REQUIRE(differences(by_walk(s.directory.get()), by_index(*s.index)) == "");
    }
  }
}

TEST_CASE("the changes of a log are those between two walks", "[index]") {
  for (const unsigned seed : {21u, 22u, 23u}) {
    Indexed s;
    Hand hand(s.top, s.outside, seed);
    for (int i = 0; i < 200; i++) hand.change();
    for (int round = 0; round < 60; round++) {
      REQUIRE(s.inspect());
      const Files before = by_walk(s.directory.get()).files;
      const auto log = s.index->table().begin_log();
      for (int i = 0; i < 30; i++) {
        hand.change();
        if (i % 7 == 0) REQUIRE(s.inspect());
      }
      REQUIRE(s.inspect());
      const Files after = by_walk(s.directory.get()).files;
      std::set<std::string> created, modified, deleted, maybe;  // maybe: only the ctime differs
      for (const auto& [path, stamp] : after) {
        const auto old = before.find(path);
        if (old == before.end()) created.insert(path);
        if (old != before.end() && !old->second.is_unchanged(stamp)) modified.insert(path);
        if (old != before.end() && same(old->second, stamp) && modified.contains(path)) maybe.insert(path);
      }
      for (const auto& [path, stamp] : before)
        if (!after.contains(path)) deleted.insert(path);
      const auto as_set = [](const tenants::Changes::List& list) {
        return std::set<std::string>(list.paths.begin(), list.paths.end());
      };
      const tenants::Changes changes = s.changes(*log).own;
      INFO("seed " << seed << ", round " << round);
      REQUIRE(as_set(changes.created) == created);
      std::set<std::string> told_modified = as_set(changes.modified);
      for (const std::string& path : maybe) told_modified.erase(path), modified.erase(path);
      REQUIRE(told_modified == modified);
      REQUIRE(as_set(changes.deleted) == deleted);
    }
  }
}

TEST_CASE("after a flood of events an index lists all folders, and says so", "[index]") {
  Indexed s;
  Scene::put(s.top / "flooded", "x");
  Scene::put(s.top / "quiet", "x");
  s.check();
  CHECK(s.index->walked().empty());
  const auto log = s.index->table().begin_log();
  std::ifstream limit("/proc/sys/fs/inotify/max_queued_events");
  int queue = 0;
  REQUIRE(limit >> queue);
  // Two names in turns: the kernel joins equal events that follow each other.
  Scene::put(s.top / "other", "x");
  for (int i = 0; i <= queue; i++) ::chmod((s.top / (i % 2 == 0 ? "flooded" : "other")).c_str(), 0600 + i % 3);
  fs::create_directories(s.top / "late/deep");
  Scene::put(s.top / "late/deep/file", "x");
  fs::remove(s.top / "quiet");
  s.check();
  CHECK_FALSE(s.index->walked().empty());
  const tenants::Changes changes = s.changes(*log).own;
  CHECK(changes.created.paths == std::vector<std::string>{"late/deep/file", "other"});
  CHECK(changes.deleted.paths == std::vector<std::string>{"quiet"});
  s.check();
  CHECK(s.index->walked().empty());
}

TEST_CASE("a look ends although a program never stops to write", "[index]") {
  Indexed s;
  s.check();
  Scene::put(s.top / "before", "x");
  s.index->begin_scan();
  // More events before each step than the step can take.
  int steps = 0;
  bool ended = false;
  for (; !ended && steps < 1000; steps++) {
    for (int i = 0; i < 50; i++) Scene::put(s.top / (std::to_string(steps) + "-" + std::to_string(i)), "x");
    ended = s.index->step(4);
  }
  CHECK(ended);
  CHECK(indexed_has(*s.index, "before"));
  s.check();
}

TEST_CASE("a look with much to do is not for the loop", "[index]") {
  Indexed s;
  for (int i = 0; i < 300; i++) {
    const std::string name = std::to_string(i);
    Scene::put(s.top / name, "x");
    if (i < 200) REQUIRE(::truncate((s.top / name).c_str(), 1 << 20) == 0);
  }
  s.check();
  CHECK(s.index->table().sparse_count() == 200);
  CHECK(s.index->is_large_look(100));
  CHECK_FALSE(s.index->is_large_look(1000));
  // A second name: all files are searched for the first one.
  fs::create_hard_link(s.top / "299", s.top / "linked");
  s.index->begin_scan();
  CHECK_FALSE(s.index->step(100'000, IndexState::On::loop));
  CHECK(s.index->step(100'000));
  s.check();
  // A folder moves with all that is below it.
  fs::create_directories(s.top / "tree");
  for (int i = 0; i < 1000; i++) Scene::put(s.top / "tree" / std::to_string(i), "x");
  s.check();
  fs::rename(s.top / "tree", s.top / "moved");
  s.index->begin_scan();
  CHECK_FALSE(s.index->step(100, IndexState::On::loop));
  s.check();
}

TEST_CASE("without a watch for each folder an index lists all folders each time", "[index]") {
  Indexed s(3);
  for (int i = 0; i < 10; i++) fs::create_directories(s.top / std::to_string(i));
  s.check();
  CHECK_FALSE(s.index->walked().empty());
  CHECK(s.index->watches() == 3);
  for (int i = 0; i < 10; i++) Scene::put(s.top / std::to_string(i) / "new", "x");
  s.check();
  fs::remove_all(s.top / "7");
  fs::rename(s.top / "8", s.top / "9/inner");
  s.check();
  CHECK(s.shares->claimed() <= 3);
  s.index.reset();
  CHECK(s.shares->claimed() == 0);
}

TEST_CASE("what a living program writes through an old mapping is seen", "[index]") {
  Indexed s;
  Scene::put(s.top / "mapped", std::string(4096, 'x'));
  fs::create_directories(s.top / "folder");
  s.check();
  const auto living = std::make_shared<int>(0);
  s.index->set_living(living);
  s.check();
  const auto map = [](const fs::path& path) {
    const Fd file(::open(path.c_str(), O_RDWR));
    return static_cast<char*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0));
  };
  Scene::put(s.top / "folder/later", std::string(4096, 'x'));
  char* first = map(s.top / "mapped");
  char* second = map(s.top / "folder/later");
  s.check();
  const auto log = s.index->table().begin_log();
  next_file_time();
  first[10] = 'y';
  second[10] = 'y';
  s.check();
  CHECK(s.changes(*log).own.modified.paths == std::vector<std::string>{"folder/later", "mapped"});
  ::munmap(first, 4096);
  ::munmap(second, 4096);
}

TEST_CASE("changes of a time with several writers are told apart", "[index]") {
  Indexed s;
  Scene::put(s.top / "both", "x");
  s.check();
  const auto log = s.index->table().begin_log();
  Scene::put(s.top / "mine", "x");
  s.check();
  s.index->table().set_contended(true);
  Scene::put(s.top / "whose", "x");
  Scene::put(s.top / "both", "xy");
  s.check();
  s.index->table().set_contended(false);
  Scene::put(s.top / "mine too", "x");
  ::chmod((s.top / "mine").c_str(), 0600);
  s.check();
  const auto changes = s.changes(*log);
  CHECK(changes.own.created.paths == std::vector<std::string>{"mine", "mine too"});
  CHECK(changes.meanwhile.created.paths == std::vector<std::string>{"whose"});
  CHECK(changes.meanwhile.modified.paths == std::vector<std::string>{"both"});
}

TEST_CASE("a mode and a time that were set are changes", "[index]") {
  Indexed s;
  for (const char* name : {"mode", "time", "same"}) Scene::put(s.top / name, "x");
  s.check();
  const auto log = s.index->table().begin_log();
  next_file_time();
  ::chmod((s.top / "mode").c_str(), 0600);
  fs::last_write_time(s.top / "time", fs::file_time_type::clock::now() - std::chrono::hours(1));
  s.check();
  CHECK(s.changes(*log).own.modified.paths == std::vector<std::string>{"mode", "time"});
}

TEST_CASE("a folder without rights is looked at, and gets the owner's rights back", "[index]") {
  Indexed s;
  fs::create_directories(s.top / "shut");
  Scene::put(s.top / "shut/file", "x");
  ::chmod((s.top / "shut").c_str(), 0);
  s.check();
  Scene::put(s.top / "shut/file", "xy");
  ::chmod((s.top / "shut").c_str(), 0);
  s.check();
}

TEST_CASE("an index gives up, and says why", "[index]") {
  SECTION("more files than its bound") {
    Indexed s(1000, 10);
    for (int i = 0; i < 20; i++) Scene::put(s.top / std::to_string(i), "x");
    CHECK_FALSE(s.inspect());
    CHECK(s.index->unusable() == "it contains more than 10 files");
  }
  SECTION("the workspace itself is moved") {
    Indexed s;
    s.check();
    fs::rename(s.top, s.temp.path() / "moved");
    CHECK_FALSE(s.inspect());
    CHECK_FALSE(s.index->unusable().empty());
  }
  SECTION("a file system that does not tell") {
    const Fd proc = open_directory("/proc/self").value();
    const auto index = IndexState::open(proc.get(), std::make_shared<tenants::WatchShares>(10, 10, 10), {});
    REQUIRE_FALSE(index);
    CHECK(index.error().code == Code::unavailable);
  }
}
