// The test plays the jailer: it reads orders and answers them, or ends, while somebody waits.
#include "jail/jailer_client/jailer_client.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <vector>

#include "jail/failed_step.h"
#include "jail/fd_message.h"
#include "tests/catch.h"
#include "tests/jail/await.h"
#include "tests/jail/descriptors.h"

using namespace jail;

namespace {

struct Scene {
  Scene() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    jailer = Fd(ends[1]);
    auto started = JailerClient::start(loop, Fd(ends[0]), [this] { lost++; });
    REQUIRE(started);
    client = *std::move(started);
  }

  Order next_order() {
    Order order{};
    REQUIRE(run_until(loop, [&] {
      auto received = receive_message(jailer.get(), &order, sizeof order, kMaxOrderFds);
      return received && received->open;
    }));
    return order;
  }

  void answer(const Order& order, const std::vector<int>& fds = {}, int error = 0) {
    const JailerAnswer reply{order.token, error, Step::none, 0};
    REQUIRE(send_message(jailer.get(), &reply, sizeof reply, fds));
  }

  Loop loop;
  Fd directory{::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)};
  Fd jailer;
  int lost = 0;
  std::unique_ptr<JailerClient> client;
};

using Heard = std::optional<Result<>>;

// The client goes while the answer is being heard, as a zygote's does with its last jail.
Task<> ask_and_end(Scene& scene, Heard& received) {
  auto done = co_await scene.client->probe_idmap(scene.directory.get(), 0, 0, 1);
  scene.client.reset();
  received.emplace(std::move(done));
}

Task<> build_and_end(Scene& scene, Result<Fd>& built, bool& received) {
  const int fd = scene.directory.get();
  const JailerClient::BuildFds fds{fd, fd, fd, fd, fd};
  const JailerClient::Ids ids;
  auto done = co_await scene.client->build(fds, ids);
  scene.client.reset();
  built = std::move(done);
  received = true;
}

}  // namespace

TEST_CASE("who hears an answer may end the client that read it", "[jail]") {
  Scene scene;
  Scope scope(scene.loop);
  Heard received;
  scope.spawn(ask_and_end(scene, received));
  const int error = GENERATE(0, EPERM);
  CAPTURE(error);
  scene.answer(scene.next_order(), {}, error);
  REQUIRE(run_until(scene.loop, [&] { return received.has_value(); }));
  CHECK(received->has_value() == (error == 0));
  CHECK_FALSE(scene.client);
}

TEST_CASE("a pidfd is its hearer's, also when the client is ended with the answer", "[jail]") {
  Scene scene;
  Scope scope(scene.loop);
  const size_t before = open_descriptors();
  {
    Result<Fd> built = Fd();
    bool received = false;
    scope.spawn(build_and_end(scene, built, received));
    scene.answer(scene.next_order(), {scene.directory.get()});
    REQUIRE(run_until(scene.loop, [&] { return received; }));
    REQUIRE(built);
    CHECK(::fcntl(built->get(), F_GETFD) == FD_CLOEXEC);
    CHECK(open_descriptors() == before);  // the client's socket has gone, the pidfd has come
  }
  CHECK(open_descriptors() == before - 1);
}

TEST_CASE("answers that came together are all heard, though the first hearer ends the client", "[jail]") {
  Scene scene;
  Scope scope(scene.loop);
  std::vector<Heard> heards(3);
  for (auto& item : heards) scope.spawn(ask_and_end(scene, item));
  std::vector<Order> orders;
  for (size_t i = 0; i < heards.size(); i++) orders.push_back(scene.next_order());
  const bool ends = GENERATE(false, true);  // instead of an answer
  CAPTURE(ends);
  if (ends) {
    scene.jailer.reset();
  } else {
    for (const auto& order : orders) scene.answer(order);
  }
  REQUIRE(run_until(scene.loop, [&] {
    return std::all_of(heards.begin(), heards.end(), [](const Heard& item) { return item.has_value(); });
  }));
  for (const auto& item : heards) {
    CHECK(item->has_value() == !ends);
    if (ends) CHECK(item->error().code == Code::unavailable);
    if (ends)
      CHECK_THAT(item->error().what, Catch::Matchers::Contains("jailer, the process that builds jails, has ended"));
  }
  REQUIRE(run_until(scene.loop, [&] { return scene.lost == (ends ? 1 : 0); }));
}

TEST_CASE("agents read what happened to their jail, not which step of ours failed", "[jail]") {
  struct Row {
    Step step;
    int error;
    const char* what;
    const char* hint;
  };
  const Row rows[] = {
      {Step::attach_workspace, ESRCH, "the jail was ended from outside before the program began", "call again"},
      {Step::none, ESRCH, "the jail was ended from outside before the program began", "call again"},
      {Step::attach_workspace, EINVAL, "the workspace cannot be mounted in the jail: Invalid argument", "call again"},
      {Step::none, EMFILE, "the jailer did not execute its order: Too many open files", "LimitNOFILE="},
      {Step::wait_for_ids, EPERM, "jail step wait_for_ids: Operation not permitted", "user namespaces"},
  };
  for (const Row& row : rows) {
    const Error error = failed_order(JailerAnswer{1, row.error, row.step, 0});
    CAPTURE(error.what, error.hint);
    CHECK(error.code == Code::unavailable);
    CHECK(error.what == row.what);
    CHECK_THAT(error.hint, Catch::Matchers::Contains(row.hint));
  }
  CHECK_THAT(failed_step(Step::runner_limits, EPERM).hint, Catch::Matchers::Contains("LimitNOFILE="));
  CHECK(failed_step(Step::runner_exec, ENOENT, "/usr/bin/python3").hint == "install /usr/bin/python3");
}

TEST_CASE("who is told that the jailer is gone may end the client", "[jail]") {
  Loop loop;
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
  std::unique_ptr<JailerClient> client;
  bool reported = false;
  auto started = JailerClient::start(loop, Fd(ends[0]), [&] {
    client.reset();
    reported = true;
  });
  REQUIRE(started);
  client = *std::move(started);
  Fd(ends[1]).reset();
  REQUIRE(run_until(loop, [&] { return reported; }));
}
