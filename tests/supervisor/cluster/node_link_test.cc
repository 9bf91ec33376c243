// NodeLink: warderd's side of the control connection, with a test's own socket as warder-node.
#include "supervisor/cluster/link/node_link.h"

#include <sys/socket.h>

#include <vector>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/protocol/mcp/listener.h"
#include "tests/catch.h"
#include "tests/temp_directory.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

struct LinkScene {
  Loop loop;
  TempDirectory temporary;
  std::string path = std::string(temporary.path()) + "/node.sock";
  Fd listener = mcp::listen_at(path, 0600).value();
  std::vector<LeaseEnd> ended;
  NodeLink link{loop, path, [this](LeaseEnd end) { ended.push_back(end); }};
  Fd node{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
  std::string unread;
  std::vector<std::pair<std::string, Json>> requested;  // kind and content of each message of warderd
  Scope tasks{loop};

  LinkScene() { REQUIRE(node); }
  void read() {
    char part[4096];
    for (ssize_t got; (got = ::recv(node.get(), part, sizeof part, MSG_DONTWAIT)) > 0;)
      unread.append(part, static_cast<size_t>(got));
    for (size_t end; (end = unread.find('\n')) != std::string::npos; unread.erase(0, end + 1)) {
      Json message = parse_json(unread.substr(0, end)).value();
      requested.emplace_back(message.begin().key(), std::move(message.begin().value()));
    }
  }
  size_t count(const std::string& kind) {
    read();
    size_t total = 0;
    for (const auto& item : requested) total += item.first == kind;
    return total;
  }
  void notify(const Json& message) const {
    const std::string line = dump_json(message) + "\n";
    REQUIRE(::send(node.get(), line.data(), line.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(line.size()));
  }
  void tell_lease(std::chrono::microseconds starts_for, std::chrono::microseconds runs_for) const {
    const auto now = boot_time();
    notify({{"lease",
             {{"node", "n1"},
              {"starts_until_us", (now + starts_for).count()},
              {"runs_until_us", (now + runs_for).count()}}}});
  }
  bool until(const std::function<bool()>& done) {
    bool is_late = false;
    const Deadline late(loop, 20s, [&is_late] { is_late = true; });
    loop.run_until([&] { return is_late || done(); });
    return !is_late;
  }
};

}  // namespace

TEST_CASE_METHOD(LinkScene, "the rules are fetched when the connection exists already", "[cluster]") {
  int calls = 0;
  link.on_rules([&calls] { calls++; });
  CHECK(calls == 1);
  notify({{"rules", Json::object()}});
  CHECK(until([&calls] { return calls == 2; }));
}

TEST_CASE_METHOD(LinkScene, "a lease that was over before the start of the daemon ends nothing", "[cluster]") {
  int calls = 0;
  link.on_rules([&calls] { calls++; });
  tell_lease(-2ms, -1ms);
  notify({{"rules", Json::object()}});
  REQUIRE(until([&calls] { return calls == 2; }));
  bool has_waited = false;
  const Deadline some_time(loop, 20ms, [&has_waited] { has_waited = true; });
  REQUIRE(until([&has_waited] { return has_waited; }));
  CHECK(ended.empty());
  tell_lease(40ms, 60ms);
  REQUIRE(until([this] { return ended.size() == 2; }));
  CHECK(ended == std::vector{LeaseEnd::starts, LeaseEnd::runs});
}

TEST_CASE_METHOD(LinkScene, "few pages are asked for at once, and other questions do not wait for them", "[cluster]") {
  int pages = 0;
  const auto check = [](NodeLink& asking, int& answered) -> Task<> {
    const auto page = co_await asking.nodes_after("");
    if (page) answered++;
  };
  for (int i = 0; i < 12; i++) tasks.spawn(check(link, pages));
  const auto position = [](NodeLink& asking) -> Task<> { (void)co_await asking.slots_for("acme", true); };
  tasks.spawn(position(link));
  REQUIRE(until([this] { return count("place") == 1; }));
  bool has_waited = false;
  const Deadline some_time(loop, 60ms, [&has_waited] { has_waited = true; });
  REQUIRE(until([&has_waited] { return has_waited; }));
  CHECK(count("view") == 8);
  for (size_t i = 0; i < requested.size(); i++)
    if (requested[i].first == "view")
      notify({{"nodes", {{"id", requested[i].second["id"]}, {"nodes", Json::array()}}}});
  CHECK(until([this] { return count("view") == 12; }));
  CHECK(until([&pages] { return pages == 8; }));
}

}  // namespace cluster
