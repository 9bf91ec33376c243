// The disk's side of moves: a workspace comes whole, with a vault of another key, and what a killed daemon left is
// found.
#include "supervisor/cluster/moves/move_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "supervisor/base/path.h"
#include "supervisor/tenants/vault_log.h"
#include "tests/catch.h"
#include "tests/temp_directory.h"

namespace {

namespace fs = std::filesystem;
using moves::ArrivedHome, moves::MoveFiles;
using tenants::TenantId;

const MoveFiles::Stop kNeverStop = [] { return false; };

tenants::VaultKeys::Key key_of(unsigned char byte) {
  tenants::VaultKeys::Key key;
  key.fill(byte);
  return key;
}

std::string contents_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The folders of all tenants on two machines.
struct TwoMachines {
  TempDirectory temporary;
  fs::path root = std::string(temporary.path()), here = root / "here", there = root / "there";
  Fd here_folder, there_folder;
  TenantId id{"ada", "reports"};
  fs::path from = here / "ada/workspaces/reports", to = there / "ada/workspaces/reports";

  TwoMachines() {
    fs::create_directories(from / "workspace");
    fs::create_directories(from / "staging/x");
    fs::create_directories(there);
    std::ofstream(from / "workspace/text") << "hello";
    std::ofstream(from / "used") << "0 0\n";
    here_folder = open_directory(here.string()).value();
    there_folder = open_directory(there.string()).value();
  }
  MoveFiles source() const { return MoveFiles(here_folder.get()); }
  MoveFiles target() const { return MoveFiles(there_folder.get()); }

  moves::PackedHome pack(const std::string& records = "") const {
    auto packed = source().pack(id, {id.account, id.workspace, "n1", 3, 1, "p", "h"}, records, "", "", kNeverStop);
    REQUIRE(packed);
    return *std::move(packed);
  }
  MoveFiles::Staging staging(const moves::PackedHome& packed) const {
    MoveFiles::Staging staging;
    staging.push = {"n1", id, 3, "p", std::string(64, 'a')};
    staging.sha256 = packed.about.sha256;
    staging.limits = {1 << 30, 1000, 1 << 20, 100};
    staging.from_seal = key_of(1);
    staging.own_seal = key_of(2);
    staging.has_vault = true;
    return staging;
  }
  MoveFiles::Arriving receive(const moves::PackedHome& packed) const {
    auto arriving = target().begin_arriving();
    REQUIRE(arriving);
    std::string bytes(packed.about.bytes, '\0');
    REQUIRE(::pread(packed.file->get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
    REQUIRE(MoveFiles::add(*arriving, bytes));
    return *std::move(arriving);
  }
};

}  // namespace

TEST_CASE_METHOD(TwoMachines, "a workspace comes whole, and is placed once it is complete", "[cluster]") {
  fs::create_directories(from / "executions/both");
  std::ofstream(from / "executions/both/stdout") << "came";
  const auto packed = pack("{}\n");
  const auto arriving = receive(packed);
  CHECK(target().begin()->arrived.empty());  // a daemon that was killed here has nothing to complete
  const auto retry = receive(packed);
  REQUIRE(target().stage(retry, staging(packed), kNeverStop));
  CHECK_FALSE(fs::exists(to / "workspace"));
  const auto it = target().begin();
  REQUIRE(it);
  REQUIRE(it->arrived.size() == 1);
  const ArrivedHome& arrived = it->arrived.front();
  CHECK(arrived.push.id == id);
  CHECK(arrived.push.epoch == 3);
  CHECK_FALSE(arrived.is_restored);
  fs::create_directories(to / "workspace");
  std::ofstream(to / "workspace/old") << "of an earlier time as a home";
  fs::create_directories(to / "executions/both");
  fs::create_directories(to / "executions/only-here");
  std::ofstream(to / "executions/only-here/stdout") << "here";
  const auto records = target().install(arrived);
  REQUIRE(records);
  CHECK(*records == "{}\n");
  CHECK(contents_of(to / "workspace/text") == "hello");
  CHECK(contents_of(to / "used") == "0 0\n");
  CHECK_FALSE(fs::exists(to / "workspace/old"));
  CHECK_FALSE(fs::exists(to / "staging"));
  CHECK(contents_of(to / "executions/both/stdout") == "came");
  CHECK(contents_of(to / "executions/only-here/stdout") == "here");
  std::ofstream(to / "workspace/new") << "after";
  CHECK(target().install(arrived));  // again, as after a crash before it was noted
  CHECK(contents_of(to / "workspace/new") == "after");
  const auto trash = target().give_up(arrived.folder);
  REQUIRE(trash);
  REQUIRE(target().empty_trash(*trash, kNeverStop));
  CHECK(target().begin()->arrived.empty());
}

TEST_CASE_METHOD(TwoMachines, "a vault is sealed anew; its texts stay", "[cluster]") {
  tenants::VaultRecords records;
  records.add("<EMAIL_1>", "ada@example.org", std::chrono::sys_seconds(std::chrono::seconds(4'000'000'000)));
  const auto folder = open_directory(from.string()).value();
  const auto none = [](std::string_view, std::string_view, std::chrono::sys_seconds) {};
  REQUIRE(tenants::VaultLog::open(folder.get(), key_of(1), none).value()->rewrite(records));
  const auto packed = pack();
  CHECK(packed.has_vault);
  auto wrong = staging(packed);
  wrong.from_seal = key_of(7);
  CHECK(target().stage(receive(packed), wrong, kNeverStop).error().code == Code::denied);
  wrong.has_vault = false;
  CHECK_FALSE(target().stage(receive(packed), wrong, kNeverStop));
  REQUIRE(target().stage(receive(packed), staging(packed), kNeverStop));
  REQUIRE(target().install(target().begin()->arrived.front()));
  std::string match;
  const auto there_now = open_directory(to.string()).value();
  const auto take = [&match](std::string_view token, std::string_view text, std::chrono::sys_seconds) {
    match = std::string(token) + "=" + std::string(text);
  };
  REQUIRE(tenants::VaultLog::open(there_now.get(), key_of(2), take));
  CHECK(match == "<EMAIL_1>=ada@example.org");
}

TEST_CASE_METHOD(TwoMachines, "what is damaged, too large or of another workspace is refused", "[cluster]") {
  const auto packed = pack();
  auto other = staging(packed);
  other.sha256 = std::string(64, '0');
  CHECK(target().stage(receive(packed), other, kNeverStop).error().what.find("another digest") != std::string::npos);
  other = staging(packed);
  other.push.id.workspace = "other";
  CHECK(target().stage(receive(packed), other, kNeverStop).error().what.find("another workspace") != std::string::npos);
  other = staging(packed);
  other.limits.workspace_bytes = 2;
  CHECK(target().stage(receive(packed), other, kNeverStop).error().rule == "quota");
  CHECK(target().begin()->arrived.empty());
}

TEST_CASE_METHOD(TwoMachines, "a snapshot has no part of one machine", "[cluster]") {
  const auto* name = GENERATE("unfinished", "staging", "workspaces", ".hidden");
  fs::create_directories(from / "workspace/x");
  fs::create_directories(root / "forged" / name);
  const auto folder = open_directory((root / "forged").string()).value();
  const Fd file(::open((root / "snapshot").c_str(), O_RDWR | O_CREAT, 0600));
  const auto created =
      cluster::pack_snapshot(file.get(), {{"ada", "reports", "n1", 3, 1, "", ""}, "", folder.get(), {}}, kNeverStop);
  REQUIRE(created);
  const moves::PackedHome packed{std::make_shared<Fd>(::dup(file.get())), *created, false};
  CHECK(target().stage(receive(packed), staging(packed), kNeverStop).error().what.find("at its top") !=
        std::string::npos);
}

TEST_CASE_METHOD(TwoMachines, "a workspace leaves: its mark is found again, and its folder is set aside", "[cluster]") {
  const auto leaving = source().mark_leaving(id, 5);
  REQUIRE(leaving);
  auto it = source().begin();
  REQUIRE(it->leaving.size() == 1);
  CHECK(it->leaving.front().id == id);
  CHECK(it->leaving.front().epoch == 5);
  const auto trash = source().set_aside(id);
  REQUIRE(trash);
  CHECK_FALSE(fs::exists(from));
  CHECK(fs::exists(here / ".moves" / *trash / "workspace/workspace/text"));
  REQUIRE(source().unmark_leaving(*leaving));
  it = source().begin();
  CHECK(it->leaving.empty());
  CHECK(it->trash == std::vector<std::string>{*trash});
  REQUIRE(source().empty_trash(*trash, kNeverStop));
  CHECK(source().begin()->trash.empty());
}

TEST_CASE_METHOD(TwoMachines, "an account's own workspace leaves without its named workspaces", "[cluster]") {
  id.workspace.clear();
  fs::create_directories(here / "ada/workspace");
  std::ofstream(here / "ada/workspace/own") << "own";
  fs::permissions(here / "ada/workspace", fs::perms::owner_read | fs::perms::owner_exec);
  const auto packed = pack();
  CHECK(packed.about.entries == 2);
  REQUIRE(source().set_aside(id));
  CHECK_FALSE(fs::exists(here / "ada/workspace"));
  CHECK(contents_of(from / "workspace/text") == "hello");
}

TEST_CASE_METHOD(TwoMachines, "each kind of data of a workspace counts, and its kept output does not", "[cluster]") {
  using Contents = std::vector<std::string>;
  CHECK(source().contents(id) == Contents{"files", "proposals"});
  CHECK(target().contents(id) == Contents{});
  CHECK_FALSE(fs::exists(there / "ada"));  // looking makes no folder
  fs::create_directories(to / "executions/e1");
  fs::create_directories(to / "unfinished/new");
  using Row = std::pair<const char*, const char*>;
  const auto [folder, what] =
      GENERATE(Row{"workspace", "files"}, Row{"staging", "proposals"}, Row{"sessions", "sessions or their logs"},
               Row{"skills", "skills"}, Row{"vault", "personal data behind tokens"});
  fs::create_directories(to / folder / "one");
  CHECK(target().contents(id) == Contents{what});
  id.workspace.clear();
  CHECK(target().contents(id) == Contents{});  // of the account; its named workspaces are others
}

TEST_CASE_METHOD(TwoMachines, "a parked file names its workspace, and no other file is one", "[cluster]") {
  const auto parked =
      source().pack(id, {id.account, id.workspace, "n1", 3, 77, "p", "h"}, "", root.string(), "file", kNeverStop);
  REQUIRE(parked);
  const auto real = fs::canonical(root / "file").string();
  const auto opened = target().open_parked(real);
  REQUIRE(opened);
  CHECK(opened->label.workspace == "reports");
  CHECK(opened->label.created_ms == 77);
  std::ofstream(root / "other") << "other";
  CHECK_FALSE(target().open_parked(fs::canonical(root / "other").string()));
  CHECK_FALSE(target().open_parked(fs::canonical(here).string()));
  CHECK_FALSE(source().pack(id, {}, "", root.string(), "file", kNeverStop));  // it is not replaced
}
