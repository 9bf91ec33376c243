// Listener: accepts clients on a Unix stream socket, learns who they are from the kernel, keeps their connections.
// Source of the socket: inherited (systemd, LISTEN_FDS) or made here from a path.
#pragma once
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "supervisor/base/fd.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"
#include "supervisor/mcp/connection.h"

namespace mcp {

struct ListenerLimits {
  size_t connections = 1024;
  size_t connections_per_uid = 256;  // over all listeners of the server
  ConnectionLimits connection;
};

// A listening socket at `path`. A socket that nobody serves any more is replaced; its mode is set before anyone
// can connect. Errors: invalid (the path is too long for sockaddr_un), unavailable (somebody listens there),
// or what bind() said.
Result<Fd> listen_at(const std::string& path, mode_t mode);

class Listener {
 public:
  // The data of one connection (RequestContext::user), or why this peer is refused: its first request is answered
  // with that error, then the connection ends.
  using Admit = std::function<Result<std::shared_ptr<void>>(const PeerProcess&)>;

  // Gives a connection, by its socket and record, to whoever keeps both beyond this process. Returns how to end that.
  using Keep = std::function<std::function<void()>(int socket, int record)>;

  // Both references must outlive the listener. Without `keep`, connections end with this process. Errors: invalid,
  // `socket` is not a listening Unix stream socket.
  static Result<std::unique_ptr<Listener>> open(Loop& loop, Server& server, Fd socket, ListenerLimits limits,
                                                Admit admit, Keep keep = {});
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Goes on with a connection that another process left. `forget` ends its keeping.
  void adopt(Fd socket, Fd record, std::function<void()> forget);
  // Accepts no more and closes the listening socket; connections go on.
  void stop();
  // Kept connections take no more requests: who comes next finds them in the sockets.
  void pause();
  // Kept connections are written down and left to who comes next; others end with the listener.
  void leave();
  // Ends the connections whose data (what `admit` returned) is chosen.
  void close_if(const std::function<bool(const std::shared_ptr<void>& user)>& chosen);
  size_t connections() const { return connections_.size(); }

 private:
  Listener(Loop& loop, Server& server, AsyncFd socket, ListenerLimits limits, Admit admit, Keep keep);
  Task<> accept_all();
  enum class Accept { one, none_waits, failed };
  Accept accept_one();
  void serve(Fd socket);
  // Errors: exhausted and internal: it is turned away.
  Result<Connection::Accepted> accept(const Fd& socket);
  void start(Fd socket, Connection::Accepted accepted);

  Loop& loop_;
  Server& server_;
  AsyncFd socket_;
  ListenerLimits limits_;
  Admit admit_;
  Keep keep_;
  Fd spare_;  // given up to accept, and turn away, one client when descriptors have run out
  std::list<std::unique_ptr<Connection>> connections_;
  std::optional<Task<>> accepting_;
};

}  // namespace mcp
