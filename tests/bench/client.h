// Client: one MCP connection over the Unix socket, one request at a time, blocking. Its own work lies outside of what
// is measured: requests are text before the clock starts, answers are parsed after it stopped.
// Errors: internal, with what the daemon said.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/clock.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"

namespace bench {

class Client {
 public:
  static Result<Client> connect(const std::string& socket);

  struct Exchange {
    Monotonic::time_point sent, received;  // before the first byte was written, after the last was read
    double us() const { return std::chrono::duration<double, std::micro>(received - sent).count(); }
    std::string_view answer;  // one line, valid until the next exchange
  };
  // `line` is one JSON-RPC request and its newline.
  Result<Exchange> exchange(std::string_view line);

 private:
  explicit Client(Fd socket) : socket_(std::move(socket)) {}
  Fd socket_;
  std::string received_;
};

// A request of the modern era with its newline. `params` gets the version and the capabilities.
std::string make_request(std::string_view method, Json params);
std::string make_call(std::string_view tool, Json arguments);

// The result of an answer's line.
Result<Json> result_of(std::string_view answer);

}  // namespace bench
