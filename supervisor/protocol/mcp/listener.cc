#include "supervisor/protocol/mcp/listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "supervisor/base/log.h"

namespace mcp {

namespace {

constexpr int kBacklog = 1024;
constexpr int kAcceptsPerTurn = 16;
constexpr std::chrono::milliseconds kPause{100};  // after accept() failed, also with the spare descriptor

Fd spare_descriptor() { return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

int option(int fd, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

// The peer's credentials; nullopt when the kernel does not report all groups: a rule may depend on a missing group.
std::optional<PeerProcess> peer_of(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0) return {};
  PeerProcess peer{credentials.pid, credentials.uid, credentials.gid, {}};
  size = 0;
  int rc = 0;
  do {  // with ERANGE the kernel returns the needed size, which does not change for a connection
    peer.groups.resize(size / sizeof(gid_t));
    rc = ::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, peer.groups.data(), &size);
  } while (rc < 0 && errno == ERANGE && size > peer.groups.size() * sizeof(gid_t));
  if (rc < 0) return {};
  peer.groups.resize(size / sizeof(gid_t));
  return peer;
}

enum class Before { nothing, requests };  // the client's earlier messages on this connection

// Sends one error without waiting; a failure is ignored. The line fits into the empty buffer of a new connection.
void turn_away(const Fd& socket, std::string_view why, Before before) {
  Json data = {{"code", "exhausted"}};
  if (before == Before::nothing) data[meta_key::kNotRun] = "refused";
  const std::string line = error_line({}, {ErrorCode::internal_error, std::string(why), std::move(data)}) + "\n";
  (void)!::send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Whether a server listens at `address`.
bool is_served(const sockaddr_un& address) {
  Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno == EAGAIN;
}

// Binds with umask 0: the umask would remove bits from the mode that the caller wants.
int bind_at(const Fd& socket, const sockaddr_un& address) {
  const mode_t before = ::umask(0);
  const int bound = ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  ::umask(before);
  errno = error;
  return bound;
}

}  // namespace

Result<Fd> listen_at(const std::string& path, mode_t mode) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return fail(Code::invalid,
                fmt::format("socket path '{}' has {} bytes, Linux allows 1 to {}", path, path.size(),
                            sizeof address.sun_path - 1),
                "choose a shorter path");
  }
  std::memcpy(address.sun_path, path.data(), path.size());

  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno(errno, "socket");
  // bind() gives the file the socket's mode. With chmod() after bind(), a client could connect before it.
  if (::fchmod(socket.get(), mode) < 0) return fail_errno(errno, "fchmod on a socket");
  if (bind_at(socket, address) < 0) {
    if (errno != EADDRINUSE) return fail_errno(errno, "bind '" + path + "'");
    struct stat existing {};
    if (::lstat(path.c_str(), &existing) == 0 && !S_ISSOCK(existing.st_mode)) {
      return fail(Code::unavailable, "'" + path + "' exists and is not a socket",
                  "remove the file, or choose another path");
    }
    if (is_served(address)) {
      return fail(Code::unavailable, "another server listens on '" + path + "'",
                  "stop that server, or choose another path");
    }
    if (::unlink(path.c_str()) < 0 && errno != ENOENT) return fail_errno(errno, "remove stale socket '" + path + "'");
    if (bind_at(socket, address) < 0) return fail_errno(errno, "bind '" + path + "'");
  }
  if (::listen(socket.get(), kBacklog) < 0) return fail_errno(errno, "listen on '" + path + "'");
  return socket;
}

Result<std::unique_ptr<Listener>> Listener::open(Loop& loop, Server& server, Fd socket, ListenerLimits limits,
                                                 Admit admit, Keep keep) {
  if (option(socket.get(), SO_DOMAIN) != AF_UNIX || option(socket.get(), SO_TYPE) != SOCK_STREAM ||
      option(socket.get(), SO_ACCEPTCONN) != 1) {
    return fail(Code::invalid, fmt::format("descriptor {} is not a listening Unix stream socket", socket.get()));
  }
  const int flags = ::fcntl(socket.get(), F_GETFL);
  if (flags < 0 || ::fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK) < 0) return fail_errno(errno, "fcntl");
  TRY(AsyncFd watched, AsyncFd::adopt(loop, std::move(socket)));
  std::unique_ptr<Listener> listener(
      new Listener(loop, server, std::move(watched), limits, std::move(admit), std::move(keep)));
  listener->accepting_.emplace(listener->accept_all());
  listener->accepting_->resume();
  return listener;
}

Listener::Listener(Loop& loop, Server& server, AsyncFd socket, ListenerLimits limits, Admit admit, Keep keep)
    : loop_(loop),
      server_(server),
      socket_(std::move(socket)),
      limits_(limits),
      admit_(std::move(admit)),
      keep_(std::move(keep)),
      spare_(spare_descriptor()) {}

Listener::~Listener() { stop(); }

void Listener::close_if(const std::function<bool(const std::shared_ptr<ConnectionUser>& user)>& chosen) {
  std::vector<Connection*> closing;  // collected first: close() may remove its connection from the list
  for (const auto& connection : connections_) {
    if (connection && connection->user() && chosen(connection->user())) closing.push_back(connection.get());
  }
  for (Connection* connection : closing) connection->close();
}

void Listener::stop() {
  accepting_.reset();
  socket_.close();
}

Task<> Listener::accept_all() {
  for (;;) {
    co_await socket_.readable();
    Accept last = Accept::one;
    for (int i = 0; last == Accept::one && i < kAcceptsPerTurn; i++) last = accept_client();
    if (last == Accept::failed) {
      co_await sleep_for(loop_, kPause);  // the client still waits in the backlog, and would wake this task at once
      if (!spare_) spare_ = spare_descriptor();
    }
  }
}

Listener::Accept Listener::accept_client() {
  Fd client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (client) {
    serve(std::move(client));
    return Accept::one;
  }
  const int error = errno;
  if (error == EINTR || error == ECONNABORTED) return Accept::one;
  if (error == EAGAIN || error == EWOULDBLOCK) return Accept::none_waits;
  if (error != EMFILE && error != ENFILE) return Accept::failed;
  // Accept the client with the spare descriptor and turn it away: in the backlog it would wait for ever.
  spare_.reset();
  client.reset(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!client) return Accept::failed;
  turn_away(client, "the server has no free file descriptors; try again later", Before::nothing);
  client.reset();
  spare_ = spare_descriptor();
  return spare_ ? Accept::one : Accept::failed;
}

Result<Connection::Accepted> Listener::accept(const Fd& socket) {
  auto peer = peer_of(socket.get());
  if (!peer) return fail(Code::internal, "the kernel does not name your user");
  return accept(Principal(*std::move(peer)));
}

Result<Connection::Accepted> Listener::accept(Principal principal) {
  if (connections_.size() >= limits_.connections) {
    return fail(Code::exhausted,
                fmt::format("the server already has {} connections; try again later", connections_.size()));
  }
  Connection::Accepted accepted;
  accepted.principal = std::move(principal);
  accepted.account = server_.accounts().of(accepted.principal);
  if (accepted.account->connections >= limits_.connections_per_principal) {
    return fail(Code::exhausted, fmt::format("{} already has {} connections; close one", accepted.principal.displayed(),
                                             accepted.account->connections));
  }
  auto admitted = admit_(accepted.principal);
  if (admitted) {
    accepted.user = *std::move(admitted);
  } else {
    accepted.refusal = std::move(admitted).error();
  }
  return accepted;
}

void Listener::serve(Fd socket) {
  auto accepted = accept(socket);
  if (!accepted) return turn_away(socket, accepted.error().what, Before::nothing);
  accepted->serve_http = serve_http_;
  if (keep_ && !accepted->refusal) {
    if (auto record = ConnectionRecord::make()) {  // without a record, the connection ends with this process
      record->write({}, {});
      auto forget = keep_(socket.get(), record->fd());
      if (forget) accepted->saved.emplace(*std::move(record), std::move(forget));
    }
  }
  start(std::move(socket), *std::move(accepted));
}

void Listener::serve_as(Fd socket, Principal principal) {
  auto accepted = accept(std::move(principal));
  if (!accepted) return turn_away(socket, accepted.error().what, Before::nothing);
  start(std::move(socket), *std::move(accepted));
}

void Listener::adopt(Fd socket, Fd record, std::function<void()> forget) {
  SavedConnection connection(ConnectionRecord(std::move(record)), std::move(forget));
  auto before = connection.record.read();
  auto accepted = accept(socket);
  std::string why;
  if (!accepted) {
    why = accepted.error().what;
  } else if (!before || before->busy != 0) {
    why =
        "warderd was restarted while it read or wrote a message of this connection; the message is lost; connect again";
  }
  if (!why.empty()) {
    // If a part of an answer was written, the client would read another line as the rest of that answer.
    if (before && (before->busy & ConnectionRecord::writing) == 0) turn_away(socket, why, Before::requests);
    ::shutdown(socket.get(), SHUT_RDWR);
    return;
  }
  accepted->saved.emplace(std::move(connection));
  accepted->before = *std::move(before);
  start(std::move(socket), *std::move(accepted));
}

void Listener::start(Fd socket, Connection::Accepted accepted) {
  // The list has the entry before the connection opens, because a connection may end while it opens.
  const auto position = connections_.emplace(connections_.end());
  auto on_end = [this, position] { connections_.erase(position); };
  auto connection =
      Connection::open(loop_, server_, std::move(socket), std::move(accepted), limits_.connection, on_end);
  if (!connection) {
    connections_.erase(position);
    return;
  }
  *position = *std::move(connection);
}

void Listener::pause() {
  for (const auto& connection : connections_)
    if (connection) connection->pause();
}

void Listener::leave() {
  for (const auto& connection : connections_)
    if (connection) connection->leave();
}

}  // namespace mcp
