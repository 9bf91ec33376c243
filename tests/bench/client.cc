#include "tests/bench/client.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "tests/bench/process.h"

namespace bench {

Result<Client> Client::connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return fail(Code::invalid, "the socket's path is too long: " + path);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno(errno, "socket");
  timeval patience{kPatience.count(), 0};
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0)
    return fail_errno(errno, "setsockopt");
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) < 0)
    return fail_errno(errno, "connect to " + path);
  return Client(std::move(socket));
}

Result<Client::Exchange> Client::exchange(std::string_view line) {
  constexpr size_t kPart = 256 * 1024;
  Exchange exchange;
  size_t length = 0;
  if (received_.size() < kPart) received_.resize(kPart);
  exchange.sent = Monotonic::now();
  while (!line.empty()) {
    ssize_t n = ::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "send to the daemon");
    line.remove_prefix(static_cast<size_t>(n));
  }
  for (;;) {
    if (received_.size() - length < kPart) received_.resize(received_.size() * 2);
    ssize_t n = ::recv(socket_.get(), received_.data() + length, received_.size() - length, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "receive from the daemon");
    if (n == 0) return fail(Code::internal, "the daemon closed the connection");
    length += static_cast<size_t>(n);
    if (received_[length - 1] == '\n') break;  // one request at a time: nothing follows an answer
  }
  exchange.received = Monotonic::now();
  exchange.answer = std::string_view(received_).substr(0, length);
  return exchange;
}

std::string make_request(std::string_view method, Json params) {
  params["_meta"] = {{"io.modelcontextprotocol/protocolVersion", "2026-07-28"},
                     {"io.modelcontextprotocol/clientCapabilities", Json::object()},
                     {"org.warder/receipt", true}};
  return dump_json(Json{{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", std::move(params)}}) + "\n";
}

std::string make_call(std::string_view tool, Json arguments) {
  return make_request("tools/call", Json{{"name", tool}, {"arguments", std::move(arguments)}});
}

Result<Json> result_of(std::string_view answer) {
  TRY(Json message, parse_json(answer));
  auto result = message.find("result");
  if (result == message.end()) return fail(Code::internal, "the daemon answered " + std::string(answer.substr(0, 500)));
  return std::move(*result);
}

}  // namespace bench
