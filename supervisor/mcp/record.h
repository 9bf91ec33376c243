// ConnectionRecord: what another process needs to go on with a connection, kept up to date in a memory file, so that
// it is there however this process ends. Kept: a connection that is left to such a successor, with its record.
// Source: the connection. Read by: Listener::adopt() of the daemon that is started next.
// It holds what the client said about itself and the ids it waits for, never what was asked or answered.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/json_fwd.h"
#include "supervisor/base/result.h"
#include "supervisor/mcp/jsonrpc.h"

namespace mcp {

class ConnectionRecord {
 public:
  // What a connection was in the middle of when its process ended.
  enum Busy : uint32_t { reading = 1, writing = 2 };
  struct Read {
    Json handshake;                // as the connection gave it; null before `initialize`
    std::vector<RequestId> calls;  // that were not answered
    uint32_t busy = 0;             // of Busy
    std::string rest;              // bytes that were taken from the socket and not handled
  };

  // An empty memory file. Errors: internal, no descriptor or memory is left.
  static Result<ConnectionRecord> make();
  // One that another process made. Nothing is read yet.
  explicit ConnectionRecord(Fd file) : file_(std::move(file)) {}

  int fd() const { return file_.get(); }
  // Errors: invalid, it is not whole or of another format: nobody can go on with that connection.
  Result<Read> read() const;

  // `handshake` is JSON text, `ids` the ids of the requests in work, each JSON text, with commas between. What cannot
  // be written makes the record invalid.
  void write(std::string_view handshake, std::string_view ids);
  void set_busy(Busy kind, bool is);
  void write_rest(std::string_view rest);

 private:
  struct Header;
  void make_invalid();
  Fd file_;
  uint32_t busy_ = 0;
  uint32_t text_bytes_ = 0;
};

class KeptConnection {
 public:
  // `forget`: nobody shall go on with the connection.
  KeptConnection(ConnectionRecord of, std::function<void()> forget)
      : record(std::move(of)), forget_(std::move(forget)) {}
  KeptConnection(KeptConnection&& other) noexcept
      : record(std::move(other.record)), forget_(std::exchange(other.forget_, nullptr)) {}
  KeptConnection& operator=(KeptConnection&&) = delete;
  ~KeptConnection() {
    if (forget_) forget_();
  }
  // To the successor; not to be forgotten.
  void leave() { forget_ = nullptr; }
  bool is_left() const { return !forget_; }

  ConnectionRecord record;

 private:
  std::function<void()> forget_;
};

}  // namespace mcp
