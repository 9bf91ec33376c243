// What the cluster's bus costs beside a round trip to its server: messages, requests, buckets, over a real nats-server
// on this machine. Two clients in this process.
//   bus-bench [ROUNDS]
// Without nats-server it says so and measures nothing.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string_view>

#include "statistics.h"
#include "supervisor/cluster/bus/nats_bus.h"
#include "tests/supervisor/cluster/nats_server.h"

namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

constexpr int kTimesInRound = 20;

double us_since(Steady::time_point begin) {
  return std::chrono::duration<double, std::micro>(Steady::now() - begin).count();
}

// The floor: PING and PONG on a plain socket, each waited for in recv(2).
class RawClient {
 public:
  explicit RawClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) < 0) std::abort();
    read_line();  // INFO
    write("CONNECT {\"verbose\":false}\r\n");
  }
  void ping() {
    write("PING\r\n");
    read_line();
  }

 private:
  void write(std::string_view text) {
    if (::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
      std::abort();
  }
  void read_line() {
    for (char c = 0; c != '\n';)
      if (::recv(socket_.get(), &c, 1, 0) != 1) std::abort();
  }
  Fd socket_;
};

struct BusCase {
  std::string name;
  std::function<bool()> once;
  bench::Series series;
};

Task<> answer_requests(cluster::Bus& bus, cluster::BusSubscription& from) {
  for (;;) {
    const auto message = co_await from.next();
    if (!message) co_return;
    if (!message->reply.empty()) (void)respond(bus, *message, message->bytes);
  }
}

Task<> put_watched(cluster::KvBucket& into, std::string bytes) { (void)co_await into.put("watched", std::move(bytes)); }

template <class T>
Task<> store_result(Task<T> work, std::optional<T>& result) {
  result.emplace(co_await std::move(work));
}
template <class T>
T run_task(Loop& loop, Task<T> work) {
  std::optional<T> result;
  Scope scope(loop);
  scope.spawn(store_result(std::move(work), result));
  loop.run_until([&result] { return result.has_value(); });
  return *std::move(result);
}

std::unique_ptr<cluster::Bus> connect(Loop& loop, const cluster::NatsServerProcess& server, const std::string& name) {
  cluster::BusSettings settings;
  settings.servers = {server.url()};
  settings.name = name;
  settings.inbox_prefix = "_INBOX." + name;
  return run_task(loop, cluster::connect_nats(loop, settings)).value();
}

// One request for each line of the standard input; prints its microseconds. For a comparison in the same run, with the
// pauses of the other program (cluster.py).
int measure_asked(Loop& loop) {
  cluster::NatsServerProcess server;
  auto item = connect(loop, server, "n1"), two = connect(loop, server, "n2");
  auto requests = *two->subscribe("w1.requests");
  Scope answering(loop);
  answering.spawn(answer_requests(*two, *requests));
  if (!run_task(loop, two->flush(5s))) return 1;
  for (int read = std::getchar(); read != EOF; read = std::getchar()) {
    if (read != '\n') continue;
    const auto begin = Steady::now();
    if (!run_task(loop, item->request("w1.requests", std::string(64, 'x'), 5s))) return 1;
    fmt::print("{:.0f}\n", us_since(begin));
    std::fflush(stdout);
  }
  return 0;
}

int measure(Loop& loop, int rounds) {
  cluster::NatsServerProcess server;
  auto item = connect(loop, server, "n1"), two = connect(loop, server, "n2");
  auto messages = *two->subscribe("w1.messages"), requests = *two->subscribe("w1.requests");
  Scope answering(loop);
  answering.spawn(answer_requests(*two, *requests));
  if (!run_task(loop, two->flush(5s))) return 1;
  auto bucket = run_task(loop, item->open_bucket("bench", {}, 5s)).value();
  auto watch = bucket->watch("watched").value();
  RawClient raw(std::atoi(server.url().substr(server.url().rfind(':') + 1).c_str()));
  auto succeeds = [&loop](auto task) { return run_task(loop, std::move(task)).has_value(); };
  auto& kv = *bucket;
  const std::string small(64, 'x'), large(256 << 10, 'x');
  uint64_t revision = 0;
  std::deque<BusCase> cases;
  auto add = [&cases](std::string name, std::function<bool()> once) {
    cases.push_back({std::move(name), std::move(once), {}});
  };
  add("floor: PING, PONG on a socket", [&] {
    raw.ping();
    return true;
  });
  add("flush", [&] { return succeeds(item->flush(5s)); });
  add("publish to received, 64 B", [&] { return item->publish("w1.messages", small) && succeeds(messages->next()); });
  add("publish to received, 256 KiB",
      [&] { return item->publish("w1.messages", large) && succeeds(messages->next()); });
  add("request to answer, 64 B", [&] { return succeeds(item->request("w1.requests", small, 5s)); });
  add("request to answer, 256 KiB", [&] { return succeeds(item->request("w1.requests", large, 5s)); });
  add("request that nobody receives", [&] { return !succeeds(item->request("w1.nobody", small, 5s)); });
  add("bucket: put", [&] { return succeeds(kv.put("k", small)); });
  add("bucket: get", [&] { return succeeds(kv.get("k")); });
  add("bucket: update by revision", [&] {
    const auto written = run_task(loop, revision == 0 ? kv.create("cas", small) : kv.update("cas", small, revision));
    revision = written ? written->revision : 0;
    return revision > 0;
  });
  run_task(loop, watch->next()).value();  // `current`
  add("bucket: put to seen by a watch", [&] {
    Scope writing(loop);
    writing.spawn(put_watched(kv, small));
    return succeeds(watch->next());
  });
  for (int round = 0; round < rounds; round++) {
    for (BusCase& one_case : cases) {
      one_case.series.begin_round();
      for (int i = 0; i < kTimesInRound; i++) {
        const auto begin = Steady::now();
        if (!one_case.once()) {
          fmt::print(stderr, "bus-bench: failed: {}\n", one_case.name);
          return 1;
        }
        one_case.series.add({us_since(begin), std::nullopt});
      }
    }
  }
  fmt::print("{:<34}{:>10}{:>10}{:>10}\n", "", "p50 us", "p99 us", "ratio");
  for (const BusCase& one_case : cases)
    fmt::print("{:<34}{:>10.0f}{:>10.0f}{:>10.2f}\n", one_case.name, one_case.series.at(0.5), one_case.series.at(0.99),
               one_case.series.ratio_to(cases.front().series).value_or(0));
  // In a row: as many as the reader's bound, then all of them are read.
  constexpr int kRow = 4'000;
  const auto begin = Steady::now();
  for (int i = 0; i < rounds; i++) {
    for (int sent = 0; sent < kRow; sent++)
      if (!item->publish("w1.messages", small)) return 1;
    for (int got = 0; got < kRow; got++)
      if (!succeeds(messages->next())) return 1;
  }
  fmt::print("{} messages of 64 B, {} in a row: {:.0f} a second, {} dropped\n", rounds * kRow, kRow,
             rounds * kRow / us_since(begin) * 1e6, messages->dropped());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (cluster::NatsServerProcess::program().empty()) {
    fmt::print("bus-bench: needs nats-server: apt-get install nats-server\n");
    return 0;
  }
  Loop loop;  // the threads of the buses must end before it
  const bool is_requested = argc > 1 && std::string_view(argv[1]) == "--asked";
  const int code = is_requested ? measure_asked(loop) : measure(loop, argc > 1 ? std::max(1, std::atoi(argv[1])) : 50);
  cluster::wait_for_ended_buses(10s);
  return code;
}
