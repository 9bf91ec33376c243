#include "supervisor/upstream/socket_transport.h"

#include <sys/socket.h>

#include <utility>

namespace upstream {

SocketTransport::SocketTransport(Loop& loop, AsyncFd socket)
    : socket_(std::move(socket)),
      lines_(loop, socket_, [this] { listener_.end("does not read its requests"); }),
      tasks_(loop) {}

SocketTransport::~SocketTransport() {
  tasks_.cancel_all();
  lines_.close();
}

void SocketTransport::begin(Listener listener) {
  listener_ = std::move(listener);
  tasks_.spawn(read());
}

Task<> SocketTransport::read() {
  co_await lines_.read(socket_, listener_);
  listener_.end("closed the connection");
}

void SocketTransport::close() {
  lines_.close();
  ::shutdown(socket_.get(), SHUT_WR);  // read() sees the end when the other side closes, too
}

}  // namespace upstream
