// ConnectionRecord: the state that the next process needs to continue a connection. It is always up to date, in a
// memory file, so it exists however this process ends. SavedConnection: a stored connection with its record.
// Source: Connection. Read by: Listener::adopt() of the next daemon.
// The record holds the client's handshake, the ids of requests in work and bytes that were not handled. It holds no
// request in work and no answer.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"
#include "supervisor/protocol/mcp/jsonrpc.h"

namespace mcp {

class ConnectionRecord {
 public:
  // What the connection did when its process ended: it had read or written a part of a message.
  enum Busy : uint32_t { reading = 1, writing = 2 };
  struct Read {
    Json handshake;                // Conversation::settings(); null before `initialize`
    std::vector<RequestId> calls;  // requests that were not answered
    uint32_t busy = 0;             // bits of Busy
    std::string rest;              // bytes that were read from the socket and not handled
  };

  // An empty memory file. Errors: internal, no descriptor or memory is left.
  static Result<ConnectionRecord> make();
  // A record that another process made. The constructor does not read the file.
  explicit ConnectionRecord(Fd file) : file_(std::move(file)) {}

  int fd() const { return file_.get(); }
  // Errors: invalid, the record is not whole or has another format: the connection cannot continue.
  Result<Read> read() const;

  // `handshake` is JSON text. `ids` are the ids of the requests in work, each as JSON text, separated by commas. A
  // failed write makes the record invalid.
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

class SavedConnection {
 public:
  // `forget` removes the connection from the store. The destructor calls it unless leave() was called.
  SavedConnection(ConnectionRecord of, std::function<void()> forget)
      : record(std::move(of)), forget_(std::move(forget)) {}
  SavedConnection(SavedConnection&& other) noexcept
      : record(std::move(other.record)),
        handshake(std::move(other.handshake)),
        forget_(std::exchange(other.forget_, nullptr)) {}
  SavedConnection& operator=(SavedConnection&&) = delete;
  ~SavedConnection() {
    if (forget_) forget_();
  }
  // Leaves the connection in the store for the next process.
  void leave() { forget_ = nullptr; }
  bool is_left() const { return !forget_; }

  ConnectionRecord record;
  std::string handshake;  // as the record has it: JSON text, empty before `initialize`

 private:
  std::function<void()> forget_;
};

}  // namespace mcp
