// warder-egress: the service that reaches hosts for the code in jails. It runs without privileges, holds no file of a
// tenant, and is started by systemd (units/warder-egress.service).
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "supervisor/base/ending_signals.h"
#include "supervisor/base/log.h"
#include "supervisor/base/tcp_address.h"
#include "supervisor/base/version.h"
#include "supervisor/egress/egress_flags.h"
#include "supervisor/egress/service.h"

namespace {
constexpr int kWaitingClients = 16;
constexpr int kExitError = 1, kExitUsage = 2;

// The socket from systemd, or a new one at `path`, for this user alone.
Result<Fd> open_egress_socket(const std::string& path) {
  if (::sd_listen_fds(1) == 1 && ::sd_is_socket(SD_LISTEN_FDS_START, AF_UNIX, SOCK_SEQPACKET, 1) > 0)
    return Fd(SD_LISTEN_FDS_START);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty()) return fail(Code::invalid, "--socket: missing, and systemd has passed no socket");
  if (path.size() >= sizeof address.sun_path) return fail(Code::invalid, "--socket: the path has more than 107 bytes");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno(errno, "make a socket");
  const mode_t before = ::umask(0177);
  const int bound = ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int err = errno;
  ::umask(before);
  if (bound < 0) return fail_errno(err, "--socket: bind '" + path + "'", Code::unavailable);
  if (::listen(socket.get(), kWaitingClients) < 0) return fail_errno(errno, "listen on '" + path + "'");
  return socket;
}

Task<> stop_at_signal(Loop& loop, AsyncFd signals) {
  co_await signals.readable();
  loop.stop();
}

// A name server or a file that cannot be used is a mistake of the command line, not of each later request.
Result<> check_network(const egress::EgressNetwork& network) {
  for (std::string_view remaining = network.name_servers; !remaining.empty();) {
    const size_t end = std::min(remaining.find(','), remaining.size());
    if (const auto server = parse_tcp_address(remaining.substr(0, end)); !server)
      return fail(Code::invalid, "--name-servers: " + server.error().what);
    remaining.remove_prefix(std::min(end + 1, remaining.size()));
  }
  if (!network.authorities.empty() && ::access(network.authorities.c_str(), R_OK) < 0)
    return fail(Code::invalid, fmt::format("--authorities: read '{}': {}", network.authorities, std::strerror(errno)));
  return {};
}

Result<> run_service(const std::string& path, egress::EgressNetwork network) {
  CHECKED(check_network(network));
  TRY(Fd socket, open_egress_socket(path));
  Loop loop;
  TRY(AsyncFd watched, catch_ending_signals(loop));
  TRY(const auto service, egress::EgressService::open(loop, std::move(socket), std::move(network)));
  loop.spawn(stop_at_signal(loop, std::move(watched)));
  log_notice("warder-egress {} is ready", kWarderVersion);
  ::sd_notify(0, "READY=1");
  loop.run();
  loop.cancel_all();
  if (!path.empty()) (void)::unlink(path.c_str());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(egress::kEgressDescription, "warder-egress");
  app.set_version_flag("--version", std::string("warder-egress ") + kWarderVersion);
  egress::EgressFlags flags;
  egress::declare_flags(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    const int status = app.exit(wrong);
    return status == 0 ? 0 : kExitUsage;
  }
  const auto ended = run_service(flags.socket, {.name_servers = flags.name_servers, .authorities = flags.authorities});
  if (ended) return 0;
  std::fprintf(stderr, "warder-egress: %s\n", ended.error().what.c_str());
  return ended.error().code == Code::invalid ? kExitUsage : kExitError;
}
