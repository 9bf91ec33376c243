// warder-node: connects the warderd of this machine with those of other machines, over NATS. It runs without
// privileges, reaches the servers of NATS only, and is started by systemd (units/warder-node.service).
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>

#include "supervisor/base/ending_signals.h"
#include "supervisor/base/log.h"
#include "supervisor/base/user_lookup.h"
#include "supervisor/base/version.h"
#include "supervisor/cluster/bus/nats_bus.h"
#include "supervisor/cluster/node/node_flags.h"
#include "supervisor/cluster/node/node_service.h"
#include "supervisor/protocol/mcp/listener.h"

namespace {

constexpr int kExitError = 1, kExitUsage = 2;

// The socket from systemd, or a new one: the peer's credentials decide (DaemonDoor).
Result<Fd> open_node_socket(const std::string& path) {
  if (::sd_listen_fds(1) == 1 && ::sd_is_socket(SD_LISTEN_FDS_START, AF_UNIX, SOCK_STREAM, 1) > 0)
    return Fd(SD_LISTEN_FDS_START);
  return mcp::listen_at(path, 0666);
}

// `name`: a user's name or id. Without such a user, only root and this program's user may connect.
Result<std::set<uid_t>> daemon_users(const std::string& name) {
  std::set<uid_t> users{0, ::geteuid()};
  uid_t id = 0;
  const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), id);
  if (wrong == std::errc() && end == name.data() + name.size()) {
    users.insert(id);
    return users;
  }
  TRY(const auto user, find_system_user(name));
  if (user) users.insert(user->uid);
  return users;
}

Task<> stop_at_signal(Loop& loop, AsyncFd signals) {
  co_await signals.readable();
  loop.stop();
}

struct Running {
  std::unique_ptr<cluster::NodeService> service;
  Result<> ended;
};

Task<> start(Loop& loop, cluster::NodeSettings settings, Fd socket, std::set<uid_t> users, Running& running) {
  auto ended = [&loop, &running](Error why) {
    running.ended = tl::unexpected<Error>(std::move(why));
    loop.stop();
  };
  auto opened = co_await cluster::NodeService::open(loop, std::move(settings), std::move(socket), std::move(users),
                                                    std::move(ended));
  if (opened) {
    running.service = *std::move(opened);
    log_notice("warder-node {} is ready", kWarderVersion);
    ::sd_notify(0, "READY=1");
    co_return;
  }
  running.ended = tl::unexpected<Error>(std::move(opened).error());
  loop.stop();
}

Result<> run_node(const std::string& file, const std::string& user) {
  TRY(cluster::NodeSettings settings, cluster::read_node_settings(file));
  TRY(Fd socket, open_node_socket(settings.socket));
  TRY(auto users, daemon_users(user));
  Loop loop;
  TRY(AsyncFd watched, catch_ending_signals(loop));
  Running running;
  loop.spawn(stop_at_signal(loop, std::move(watched)));
  loop.spawn(start(loop, std::move(settings), std::move(socket), std::move(users), running));
  loop.run();
  loop.cancel_all();
  running.service.reset();
  if (cluster::wait_for_ended_buses(std::chrono::seconds(5))) cluster::end_bus_library(std::chrono::seconds(5));
  return running.ended;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(cluster::kNodeDescription, "warder-node");
  app.set_version_flag("--version", std::string("warder-node ") + kWarderVersion);
  cluster::NodeFlags flags;
  cluster::declare_flags(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    const int status = app.exit(wrong);
    return status == 0 ? 0 : kExitUsage;
  }
  const auto ended = run_node(flags.config, flags.daemon_user);
  if (ended) return 0;
  std::string remedy = ended.error().hint;
  if (remedy.empty())
    remedy =
        "the files of a node are made by warder cluster init or join, and copied as /usr/share/doc/warder/cluster.md "
        "says";
  std::fprintf(stderr, "warder-node: %s; %s\n", ended.error().what.c_str(), remedy.c_str());
  return ended.error().code == Code::invalid ? kExitUsage : kExitError;
}
