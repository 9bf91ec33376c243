// Listener: accepts clients on a Unix stream socket, asks the kernel for their credentials, and owns their connections.
// Source of the socket: inherited (systemd, LISTEN_FDS) or made by listen_at(). Used by:
// supervisor/daemon/client_doors.cc.
#pragma once
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "supervisor/base/fd.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"
#include "supervisor/protocol/mcp/connection.h"

namespace mcp {

struct ListenerLimits {
  size_t connections = 1024;
  size_t connections_per_principal = 256;  // over all listeners of the server
  ConnectionLimits connection;
};

// Makes a listening socket at `path`. A socket file without a server is replaced. The file's mode is set before a
// client can connect. Errors: invalid (the path is empty or too long for sockaddr_un), unavailable (another server
// listens there, or the path is no socket), or the errno of a failed call, for example bind().
Result<Fd> listen_at(const std::string& path, mode_t mode);

class Listener {
 public:
  // Returns the data of one connection (RequestContext::user), or an error that refuses the principal: its first
  // request is answered with that error, then the connection ends.
  using Admit = std::function<Result<std::shared_ptr<ConnectionUser>>(const Principal&)>;

  // Stores a connection's socket and record outside this process (supervisor/daemon/systemd/fd_store.h). Returns a
  // function that removes both from the store; empty: they were not stored.
  using Keep = std::function<std::function<void()>(int socket, int record)>;

  // Both references must outlive the listener. Without `keep`, connections end with this process. Errors: invalid,
  // `socket` is not a listening Unix stream socket.
  static Result<std::unique_ptr<Listener>> open(Loop& loop, Server& server, Fd socket, ListenerLimits limits,
                                                Admit admit, Keep keep = {});
  ~Listener();
  // From now on, clients whose first byte begins an HTTP request are handed to `serve`.
  void set_http(Connection::ServeHttp serve) {
    serve_http_ = std::make_shared<const Connection::ServeHttp>(std::move(serve));
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Serves a connected stream socket that another part of the program has accepted, for that principal. It ends with
  // this process.
  void serve_as(Fd socket, Principal principal);
  // Continues a connection of the previous process. `forget` removes it from the store. A connection that cannot
  // continue gets an error where possible, and is closed.
  void adopt(Fd socket, Fd record, std::function<void()> forget);
  // Accepts no more clients and closes the listening socket. Open connections continue.
  void stop();
  // Stored connections read no more requests: the next process finds them in the sockets.
  void pause();
  // Writes the records of stored connections and leaves these to the next process. Other connections end with the
  // listener.
  void leave();
  // Ends each connection for which `chosen` returns true; `user` is the data that `admit` returned.
  void close_if(const std::function<bool(const std::shared_ptr<ConnectionUser>& user)>& chosen);
  size_t connections() const { return connections_.size(); }

 private:
  Listener(Loop& loop, Server& server, AsyncFd socket, ListenerLimits limits, Admit admit, Keep keep);
  Task<> accept_all();
  enum class Accept { one, none_waits, failed };
  Accept accept_client();
  void serve(Fd socket);
  // Checks the limits and asks `admit`. Errors: exhausted and internal: the client must be turned away.
  Result<Connection::Accepted> accept(const Fd& socket);
  Result<Connection::Accepted> accept(Principal principal);
  void start(Fd socket, Connection::Accepted accepted);

  Loop& loop_;
  Server& server_;
  AsyncFd socket_;
  ListenerLimits limits_;
  Admit admit_;
  Keep keep_;
  std::shared_ptr<const Connection::ServeHttp> serve_http_;
  Fd spare_;  // closed to accept, and turn away, one client when descriptors have run out
  std::list<std::unique_ptr<Connection>> connections_;
  std::optional<Task<>> accepting_;
};

}  // namespace mcp
