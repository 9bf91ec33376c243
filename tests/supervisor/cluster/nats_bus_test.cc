// NatsBus and a real nats-server: what the double in memory cannot show.
#include "supervisor/cluster/bus/nats_bus.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <system_error>
#include <thread>

#include "bus_scene.h"
#include "nats_server.h"
#include "supervisor/cluster/bus/subjects.h"
#include "supervisor/cluster/trust/nkey.h"
#include "tests/catch.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

// Before the first test: without the server, CTest shows the program as skipped.
const bool kServerIsInstalled = [] {
  if (!NatsServerProcess::program().empty()) return true;
  std::printf("SKIPPED-ALL-NEEDS nats-server: apt-get install nats-server\n");
  std::fflush(stdout);
  std::_Exit(0);
}();

struct ServerScene {
  std::unique_ptr<BusScene> runner = BusScene::make();  // for its loop
  TempDirectory folder;
  ~ServerScene() { wait_for_ended_buses(10s); }

  static BusSettings settings(const NatsServerProcess& server) {
    BusSettings bus_settings;
    bus_settings.servers = {server.url()};
    bus_settings.name = "n1";
    bus_settings.inbox_prefix = "_INBOX.n1";
    bus_settings.longest_pause = 100ms;
    return bus_settings;
  }
  Result<std::unique_ptr<Bus>> connect(BusSettings with) {
    return runner->run(connect_nats(runner->loop, std::move(with)), "a connection");
  }
  std::string seed_file(const std::string& name, const std::string& seed) {
    const std::string path = folder.path() / name;
    std::ofstream(path) << seed << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    return path;
  }
};

std::string permit_keys(const std::string& users) { return fmt::format("authorization: {{users: [{}]}}", users); }

// A server that greets one connection for each nonce, and refuses those without a signature, as nats-server does.
class Greeter {
 public:
  explicit Greeter(std::vector<std::string> nonces)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), nonces_(std::move(nonces)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(socket_.get(), any, size) < 0 || ::listen(socket_.get(), 8) < 0 ||
        ::getsockname(socket_.get(), any, &size) < 0)
      throw std::system_error(errno, std::generic_category(), "listen");
    url_ = fmt::format("nats://127.0.0.1:{}", ntohs(address.sin_port));
    thread_ = std::thread([this] { greet(); });
  }
  ~Greeter() {
    ::shutdown(socket_.get(), SHUT_RDWR);  // ends accept()
    thread_.join();
  }
  const std::string& url() const { return url_; }

 private:
  void greet() {
    for (const std::string& nonce : nonces_) {
      Fd client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client) return;
      const auto send = [&client](const std::string& text) {
        (void)!::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL);
      };
      send(
          fmt::format("INFO {{\"server_id\":\"x\",\"version\":\"2.9.10\",\"proto\":1,\"host\":\"127.0.0.1\",\"port\":1,"
                      "\"headers\":true,\"max_payload\":1048576,\"auth_required\":true,\"nonce\":\"{}\"}}\r\n",
                      nonce));
      std::string got;
      for (char c = 0; !got.ends_with("PING\r\n") && ::recv(client.get(), &c, 1, 0) == 1;) got += c;
      send(got.find("\"sig\":\"") == got.npos ? "-ERR 'Authorization Violation'\r\n" : "PONG\r\n");
      clients_.push_back(std::move(client));  // open until the end
    }
  }
  Fd socket_;
  const std::vector<std::string> nonces_;
  std::string url_;
  std::vector<Fd> clients_;
  std::thread thread_;
};

}  // namespace

TEST_CASE("wrong settings are refused without a connection", "[nats]") {
  ServerScene scene;
  BusSettings good;
  good.servers = {"nats://127.0.0.1:1"};
  good.name = "n1";
  good.inbox_prefix = "_INBOX.n1";
  const auto refusal = [&](const std::function<void(BusSettings&)>& change) {
    BusSettings settings = good;
    change(settings);
    const auto bus = scene.connect(settings);
    REQUIRE_FALSE(bus);
    CHECK(bus.error().code == Code::invalid);
    return bus.error().what;
  };
  CHECK(refusal([](BusSettings& s) { s.servers = {}; }) == "0 servers of the bus");
  for (const char* server :
       {"127.0.0.1:1", "http://a:1", "nats://user:secret@a:1", "nats://a", "nats://a:1\r\n", "nats://"})
    CHECK(refusal([&](BusSettings& s) { s.servers = {server}; }).starts_with("the server '"));
  refusal([](BusSettings& s) { s.servers = {"tls://a:1", "nats://a:1"}; });
  refusal([](BusSettings& s) { s.authorities_file = "/etc/ssl/ca.pem"; });
  refusal([](BusSettings& s) { s.certificate_file = "/x"; });
  refusal([](BusSettings& s) { s.name = "n 1"; });
  refusal([](BusSettings& s) { s.inbox_prefix = "w1.n1"; });
  refusal([](BusSettings& s) { s.inbox_prefix = "_INBOX.>"; });
  CHECK(refusal([&](BusSettings& s) { s.nkey_seed_file = scene.seed_file("bad", "SUX"); }).starts_with("nkey: "));
  BusSettings missing = good;
  missing.nkey_seed_file = scene.folder.path() / "none";
  CHECK_FALSE(scene.connect(missing));
  BusSettings authorities = good;
  authorities.servers = {"tls://127.0.0.1:1"};
  authorities.authorities_file = scene.folder.path() / "none";
  CHECK(scene.connect(authorities).error().code == Code::invalid);
}

TEST_CASE("a server accepts a node by its key, and refuses others", "[nats]") {
  ServerScene scene;
  const std::string seed = new_nkey_seed(), other = new_nkey_seed();
  const std::string user = fmt::format("{{nkey: {}}}", nkey_public_key(seed).value());
  NatsServerProcess server(permit_keys(user));
  BusSettings settings = ServerScene::settings(server);
  settings.nkey_seed_file = scene.seed_file("seed", seed);
  auto bus = scene.connect(settings);
  REQUIRE(bus);
  CHECK((*bus)->state() == BusState::connected);
  REQUIRE(scene.runner->run((*bus)->flush(5s)));
  settings.nkey_seed_file = scene.seed_file("other", other);
  const auto refused = scene.connect(settings);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::denied);
  settings.nkey_seed_file.clear();
  CHECK(scene.connect(settings).error().code == Code::denied);

  // The key is revoked while the node is connected.
  std::string why;
  const auto position = (*bus)->observers().add([&why](const BusNotice& notice) { why = notice.text; });
  auto messages = *(*bus)->subscribe("w1.x");
  server.set_configuration(permit_keys(fmt::format("{{nkey: {}}}", nkey_public_key(other).value())));
  server.restart();
  scene.runner->until([&] { return (*bus)->state() == BusState::closed; }, "the end of the bus");
  CHECK(why.find("uthorization") != std::string::npos);
  CHECK_FALSE(scene.runner->run(messages->next()));
  CHECK((*bus)->publish("w1.x", "").error().code == Code::unavailable);
}

TEST_CASE("over TLS, both sides' certificates are checked", "[nats]") {
  ServerScene scene;
  const std::string folder = scene.folder.path();
  const std::string make = fmt::format(
      "cd {} && new() {{ openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -keyout $1.key "
      "-out $1.pem -subj /CN=$1 -addext subjectAltName=$2 >openssl.log 2>&1; }} && new good IP:127.0.0.1 && "
      "new wrong DNS:elsewhere && new node DNS:n1",
      folder);
  REQUIRE(std::system(make.c_str()) == 0);
  const auto tls = [&folder](const std::string& name) {
    return fmt::format(
        "tls: {{cert_file: \"{0}/{1}.pem\", key_file: \"{0}/{1}.key\", ca_file: \"{0}/node.pem\", verify: true, "
        "timeout: 5}}",
        folder, name);
  };
  NatsServerProcess server(tls("good"));
  BusSettings settings = ServerScene::settings(server);
  settings.servers = {server.url("tls")};
  settings.authorities_file = folder + "/good.pem";
  settings.certificate_file = folder + "/node.pem";
  settings.key_file = folder + "/node.key";
  {
    const auto bus = scene.connect(settings);
    REQUIRE(bus);
    CHECK((*bus)->state() == BusState::connected);
    CHECK(scene.runner->run((*bus)->flush(5s)));
    CHECK((*bus)->status() == "connected to " + server.url("tls"));
  }
  const auto is_refused = [&scene](const BusSettings& with) {
    const auto bus = scene.connect(with);
    return !bus || (*bus)->state() != BusState::connected;
  };
  BusSettings anonymous = settings;
  anonymous.certificate_file = anonymous.key_file = "";
  CHECK(is_refused(anonymous));
  BusSettings distrusting = settings;
  distrusting.authorities_file = folder + "/wrong.pem";
  CHECK(scene.connect(distrusting).error().code == Code::denied);
  BusSettings unencrypted = ServerScene::settings(server);
  CHECK(is_refused(unencrypted));
  server.set_configuration(tls("wrong"));  // the certificate of another host
  server.restart();
  BusSettings elsewhere = settings;
  elsewhere.authorities_file = folder + "/wrong.pem";
  CHECK(is_refused(elsewhere));
}

TEST_CASE("what other clients of the server send does no harm", "[nats]") {
  ServerScene scene;
  NatsServerProcess server;
  auto bus = *scene.connect(ServerScene::settings(server));
  auto orders = *bus->subscribe("w1.node.n1");
  auto bucket = *scene.runner->run(bus->open_bucket("homes", {.max_value_bytes = 100}, 5s));
  auto watch = *bucket->watch(">");
  CHECK(scene.runner->run(watch->next())->kind == KvChange::Kind::current);
  const std::string large(2000, 'x');
  server.send_raw(
      "PUB w1.node.n1 $JS.API.STREAM.DELETE.KV_homes 1\r\nx\r\n"
      "PUB w1.node.n1 $KV.homes.owner 1\r\nx\r\n"
      "PUB $KV.homes.a/b 1\r\n1\r\n"  // no key of ours
      "PUB $KV.homes.caf\xc3\xa9 1\r\n1\r\n"
      "HPUB $KV.homes.k 25 26\r\nNATS/1.0\r\nStatus: 503\r\n\r\n1\r\n"
      "HPUB $KV.homes.h 25 26\r\nNATS/1.0\r\nStatus: 100\r\n\r\n1\r\n"
      "PUB _INBOX.n1.0.1 1\r\nx\r\n" +
      fmt::format("PUB $KV.homes.large {}\r\n{}\r\n", large.size(), large));
  for (int i = 0; i < 2; i++) {
    const auto order = scene.runner->run(orders->next(), "an order");
    REQUIRE(order);
    CHECK(order->reply.starts_with("$"));
    CHECK_FALSE(respond(*bus, *order, "answer"));
  }
  REQUIRE(scene.runner->run(bucket->put("mine", "1")));
  std::string seen;
  for (int i = 0; i < 20 && seen.find("mine") == seen.npos; i++)
    if (const auto change = scene.runner->run(watch->next(), "a change"); change) seen += change->key + " ";
  CHECK(seen.find("mine") != seen.npos);
  CHECK(seen.find('/') == seen.npos);
  CHECK(seen.find("large") == seen.npos);  // the server's bound of the bucket
  const auto keys = scene.runner->run(bucket->keys());
  REQUIRE(keys);
  CHECK(std::find(keys->begin(), keys->end(), "mine") != keys->end());
  for (const std::string& key : *keys) CHECK(check_subject(key));
}

TEST_CASE("the server's bound of messages counts", "[nats]") {
  ServerScene scene;
  NatsServerProcess server("max_payload: 2048");
  auto bus = *scene.connect(ServerScene::settings(server));
  CHECK(bus->max_payload() == 2048);
  CHECK(bus->publish("w1.x", std::string(2048, 'x')));
  CHECK_FALSE(bus->publish("w1.x", std::string(2049, 'x')));
  REQUIRE(scene.runner->run(bus->flush(5s)));
  server.set_configuration("max_payload: 1024");
  server.restart();
  scene.runner->until([&] { return bus->max_payload() == 1024; }, "the other bound");
  CHECK_FALSE(bus->publish("w1.x", std::string(2048, 'x')));
}

TEST_CASE("a missing permission is told, once", "[nats]") {
  ServerScene scene;
  const std::string seed = new_nkey_seed();
  NatsServerProcess server(permit_keys(fmt::format(
      "{{nkey: {}, permissions: {{publish: [\"w1.>\", \"_INBOX.>\"], subscribe: [\"_INBOX.n1.>\", \"w1.node.n1\"]}}}}",
      nkey_public_key(seed).value())));
  BusSettings settings = ServerScene::settings(server);
  settings.nkey_seed_file = scene.seed_file("seed", seed);
  auto bus = *scene.connect(settings);
  std::vector<std::string> refusals;
  const auto position = bus->observers().add([&](const BusNotice& notice) {
    if (notice.kind == BusNotice::Kind::refusal) refusals.push_back(notice.text);
  });
  auto peers = *bus->subscribe("w1.node.n2");
  scene.runner->until([&] { return !refusals.empty(); }, "the refusal");
  for (int i = 0; i < 5; i++) {
    REQUIRE(bus->publish("w2.x", "not permitted"));
    REQUIRE(scene.runner->run(bus->flush(5s)));
  }
  scene.runner->until([&] { return refusals.size() >= 2; }, "the second refusal");
  CHECK(refusals.size() == 2);
  CHECK(refusals[0].find("w1.node.n2") != std::string::npos);
  CHECK(refusals[1].find("w2.x") != std::string::npos);
  CHECK(bus->state() == BusState::connected);
}

TEST_CASE("a node may start before its server", "[nats]") {
  ServerScene scene;
  NatsServerProcess server;
  server.kill();
  const auto begin = Monotonic::now();
  auto bus = *scene.connect(ServerScene::settings(server));
  CHECK(Monotonic::now() - begin < 5s);
  CHECK(bus->state() == BusState::reconnecting);
  auto messages = *bus->subscribe("w1.x");
  REQUIRE(bus->publish("w1.x", "early"));
  CHECK_FALSE(scene.runner->run(bus->request("w1.x", "x", 10s)));  // at once
  server.restart();
  scene.runner->until([&] { return bus->state() == BusState::connected; }, "the connection");
  CHECK(scene.runner->run(messages->next())->bytes == "early");
  CHECK(bus->stats().reconnects == 0);
}

TEST_CASE("a signature may begin with any byte", "[nats]") {
  ServerScene scene;
  const std::string seed = new_nkey_seed();
  std::string zero, other;  // nonces
  for (int i = 0; zero.empty() || other.empty(); i++) {
    const std::string nonce = fmt::format("{:015}", i);
    (nkey_sign(seed, nonce).value().front() == '\0' ? zero : other) = nonce;
  }
  Greeter greeter({zero, zero, other});
  BusSettings settings;
  settings.servers = {greeter.url()};
  settings.name = "n1";
  settings.inbox_prefix = "_INBOX.n1";
  settings.nkey_seed_file = scene.seed_file("seed", seed);
  const auto bus = scene.connect(settings);
  REQUIRE(bus);
  CHECK((*bus)->state() == BusState::connected);
}

TEST_CASE("a node may start while its server is slow to greet it", "[nats]") {
  ServerScene scene;
  NatsServerProcess server;
  server.stop();
  BusSettings settings = ServerScene::settings(server);
  settings.connect_limit = 1s;
  const Deadline later(scene.runner->loop, 2500ms, [&server] { server.go_on(); });  // its third greeting is in time
  const auto bus = scene.connect(settings);
  REQUIRE(bus);
  scene.runner->until([&] { return (*bus)->state() == BusState::connected; }, "the connection");
}

TEST_CASE("a node may end while no server answers, without a wait", "[nats]") {
  ServerScene scene;
  NatsServerProcess server;
  auto bus = *scene.connect(ServerScene::settings(server));
  server.stop();
  for (int i = 0; i < 7; i++) REQUIRE(bus->publish("w1.x", std::string(1 << 20, 'x')));
  const auto full = bus->publish("w1.x", std::string(1 << 20, 'x')).and_then([&] {
    return bus->publish("w1.x", std::string(1 << 20, 'x')).and_then([&] {
      for (int i = 0; i < 100; i++)
        if (auto more = bus->publish("w1.x", std::string(1 << 20, 'x')); !more) return more;
      return Result<>();
    });
  });
  REQUIRE_FALSE(full);
  CHECK(full.error().code == Code::exhausted);
  const auto begin = Monotonic::now();
  bus.reset();
  CHECK(Monotonic::now() - begin < 100ms);
  server.go_on();
  CHECK(wait_for_ended_buses(15s));
}

TEST_CASE("a bucket that the server lost is empty for its watches", "[nats]") {
  ServerScene scene;
  NatsServerProcess server;
  auto bus = *scene.connect(ServerScene::settings(server));
  auto bucket = *scene.runner->run(bus->open_bucket("homes", {}, 5s));
  for (const char* key : {"a", "b"}) REQUIRE(scene.runner->run(bucket->put(key, "1")));
  auto watch = *bucket->watch(">");
  for (int i = 0; i < 3; i++) REQUIRE(scene.runner->run(watch->next()));
  server.kill();
  server.forget_buckets();
  server.restart();
  scene.runner->until([&] { return bus->state() == BusState::connected && bus->stats().reconnects == 1; },
                      "the server");
  Result<std::unique_ptr<KvBucket>> kv_bucket = fail(Code::internal, "");
  while (!kv_bucket) kv_bucket = scene.runner->run(bus->open_bucket("homes", {}, 1s));
  REQUIRE(scene.runner->run((*kv_bucket)->put("a", "1")));  // the same revision as before
  std::string seen;
  for (int i = 0; i < 20 && (seen.find("a0") == seen.npos || seen.find("b1") == seen.npos); i++) {
    const auto change = scene.runner->run(watch->next(), "a change");
    REQUIRE(change);
    seen += fmt::format("{}{} ", change->key, static_cast<int>(change->kind));
  }
  CHECK(seen.find("b1") != seen.npos);
  CHECK(seen.find("a0") != seen.npos);
}

TEST_CASE("a bucket that lost its last values is compared as a whole", "[nats]") {
  ServerScene scene;
  NatsServerProcess server;
  auto bus = *scene.connect(ServerScene::settings(server));
  auto bucket = *scene.runner->run(bus->open_bucket("homes", {}, 5s));
  REQUIRE(scene.runner->run(bucket->put("kept", "1")));
  auto watch = *bucket->watch(">");
  const auto restart = [&](const std::function<void()>& meanwhile) {
    const uint64_t before = bus->stats().reconnects;
    server.kill();
    meanwhile();
    server.restart();
    scene.runner->until([&] { return bus->state() == BusState::connected && bus->stats().reconnects > before; },
                        "the server");
  };
  const auto put = [&](const std::string& key) {
    Result<uint64_t> written = fail(Code::internal, "");
    while (!written) written = scene.runner->run(bucket->put(key, "1"));  // JetStream comes a little later
  };
  std::string seen;
  const auto see = [&](const std::string& requested) {
    for (int i = 0; i < 20 && seen.find(requested) == seen.npos; i++) {
      const auto change = scene.runner->run(watch->next(), "a change");
      REQUIRE(change);
      seen += fmt::format("{}{} ", change->key, static_cast<int>(change->kind));
    }
    CHECK(seen.find(requested) != seen.npos);
  };
  see("kept0 2");
  restart([&] { server.save_buckets(); });
  put("lost");
  see("lost0");
  seen.clear();
  restart([&] { server.restore_buckets(); });
  SECTION("and nothing came since") {}
  SECTION("and another value has the number of the lost one") {
    put("another");
    see("another0");
  }
  see("lost1");
  CHECK(seen.find("kept") == seen.npos);
  seen.clear();
  restart([] {});
  put("later");  // goes on where it was
  see("later0");
  CHECK(seen.find("kept") == seen.npos);
}

TEST_CASE("buses that are made and destroyed leave no threads", "[nats]") {
  ServerScene scene;
  NatsServerProcess server;
  for (int i = 0; i < 10; i++) {
    auto bus = *scene.connect(ServerScene::settings(server));
    REQUIRE(bus->publish("w1.x", "x"));
    if (i % 2 == 0) REQUIRE(scene.runner->run(bus->flush(5s)));
  }
  {
    Scope scope(scene.runner->loop);
    struct Connecting {
      static Task<> one(Loop& loop, BusSettings settings) { const auto bus = co_await connect_nats(loop, settings); }
    };
    for (int i = 0; i < 3; i++) scope.spawn(Connecting::one(scene.runner->loop, ServerScene::settings(server)));
  }  // cancelled while they connect
  CHECK(wait_for_ended_buses(10s));
}

}  // namespace cluster
