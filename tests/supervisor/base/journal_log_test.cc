#include "supervisor/base/journal_log.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "tests/catch.h"

namespace {

// Stands in for /run/systemd/journal/socket.
class FakeJournal {
 public:
  FakeJournal() {
    char folder[] = "/tmp/warder-journal-XXXXXX";
    REQUIRE(::mkdtemp(folder));
    folder_ = folder;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path().c_str());
    socket_ = Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    REQUIRE(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }
  ~FakeJournal() {
    ::unlink(path().c_str());
    ::rmdir(folder_.c_str());
  }
  std::string path() const { return folder_ + "/socket"; }

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
  std::string folder_;
  Fd socket_;
};

using JournalFields = std::multimap<std::string, std::string>;
constexpr char kId[] = "5d0b1c6f0c3e4e0b9a4e6f5c1d2a7e31";

}  // namespace

TEST_CASE("an entry of the journal has the message, its level and kind, and the fields that have a value", "[log]") {
  FakeJournal journal;
  const JournalSocket socket(journal.path());
  REQUIRE(socket.send(LogLevel::info, kId, "execution e1: ok", {{"WARDER_EXECUTION_ID", "e1"}, {"WARDER_RULE", ""}}));
  CHECK(journal.entry() == JournalFields{{"MESSAGE", "execution e1: ok"},
                                         {"PRIORITY", "6"},
                                         {"SYSLOG_IDENTIFIER", "warderd"},
                                         {"MESSAGE_ID", kId},
                                         {"WARDER_EXECUTION_ID", "e1"}});
}

TEST_CASE("no value of a field can add another field, or grow without bounds", "[log]") {
  FakeJournal journal;
  const JournalSocket socket(journal.path());
  const std::string hostile = "a\nWARDER_OUTCOME=ok\n\0MESSAGE=b";
  REQUIRE(socket.send(LogLevel::info, kId, "two\nlines", {{"WARDER_TENANT", hostile}}));
  auto fields = journal.entry();
  CHECK(fields.count("WARDER_OUTCOME") == 0);
  CHECK(fields.find("WARDER_TENANT")->second == hostile);
  CHECK(fields.find("MESSAGE")->second == "two\nlines");
  REQUIRE(socket.send(LogLevel::info, kId, "long", {{"WARDER_TENANT", std::string(1 << 20, 'x')}}));
  CHECK(journal.entry().find("WARDER_TENANT")->second.size() == 4096);
}

TEST_CASE("a journal that is not there or takes nothing is told at once", "[log]") {
  const JournalSocket nowhere("/nowhere/socket");
  CHECK_FALSE(nowhere.send(LogLevel::info, kId, "lost", {}));
  CHECK_FALSE(JournalSocket(std::string(200, 'x')).send(LogLevel::info, kId, "lost", {}));
  FakeJournal journal;
  const JournalSocket socket(journal.path());
  int sent = 0;
  while (socket.send(LogLevel::info, kId, "unread", {})) REQUIRE(++sent < 1'000'000);
  CHECK(sent > 0);
}

TEST_CASE("the journal's stream is known by device and inode", "[log]") {
  int pair[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  const Fd one(pair[0]), other(pair[1]);
  struct stat status {};
  REQUIRE(::fstat(one.get(), &status) == 0);
  const std::string name = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
  CHECK(is_journal_stream(one.get(), name.c_str()));
  CHECK_FALSE(is_journal_stream(other.get(), name.c_str()));
  CHECK_FALSE(is_journal_stream(one.get(), nullptr));
  CHECK_FALSE(is_journal_stream(one.get(), ""));
}
