#include "supervisor/programs/cli/request.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/version.h"
#include "supervisor/programs/cli/lines.h"

namespace cli {
namespace {

// The error of resources/read for a resource that does not exist. Its number is also that of other mistakes.
constexpr char kNoResource[] = "Resource not found";
constexpr int kInvalidParams = -32602;  // JSON-RPC

// One request and its answer.
class OneRequest {
 public:
  OneRequest(Fd daemon, int64_t id) : id_(id), daemon_(std::move(daemon)) {}

  Result<std::optional<Json>> ask(const std::string& request) {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGINT);
    ::sigaddset(&set, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    signals_ = Fd(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
    out_.add(request);
    for (;;) {
      if (out_.flush(daemon_.get()) == LineOutbox::State::broken) return disconnected();
      pollfd polled[2] = {{daemon_.get(), static_cast<short>(POLLIN | (out_.pending() ? POLLOUT : 0)), 0},
                          {signals_.get(), POLLIN, 0}};
      if (::poll(polled, 2, -1) < 0 && errno != EINTR) return fail_errno(errno, "poll");
      if (polled[1].revents) return cancel();
      if (!(polled[0].revents & ~POLLOUT)) continue;
      const ssize_t got = fill(in_, daemon_.get());
      if (got == -EAGAIN || got == -EINTR) continue;
      if (got <= 0) return disconnected();
      while (const auto line = in_.next()) {
        if (line->kind == LineSplitter::Kind::too_long) return fail(Code::internal, "the answer is longer than 16 MiB");
        auto message = parse_json(line->text);
        if (!message) return tl::unexpected(std::move(message).error().within("answer of warderd"));
        if (answers(*message)) return std::optional(*std::move(message));
      }
    }
  }

 private:
  // Also an error without an id: the daemon could not read the request.
  bool answers(const Json& message) const {
    if (!message.is_object()) return false;
    const auto id = message.find("id");
    if (id == message.end() || id->is_null()) return message.contains("error");
    return *id == id_;
  }
  tl::unexpected<Error> disconnected() const {
    return fail(Code::unavailable, "warderd closed the connection before it answered; the program may have run");
  }
  std::optional<Json> cancel() {
    const Json params = {{"requestId", id_}, {"reason", "interrupted by the user"}};
    const Json message = {{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", params}};
    out_.add(dump_json(message));
    (void)out_.flush(daemon_.get());
    return std::nullopt;
  }

  const int64_t id_;
  Fd daemon_, signals_;
  LineSplitter in_{kMaxLineBytes};
  LineOutbox out_;
};

}  // namespace

std::string request_text(const char* method, Json params, int64_t id) {
  Json& meta = params["_meta"];
  meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28";
  meta["io.modelcontextprotocol/clientCapabilities"] = Json::object();
  meta["io.modelcontextprotocol/clientInfo"] = {{"name", "warder"}, {"version", kWarderVersion}};
  const Json request = {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}};
  return dump_json(request);
}

Result<std::optional<Json>> ask_daemon(const SocketPath& socket, const std::string& request, int64_t id) {
  TRY(Fd daemon, connect_daemon(socket));
  OneRequest one_request(std::move(daemon), id);
  return one_request.ask(request);
}

Result<std::optional<Json>> result_of(const SocketPath& socket, const char* method, Json params) {
  constexpr int64_t kOnlyRequest = 1;
  const std::string request = request_text(method, std::move(params), kOnlyRequest);
  TRY(std::optional<Json> message, ask_daemon(socket, request, kOnlyRequest));
  if (!message) return std::optional<Json>();
  if (const auto error = message->find("error"); error != message->end() && error->is_object()) {
    const std::string text = error->value("message", "an error");
    if (text == kNoResource) return fail(Code::not_found, "warderd answered: " + text);
    if (error->value("code", 0) == kInvalidParams) return fail(Code::invalid, "warderd answered: " + text);
    return fail(Code::unavailable, "warderd answered: " + text);
  }
  const auto result = message->find("result");
  if (result == message->end()) return fail(Code::internal, "warderd answered with neither result nor error");
  return std::optional<Json>(std::move(*result));
}

std::string text_of_result(const Json& result) {
  if (!result.is_object()) return {};
  const auto content = result.find("content");
  if (content == result.end() || !content->is_array()) return {};
  for (const Json& block : *content) {
    if (!block.is_object() || block.value("type", Json()) != "text") continue;
    const auto text = block.find("text");
    if (text != block.end() && text->is_string()) return text->get<std::string>();
  }
  return {};
}

}  // namespace cli
