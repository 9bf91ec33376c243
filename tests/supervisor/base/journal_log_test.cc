#include "supervisor/base/journal_log.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <map>

#include "supervisor/base/fd.h"
#include "tests/catch.h"

using namespace std::string_literals;

namespace {

// Stands in for systemd's journal: a mount namespace of the calling thread's own, in which /run holds this socket and
// nothing else. Threads that are started meanwhile are in that namespace, too.
class FakeJournal {
 public:
  FakeJournal() {
    before_ = Fd(::open("/proc/thread-self/ns/mnt", O_RDONLY | O_CLOEXEC));
    folder_ = Fd(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    entered_ = ::unshare(CLONE_NEWNS) == 0;
    if (!entered_) return;
    REQUIRE(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
    REQUIRE(::mount("tmpfs", "/run", "tmpfs", 0, nullptr) == 0);
  }
  ~FakeJournal() {
    if (!entered_) return;
    (void)!::setns(before_.get(), CLONE_NEWNS);
    (void)!::fchdir(folder_.get());
  }
  // False without the right to mount: the tests are skipped then.
  bool usable() const {
    if (!entered_) WARN("skipped: only root may make a mount namespace here");
    return entered_;
  }
  void listen() {
    REQUIRE(::mkdir("/run/systemd", 0755) == 0);
    REQUIRE(::mkdir("/run/systemd/journal", 0755) == 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, "/run/systemd/journal/socket");
    socket_ = Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }

  // The fields of the next entry; those of a wrong form fail the test.
  std::multimap<std::string, std::string> entry() {
    std::string all(1 << 20, '\0');
    const ssize_t got = ::recv(socket_.get(), all.data(), all.size(), 0);
    REQUIRE(got > 0);
    all.resize(static_cast<size_t>(got));
    std::multimap<std::string, std::string> fields;
    for (size_t at = 0; at < all.size();) {
      const size_t end = all.find('\n', at);
      REQUIRE(end != all.npos);
      const size_t equals = all.find('=', at);
      if (equals < end) {
        fields.emplace(all.substr(at, equals - at), all.substr(equals + 1, end - equals - 1));
        at = end + 1;
        continue;
      }
      REQUIRE(end + 9 <= all.size());
      uint64_t size = 0;
      for (size_t i = 0; i < 8; i++) size |= uint64_t{static_cast<unsigned char>(all[end + 1 + i])} << (8 * i);
      REQUIRE(size < all.size() - end - 9);
      REQUIRE(all[end + 9 + size] == '\n');
      fields.emplace(all.substr(at, end - at), all.substr(end + 9, size));
      at = end + 10 + size;
    }
    return fields;
  }

 private:
  Fd before_, folder_, socket_;
  bool entered_ = false;
};

// What log_line() writes to standard error while this object exists.
class CapturedErrors {
 public:
  CapturedErrors() : file_(::memfd_create("errors", MFD_CLOEXEC)), before_(::dup(STDERR_FILENO)) {
    REQUIRE(::dup2(file_.get(), STDERR_FILENO) == STDERR_FILENO);
  }
  ~CapturedErrors() { (void)::dup2(before_.get(), STDERR_FILENO); }
  std::string text() const {
    std::string all(1 << 16, '\0');
    const ssize_t got = ::pread(file_.get(), all.data(), all.size(), 0);
    all.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return all;
  }

 private:
  Fd file_, before_;
};

using JournalFields = std::multimap<std::string, std::string>;
constexpr char kId[] = "5d0b1c6f0c3e4e0b9a4e6f5c1d2a7e31";

}  // namespace

TEST_CASE("an entry of the journal has the message, its level and kind, and the fields that have a value", "[log]") {
  FakeJournal journal;
  if (!journal.usable()) return;
  journal.listen();
  JournalWriter writer;
  REQUIRE(writer.send(LogLevel::info, kId, "execution e1: ok", {{"WARDER_EXECUTION_ID", "e1"}, {"WARDER_RULE", ""}}));
  CHECK(journal.entry() == JournalFields{{"MESSAGE", "execution e1: ok"},
                                         {"PRIORITY", "6"},
                                         {"SYSLOG_IDENTIFIER", "warderd"},
                                         {"MESSAGE_ID", kId},
                                         {"WARDER_EXECUTION_ID", "e1"}});
}

TEST_CASE("no value of a field can add another field, or grow without bounds", "[log]") {
  FakeJournal journal;
  if (!journal.usable()) return;
  journal.listen();
  JournalWriter writer;
  const std::string hostile = "a\nWARDER_OUTCOME=ok\n\0MESSAGE=b"s;
  REQUIRE(writer.send(LogLevel::info, kId, "two\nlines", {{"WARDER_TENANT", hostile}}));
  auto fields = journal.entry();
  CHECK(fields.count("WARDER_OUTCOME") == 0);
  CHECK(fields.find("WARDER_TENANT")->second == hostile);
  CHECK(fields.find("MESSAGE")->second == "two\nlines");
  REQUIRE(writer.send(LogLevel::info, kId, "long", {{"WARDER_TENANT", std::string(1 << 20, 'x')}}));
  CHECK(journal.entry().find("WARDER_TENANT")->second.size() == JournalWriter::kMaxValue);
}

TEST_CASE("entries come in the order in which they were sent, also the last ones of a daemon", "[log]") {
  FakeJournal journal;
  if (!journal.usable()) return;
  journal.listen();
  {
    JournalWriter writer;
    for (int i = 0; i < 5; i++) REQUIRE(writer.send(LogLevel::info, kId, std::to_string(i), {}));
  }
  for (int i = 0; i < 5; i++) CHECK(journal.entry().find("MESSAGE")->second == std::to_string(i));
}

TEST_CASE("a line that finds no journal goes to standard error", "[log]") {
  FakeJournal journal;
  if (!journal.usable()) return;
  CapturedErrors errors;
  {
    JournalWriter writer;
    REQUIRE(writer.send(LogLevel::warning, kId, "no journal takes this", {}));
  }
  CHECK(errors.text().find("no journal takes this\n") != std::string::npos);
}

TEST_CASE("a journal that takes nothing makes nobody wait, and a bounded number of entries", "[log]") {
  FakeJournal journal;
  if (!journal.usable()) return;
  journal.listen();
  JournalWriter writer;
  size_t sent = 0;
  while (writer.send(LogLevel::info, kId, "unread", {})) REQUIRE(++sent < 1'000'000);
  CHECK(sent >= JournalWriter::kMaxWaiting);
  // The journal reads again: all of these entries arrive, and then a later one.
  for (size_t i = 0; i < sent; i++) CHECK(journal.entry().find("MESSAGE")->second == "unread");
  REQUIRE(writer.send(LogLevel::info, kId, "later", {}));
  CHECK(journal.entry().find("MESSAGE")->second == "later");
}

TEST_CASE("the journal's stream is known by device and inode", "[log]") {
  int pair[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  const Fd item(pair[0]), other(pair[1]);
  struct stat status {};
  REQUIRE(::fstat(item.get(), &status) == 0);
  const std::string name = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
  CHECK(is_journal_stream(item.get(), name.c_str()));
  CHECK_FALSE(is_journal_stream(other.get(), name.c_str()));
  CHECK_FALSE(is_journal_stream(item.get(), nullptr));
  CHECK_FALSE(is_journal_stream(item.get(), ""));
}
