// `warder dashboard`: serves a page that shows the daemon's work, until the command ends.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <filesystem>

#include "supervisor/base/ending_signals.h"
#include "supervisor/base/random.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/dashboard/site.h"
#include "supervisor/programs/cli/terminal.h"
#include "supervisor/protocol/http/endpoint.h"

namespace admin {
namespace {

using namespace std::chrono_literals;

constexpr int kBacklog = 16;
constexpr auto kEvery = 1s;
constexpr int kTunnelPort = 8700;  // on the other machine

// The name that ssh on another machine may know this machine by.
std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] ? cli::for_terminal(name) : "THIS-MACHINE";
}

struct ListeningAddress {
  Fd socket;
  SiteAddress address;
  std::string displayed, file;  // displayed: the address for the user; file: the socket's path, removed at the end
  std::string tunnel;           // the ssh command for another machine
};

Result<ListeningAddress> listen_on_port(const std::string& request) {
  uint16_t port = 0;
  const char* end = request.data() + request.size();
  if (auto [parsed, wrong] = std::from_chars(request.data(), end, port); wrong != std::errc() || parsed != end)
    return fail(Code::invalid, "--port: '" + request + "' is not a port",
                "give a number up to 65535; 0 takes a free port");
  ListeningAddress position;
  position.socket = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!position.socket) return fail_errno(errno, "socket");
  const int yes = 1;
  ::setsockopt(position.socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  socklen_t size = sizeof address;
  if (::bind(position.socket.get(), reinterpret_cast<const sockaddr*>(&address), size) < 0 ||
      ::listen(position.socket.get(), kBacklog) < 0 ||
      ::getsockname(position.socket.get(), reinterpret_cast<sockaddr*>(&address), &size) < 0)
    return fail_errno(errno, fmt::format("listen on 127.0.0.1:{}", port));
  position.address.host = fmt::format("127.0.0.1:{}", ntohs(address.sin_port));
  position.address.key = random_hex(16);
  position.displayed = fmt::format("http://{}/{}/", position.address.host, position.address.key);
  position.tunnel = fmt::format("ssh -L {0}:127.0.0.1:{0} {1}", ntohs(address.sin_port), host_name());
  return position;
}

Result<ListeningAddress> listen_on_file(const std::string& file) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (file.size() >= sizeof address.sun_path)
    return fail(Code::invalid, "--unix: the path is too long",
                fmt::format("at most {} bytes", sizeof address.sun_path - 1));
  file.copy(address.sun_path, file.size());
  ListeningAddress position;
  position.socket = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!position.socket) return fail_errno(errno, "socket");
  const mode_t before = ::umask(0177);  // only for the socket's owner
  const int bound = ::bind(position.socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  ::umask(before);
  if (bound < 0 && error == EADDRINUSE)
    return fail(Code::invalid, "--unix: " + file + " exists already", "name another, or remove it");
  if (bound < 0 || ::listen(position.socket.get(), kBacklog) < 0)
    return fail_errno(bound < 0 ? error : errno, "--unix: " + file);
  position.file = position.displayed = file;
  position.address.key = random_hex(16);
  std::error_code ignored;  // a socket has just been bound at this path
  position.tunnel =
      fmt::format("ssh -L {}:{} {}", kTunnelPort, std::filesystem::absolute(file, ignored).string(), host_name());
  return position;
}

Task<> look_each_second(Loop& loop, Watch& watch) {
  for (;;) {
    co_await watch.inspect();
    co_await sleep_for(loop, kEvery);
  }
}

Task<> stop_on_request(Loop& loop, AsyncFd signals) {
  co_await signals.readable();
  loop.stop();
}

void print_start(const ListeningAddress& position, bool may_act, const ParsedCommand& command) {
  const std::string path = "/" + position.address.key + "/";
  if (command.json) {
    print_json({{"address", position.displayed}, {"path", path}, {"tunnel", position.tunnel}});
    return;
  }
  const std::string address =
      position.file.empty() ? position.displayed : fmt::format("http://127.0.0.1:{}{}", kTunnelPort, path);
  std::string message = position.file.empty()
                            ? "The dashboard is at " + address + " until you press Ctrl-C.\n"
                            : "The dashboard is at the socket " + position.file + " until you press Ctrl-C.\n";
  message += may_act ? "Its page may do what you may: do not give the address to others.\n" : "Its page only reads.\n";
  message += "From another machine: " + position.tunnel + "\nand there open " + address + "\n";
  cli::print_text(stdout, message);
}

}  // namespace

Result<int> run_dashboard(const ParsedCommand& command) {
  if (command.has("unix") && command.has("port"))
    return fail(Code::invalid, "--unix and --port exclude each other", "leave one out");
  TRY(ListeningAddress position,
      command.has("unix") ? listen_on_file(command.value("unix", "")) : listen_on_port(command.value("port", "0")));
  Loop loop;
  Watch watch(loop, command.bus);
  const bool may_act = !command.has("read-only");
  DashboardRequests requests(watch, {::getuid(), may_act, position.tunnel});
  TRY(AsyncFd signals, catch_ending_signals(loop));
  auto handler = site(requests, position.address);
  TRY(auto endpoint, http::Endpoint::open_for_tasks(loop, std::move(position.socket), std::move(handler)));
  print_start(position, may_act, command);
  std::fflush(stdout);
  Scope tasks(loop);
  tasks.spawn(look_each_second(loop, watch));
  tasks.spawn(stop_on_request(loop, std::move(signals)));
  loop.run();
  if (!position.file.empty()) ::unlink(position.file.c_str());
  return 0;
}
const ProgramOfCommand kRunDashboard{"dashboard", run_dashboard};

}  // namespace admin
