// SocketTransport: carries each message as one line over a connected stream socket. It ends when the other side closes
// the socket, or does not read for too long. Destroying it closes the socket.
// Used by: supervisor/cluster/link/far_connection.cc.
#pragma once
#include <string>

#include "supervisor/upstream/line_stream.h"

namespace upstream {

class SocketTransport : public Transport {
 public:
  // `socket`: connected, non-blocking.
  SocketTransport(Loop& loop, AsyncFd socket);
  ~SocketTransport() override;

  void begin(Listener listener) override;
  void send(const Json& message, Arguments arguments) override { lines_.send(message, std::move(arguments)); }
  void cancel(int64_t id) override { lines_.send_cancelled(id); }
  void answered(int64_t) override {}
  void speak(const std::string&) override {}
  void close() override;
  bool full() const override { return lines_.full(); }
  uint64_t received() const override { return lines_.received(); }
  bool is_taking() const override { return lines_.is_taking(); }

 private:
  Task<> read();

  AsyncFd socket_;
  Listener listener_;
  LineStream lines_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace upstream
