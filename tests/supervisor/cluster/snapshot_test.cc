// Snapshots: what is packed comes out the same, also `tar` reads it; a hostile snapshot is refused.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "supervisor/base/fd.h"
#include "supervisor/base/path.h"
#include "supervisor/cluster/snapshot/packed_file.h"
#include "supervisor/cluster/snapshot/snapshot.h"
#include "supervisor/cluster/snapshot/tar_format.h"
#include "tests/catch.h"
#include "tests/temp_directory.h"

namespace {

namespace fs = std::filesystem;
using namespace cluster;

const StopRequested kNeverStops = [] { return false; };
constexpr UnpackLimits kWide{1 << 30, 10'000, 1 << 29, 5'000};

struct SnapshotScene {
  TempDirectory temporary;
  fs::path folder = std::string(temporary.path());
  fs::path from = folder / "from", to = folder / "to", file = folder / "snapshot";
  SnapshotLabel label{"ada", "reports", "n1", 3, 1'790'000'000'000, "shared", std::string(64, 'a'), {{"n2", "sealed"}}};

  SnapshotScene() {
    fs::create_directories(from / "workspace/a/b");
    fs::create_directories(to);
  }
  static void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

  Result<PackedSnapshot> pack(std::vector<std::string> left_out = {}) const {
    TRY(const Fd source, open_directory(from.string()));
    const Fd created(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    return pack_snapshot(created.get(), {label, "{\"a\":1}\n", source.get(), std::move(left_out)}, kNeverStops);
  }
  Result<UnpackedSnapshot> unpack(const UnpackLimits& limits = kWide) const {
    TRY(const Fd into, open_directory(to.string()));
    const Fd packed(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    return unpack_snapshot(packed.get(), into.get(), limits, kNeverStops);
  }
  // A snapshot of these entries, each with its data.
  void forge(const std::vector<std::pair<TarEntry, std::string>>& entries, const std::string& end = tar_end()) const {
    const Fd created(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    PackedWriter writer(created.get());
    const auto add = [&](const TarEntry& entry, const std::string& data) {
      REQUIRE(writer.add(tar_headers(entry) + data + std::string(tar_padding(data.size()), '\0')));
    };
    const std::string text =
        R"({"format":1,"account":"ada","workspace":"","node":"n1","epoch":1,"made_ms":1,"policy":"","policy_hash":""})";
    add(file_entry("label.json", text.size()), text);
    add(file_entry("records.jsonl", 0), "");
    for (const auto& [entry, data] : entries) add(entry, data);
    REQUIRE(writer.add(end));
    REQUIRE(writer.finish());
  }
  static TarEntry file_entry(const std::string& path, uint64_t size) {
    TarEntry entry;
    entry.path = path;
    entry.mode = 0644;
    entry.size = size;
    return entry;
  }
  static TarEntry entry_of(TarType type, const std::string& path, const std::string& target = {}) {
    TarEntry entry = file_entry(path, 0);
    entry.type = type;
    entry.target = target;
    return entry;
  }
  std::string refusal() const {
    const auto unpacked = unpack();
    return unpacked ? "" : unpacked.error().what;
  }
};

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct stat seen_at(const fs::path& path) {
  struct stat seen {};
  REQUIRE(::lstat(path.c_str(), &seen) == 0);
  return seen;
}

}  // namespace

TEST_CASE("a snapshot keeps files with names, permissions, times, holes and links") {
  const SnapshotScene scene;
  const fs::path of = scene.from / "workspace", at = scene.to / "workspace";
  SnapshotScene::write(of / "a/b/text", "hello");
  SnapshotScene::write(of / "line\nbreak \xff", "odd");
  SnapshotScene::write(of / std::string(200, 'n'), std::string(70'000, 'x'));
  fs::create_hard_link(of / "a/b/text", of / "same");
  fs::create_symlink("../../etc/passwd", of / "link");
  REQUIRE(::mkfifo((of / "fifo").c_str(), 0640) == 0);
  {
    const Fd sparse(::open((of / "sparse").c_str(), O_WRONLY | O_CREAT, 0600));
    REQUIRE(::ftruncate(sparse.get(), 64 << 20) == 0);
    REQUIRE(::pwrite(sparse.get(), "middle", 6, 32 << 20) == 6);
  }
  SnapshotScene::write(of / "locked", "secret");
  fs::create_directory(of / "closed");
  SnapshotScene::write(of / "closed/in", "in");
  const timespec times[2] = {{1'000'000'000, 123'456'789}, {1'000'000'000, 123'456'789}};
  REQUIRE(::utimensat(AT_FDCWD, (of / "a/b/text").c_str(), times, 0) == 0);
  REQUIRE(::utimensat(AT_FDCWD, (of / "a").c_str(), times, 0) == 0);
  REQUIRE(::chmod((of / "locked").c_str(), 0) == 0);
  REQUIRE(::chmod((of / "closed").c_str(), 0) == 0);
  fs::create_directory(scene.from / "staging");
  SnapshotScene::write(scene.from / "staging/not", "not");

  const auto packed = scene.pack({"staging"});
  REQUIRE(packed);
  CHECK((seen_at(of / "locked").st_mode & 07777) == 0);
  CHECK(packed->bytes == fs::file_size(scene.file));
  const auto unpacked = scene.unpack();
  INFO((unpacked ? "" : unpacked.error().what));
  REQUIRE(unpacked);
  CHECK(unpacked->label.account == "ada");
  CHECK(unpacked->label.workspace == "reports");
  CHECK(unpacked->label.epoch == 3);
  CHECK(unpacked->label.vault_keys == scene.label.vault_keys);
  CHECK(unpacked->records == "{\"a\":1}\n");
  CHECK(text_of(at / "a/b/text") == "hello");
  CHECK(text_of(at / "line\nbreak \xff") == "odd");
  CHECK(fs::file_size(at / std::string(200, 'n')) == 70'000);
  CHECK(seen_at(at / "same").st_ino == seen_at(at / "a/b/text").st_ino);
  CHECK(fs::read_symlink(at / "link") == "../../etc/passwd");
  CHECK(S_ISFIFO(seen_at(at / "fifo").st_mode));
  CHECK(fs::file_size(at / "sparse") == 64 << 20);
  CHECK(seen_at(at / "sparse").st_blocks * 512 < 1 << 20);
  CHECK(text_of(at / "sparse").substr(32 << 20, 6) == "middle");
  for (const char* name : {"a/b/text", "a"}) {
    CHECK(seen_at(at / name).st_mtim.tv_sec == 1'000'000'000);
    CHECK(seen_at(at / name).st_mtim.tv_nsec == 123'456'789);
  }
  CHECK((seen_at(at / "locked").st_mode & 07777) == 0);
  CHECK((seen_at(at / "closed").st_mode & 07777) == 0);
  CHECK_FALSE(fs::exists(scene.to / "staging"));
  REQUIRE(::chmod((at / "closed").c_str(), 0700) == 0);
  REQUIRE(::chmod((of / "closed").c_str(), 0700) == 0);
  CHECK(text_of(at / "closed/in") == "in");
  CHECK(std::system(("zstd -dcq " + scene.file.string() + " | tar -tf - > /dev/null").c_str()) == 0);
}

TEST_CASE("a snapshot with bad names is refused") {
  const SnapshotScene scene;
  const auto name = GENERATE(std::string("/etc/x"), std::string("folder/../x"), std::string("folder//x"),
                             std::string("folder/./x"), std::string("folder/"), std::string("other/x"),
                             std::string("folder/a/../../x"), "folder/" + std::string(256, 'n'));
  scene.forge({{SnapshotScene::file_entry(name, 1), "x"}});
  CHECK(scene.refusal().starts_with("the snapshot is refused"));
  CHECK(fs::is_empty(scene.to));
}

TEST_CASE("a snapshot writes through no link, and links to no other file") {
  const SnapshotScene scene;
  scene.forge({{SnapshotScene::entry_of(TarType::link, "folder/out", scene.folder.string()), ""},
               {SnapshotScene::file_entry("folder/out/stolen", 1), "x"}});
  CHECK_FALSE(scene.refusal().empty());
  CHECK_FALSE(fs::exists(scene.folder / "stolen"));
  SnapshotScene second;
  second.forge({{SnapshotScene::entry_of(TarType::hard_link, "folder/own", "folder/../snapshot"), ""}});
  CHECK(second.refusal().find("unknown file") != std::string::npos);
}

TEST_CASE("a snapshot has no devices, nothing twice, and no false sizes") {
  const SnapshotScene scene;
  scene.forge({{SnapshotScene::entry_of(static_cast<TarType>('3'), "folder/device"), ""}});
  CHECK(scene.refusal().find("kind") != std::string::npos);
  scene.forge({{SnapshotScene::file_entry("folder/one", 1), "x"}, {SnapshotScene::file_entry("folder/one", 1), "y"}});
  CHECK_FALSE(scene.refusal().empty());
  TarEntry entry = SnapshotScene::file_entry("folder/sparse", 10);
  entry.is_sparse = true;
  entry.extents = {{5, 10}};
  scene.forge({{entry, "0123456789"}});
  CHECK(scene.refusal().find("behind its end") != std::string::npos);
  scene.forge({{SnapshotScene::file_entry("folder/cut", 100'000), "x"}}, "");
  CHECK(scene.refusal().find("damaged") != std::string::npos);
}

TEST_CASE("a snapshot above a limit is refused before it is written") {
  const SnapshotScene scene;
  scene.forge({{SnapshotScene::entry_of(TarType::folder, "folder/workspace"), ""},
               {SnapshotScene::file_entry("folder/workspace/large", 2000), std::string(2000, 'x')}});
  CHECK(scene.unpack({1 << 20, 100, 1000, 100}).error().rule == "quota");
  CHECK_FALSE(fs::exists(scene.to / "workspace/large"));
  CHECK(scene.unpack({1000, 100, 1 << 20, 100}).error().code == Code::exhausted);
}

TEST_CASE("a byte between two holes counts as the block that it takes") {
  const SnapshotScene scene;
  TarEntry entry = SnapshotScene::file_entry("folder/workspace/bomb", 1000 * 8192);
  entry.is_sparse = true;
  for (uint64_t i = 0; i < 1000; i++) entry.extents.push_back({i * 8192, 1});
  scene.forge({{SnapshotScene::entry_of(TarType::folder, "folder/workspace"), ""}, {entry, std::string(1000, 'x')}});
  UnpackLimits limits = kWide;
  limits.workspace_bytes = 1000 * 4096 - 1;
  const auto refused = scene.unpack(limits);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::exhausted);
  CHECK(refused.error().rule == "quota");
  CHECK_FALSE(fs::exists(scene.to / "workspace/bomb"));
}

TEST_CASE("names and targets of links have a limit of their own") {
  const SnapshotScene scene;
  scene.forge({{SnapshotScene::entry_of(TarType::fifo, "folder/" + std::string(100, 'n')), ""},
               {SnapshotScene::entry_of(TarType::link, "folder/l", std::string(100, 't')), ""}});
  UnpackLimits limits = kWide;
  limits.name_bytes = 200;
  const auto refused = scene.unpack(limits);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("too long names") != std::string::npos);
  CHECK_FALSE(fs::is_symlink(scene.to / "l"));
}

TEST_CASE("the rights of a folder are not given through a link that a program put in its place") {
  const SnapshotScene scene;
  const fs::path outside = scene.folder / "outside";
  fs::create_directory(outside);
  fs::permissions(outside, fs::perms(0711));
  fs::remove_all(scene.from / "workspace");
  for (const char* name : {"one", "two"}) {
    fs::create_directory(scene.from / name);
    fs::permissions(scene.from / name, fs::perms::none);
  }
  int entries = 0;
  // Before the second entry: the mode of the first one is known.
  const StopRequested replaces = [&] {
    if (++entries == 2)
      for (const char* name : {"one", "two"}) {
        fs::remove(scene.from / name);
        fs::create_symlink(outside, scene.from / name);
      }
    return false;
  };
  const auto source = open_directory(scene.from.string()).value();
  const Fd created(::open(scene.file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  CHECK_FALSE(pack_snapshot(created.get(), {scene.label, "", source.get(), {}}, replaces));
  CHECK(entries >= 2);
  CHECK((seen_at(outside).st_mode & 07777) == 0711);
}

TEST_CASE("what is no snapshot is refused") {
  const SnapshotScene scene;
  SnapshotScene::write(scene.file, "no zstd");
  CHECK(scene.refusal().find("damaged") != std::string::npos);
  SnapshotScene::write(scene.file, "");
  CHECK(scene.refusal().find("too early") != std::string::npos);
}
