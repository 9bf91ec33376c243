#include "supervisor/protocol/http/resolver.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>

#include "tests/catch.h"

using namespace std::chrono_literals;

namespace {

using Addresses = std::vector<std::string>;
using AddressAnswer = Result<Addresses>;

// A name server on loopback. Names that begin with "silent" get no answer, "lame" garbage, "none" the answer that there
// is no such name, "many" sixteen addresses; "half" no answer about IPv6; "six" has an IPv6 address, too; all other
// names have 192.0.2.1.
class NameServer {
 public:
  explicit NameServer(Loop& loop) : tasks_(loop) {
    Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    slot = fmt::format("127.0.0.1:{}", ntohs(address.sin_port));
    socket_ = *AsyncFd::adopt(loop, std::move(socket));
    tasks_.spawn(serve());
  }
  std::string slot;
  int requested = 0;

 private:
  Task<> serve() {
    for (;;) {
      char query[512];
      sockaddr_in from{};
      socklen_t size = sizeof from;
      const ssize_t got = ::recvfrom(socket_.get(), query, sizeof query, 0, reinterpret_cast<sockaddr*>(&from), &size);
      if (got < 0) {
        co_await socket_.readable();
        continue;
      }
      requested++;
      const std::string answer = answer_to(std::string(query, static_cast<size_t>(got)));
      if (!answer.empty())
        (void)::sendto(socket_.get(), answer.data(), answer.size(), 0, reinterpret_cast<sockaddr*>(&from), size);
    }
  }
  // RFC 1035, section 4.
  static std::string answer_to(const std::string& query) {
    const size_t end_of_name = query.find('\0', 12);
    REQUIRE(end_of_name + 5 <= query.size());
    const std::string question = query.substr(12, end_of_name + 5 - 12);
    const std::string_view name = std::string_view(question).substr(1);
    const char type = question[question.size() - 3];  // 1: A, 28: AAAA
    if (name.starts_with("silent") || (name.starts_with("half") && type == 28)) return {};
    if (name.starts_with("lame")) return query.substr(0, 2) + std::string(40, '\xC0');
    const bool none = name.starts_with("none");
    std::string records;
    char count = 0;
    if (!none && type == 1) {
      const int max = name.starts_with("many") ? 16 : 1;
      for (int i = 1; i <= max; i++, count++)
        records += std::string("\xC0\x0C\0\1\0\1\0\0\0\x3C\0\4", 12) + "\xC0" + std::string("\0\2", 2) +
                   std::string(1, static_cast<char>(i));
    }
    if (name.starts_with("six") && type == 28) {
      count++;
      records +=
          std::string("\xC0\x0C\0\x1C\0\1\0\0\0\x3C\0\x10", 12) + "\x20\1\x0D\xB8" + std::string(11, '\0') + "\1";
    }
    const std::string flags = none ? "\x81\x83" : std::string("\x81\x80", 2);
    return query.substr(0, 2) + flags + std::string("\0\1\0", 3) + count + std::string(4, '\0') + question + records;
  }
  AsyncFd socket_;
  Scope tasks_;
};

struct ResolverFixture {
  Loop loop;
  NameServer server{loop};

  AddressAnswer find(const std::string& host, std::chrono::milliseconds limit = 20s) {
    AddressAnswer answer = fail(Code::internal, "nothing");
    bool done = false;
    auto check = [&]() -> Task<> {
      answer = co_await http::resolve(loop, host, limit, server.slot);
      done = true;
    };
    Scope scope(loop);
    scope.spawn(check());
    loop.run_until([&done] { return done; });
    return answer;
  }
};

size_t thread_count() {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

}  // namespace

TEST_CASE_METHOD(ResolverFixture, "a name server's addresses are found, of both families", "[http]") {
  CHECK(find("one.example.test.").value() == Addresses{"192.0.2.1"});
  auto both = find("six.example.test.").value();
  std::sort(both.begin(), both.end());
  CHECK(both == Addresses{"192.0.2.1", "2001:db8::1"});
  CHECK(server.requested >= 4);
  CHECK(thread_count() == 1);
}

TEST_CASE_METHOD(ResolverFixture, "a host of the system's own file is found", "[http]") {
  auto it = find("localhost");
  REQUIRE(it);
  CHECK((it->front() == "127.0.0.1" || it->front() == "::1"));
}

TEST_CASE_METHOD(ResolverFixture, "an address needs no lookup, and what is no name gets none", "[http]") {
  CHECK(find("192.0.2.7").value() == Addresses{"192.0.2.7"});
  CHECK(find("2001:db8::7").value() == Addresses{"2001:db8::7"});
  for (const char* text : {"-s", "", "a b", "a/b", "a\nb", "fe80::1%lo"}) {
    CAPTURE(text);
    CHECK(find(text).error().code == Code::invalid);
  }
  CHECK(find(std::string(254, 'a')).error().code == Code::invalid);
  CHECK(server.requested == 0);
}

TEST_CASE_METHOD(ResolverFixture, "what a name server says is bounded, and is only believed if it is an answer",
                 "[http]") {
  CHECK(find("many.example.test.").value().size() == http::kMaxAddresses);
  auto none = find("none.example.test.");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Code::unavailable);
  CHECK(none.error().what == "the host 'none.example.test.' is not known");
  CHECK_FALSE(find("lame.example.test."));
}

TEST_CASE_METHOD(ResolverFixture, "addresses of one family are found, although nothing is said about the other",
                 "[http]") {
  CHECK(find("half.example.test.", 60s).value() == Addresses{"192.0.2.1"});
}

TEST_CASE_METHOD(ResolverFixture, "a name server that does not answer ends one lookup, in time, and holds no other up",
                 "[http]") {
  auto lost = find("silent.example.test.", 50ms);
  REQUIRE_FALSE(lost);
  CHECK(lost.error().what == "the host 'silent.example.test.' was not resolved in time");
  Scope silent(loop);
  auto wait = [](Loop& on, std::string path) -> Task<> {
    const auto answer = co_await http::resolve(on, "silent.example.test.", 600s, path);
    FAIL_CHECK("answered, " << answer.has_value());
  };
  for (int i = 0; i < 64; i++) silent.spawn(wait(loop, server.slot));
  CHECK(find("one.example.test.").value() == Addresses{"192.0.2.1"});
  silent.cancel_all();  // and a cancelled lookup is gone, with its sockets
  const auto open_files = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); };
  const auto before = open_files();
  {
    Scope scope(loop);
    scope.spawn(wait(loop, server.slot));
    CHECK(open_files() > before);
  }
  CHECK(open_files() == before);
}
