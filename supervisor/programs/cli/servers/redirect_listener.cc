#include "supervisor/programs/cli/servers/redirect_listener.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "supervisor/base/loopback.h"

namespace admin {
namespace {

using namespace std::chrono_literals;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr size_t kMaxHeadBytes = 16 << 10;
constexpr auto kOneRequest = 5s;  // for a client that connects and is silent
constexpr std::string_view kCallback = "/callback";

// False: not in time.
bool is_readable_before(int fd, SteadyTime until) {
  const auto remaining =
      std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  if (remaining.count() <= 0) return false;
  pollfd wait{fd, POLLIN, 0};
  return ::poll(&wait, 1, static_cast<int>(remaining.count())) > 0;
}

// The target of the first line, "/callback?code=..."; empty: an unknown request.
std::string read_target(int client) {
  const SteadyTime until = std::chrono::steady_clock::now() + kOneRequest;
  std::string head;
  while (head.find("\r\n\r\n") == head.npos && head.size() < kMaxHeadBytes) {
    char part[4096];
    if (!is_readable_before(client, until)) return {};
    const ssize_t got = ::recv(client, part, sizeof part, 0);
    if (got <= 0) return {};
    head.append(part, static_cast<size_t>(got));
  }
  const std::string line = head.substr(0, head.find("\r\n"));
  if (!line.starts_with("GET ") || !line.ends_with(" HTTP/1.1")) return {};
  const std::string target = line.substr(4, line.size() - 4 - 9);
  return target.find(' ') == target.npos ? target : std::string();
}

// The user of the process at the other end of a connection over IPv4 loopback: the column "uid" of proc_net_tcp(5).
std::optional<uid_t> user_of_peer(int client) {
  sockaddr_in peer{}, own{};
  socklen_t size = sizeof peer;
  if (::getpeername(client, reinterpret_cast<sockaddr*>(&peer), &size) < 0) return {};
  size = sizeof own;
  if (::getsockname(client, reinterpret_cast<sockaddr*>(&own), &size) < 0) return {};
  const auto text_of = [](const sockaddr_in& address) {
    return fmt::format("{:08X}:{:04X}", address.sin_addr.s_addr, ntohs(address.sin_port));
  };
  const std::string from = text_of(peer), to = text_of(own);
  std::ifstream table("/proc/net/tcp");
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string number, local, remote, state, queues, timer, retransmits;
    uid_t uid = 0;
    if (fields >> number >> local >> remote >> state >> queues >> timer >> retransmits >> uid && local == from &&
        remote == to)
      return uid;
  }
  return {};
}

// The users that may finish the login: this user, root, and the user that called sudo. Another user of the machine may
// have seen the page's URL in the list of processes, and could log in with another account.
bool is_own_user(int client) {
  const auto user = user_of_peer(client);
  if (!user) return false;
  if (*user == ::geteuid() || *user == 0) return true;
  const char* caller = ::geteuid() == 0 ? ::getenv("SUDO_UID") : nullptr;
  return caller && std::to_string(*user) == caller;
}

void answer(int client, const char* status, std::string_view text) {
  const std::string reply = fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n"
      "Referrer-Policy: no-referrer\r\nCache-Control: no-store\r\n\r\n{}",
      status, text.size(), text);
  (void)!::send(client, reply.data(), reply.size(), MSG_NOSIGNAL);
  ::shutdown(client, SHUT_WR);
}

}  // namespace

std::string state_in(std::string_view url) {
  std::string_view query = url.substr(std::min(url.find('?'), url.size()));
  query = query.substr(0, query.find('#'));
  while (!query.empty()) {
    query.remove_prefix(1);  // '?' or '&'
    const std::string_view field = query.substr(0, query.find('&'));
    if (field.starts_with("state=")) return std::string(field.substr(6));
    query.remove_prefix(field.size());
  }
  return {};
}

Result<RedirectListener> RedirectListener::open(uint16_t port) {
  LoopbackAddress address;
  address.v4 = INADDR_LOOPBACK;
  address.port = port;
  TRY(Fd socket, listen_on(address));
  sockaddr_in bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &size) < 0)
    return fail_errno(errno, "find the port for the redirect");
  return RedirectListener(std::move(socket), ntohs(bound.sin_port));
}

std::string RedirectListener::redirect() const { return fmt::format("http://127.0.0.1:{}{}", port_, kCallback); }

Result<std::string> RedirectListener::wait(const std::string& state, std::chrono::seconds limit) const {
  const SteadyTime until = std::chrono::steady_clock::now() + limit;
  while (is_readable_before(socket_.get(), until)) {
    const Fd client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client) continue;
    if (!is_own_user(client.get())) {  // not read: it could also hold up the right one
      answer(client.get(), "403 Forbidden", "Only the user that began this login can finish it.\n");
      continue;
    }
    const std::string target = read_target(client.get());
    const bool is_redirect = target.starts_with(std::string(kCallback) + "?");
    if (!is_redirect || state.empty() || state_in(target) != state) {
      answer(client.get(), is_redirect ? "400 Bad Request" : "404 Not Found", "This page is not part of the login.\n");
      continue;
    }
    answer(client.get(), "200 OK",
           "Warder has the answer of the login. You can close this page; the terminal says more.\n");
    return fmt::format("http://127.0.0.1:{}{}", port_, target);
  }
  return fail(Code::unavailable, "nobody finished the login in time",
              "try again; without a browser on this machine: --paste");
}

}  // namespace admin
