#include "supervisor/cli/run.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "supervisor/base/json.h"
#include "supervisor/base/json_value.h"
#include "supervisor/base/version.h"
#include "supervisor/cli/lines.h"
#include "supervisor/cli/terminal.h"

namespace cli {
namespace {

constexpr int64_t kRequestId = 1;

const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text_of(const Json& object, const char* key) {
  const Json* value = member(object, key);
  return value && value->is_string() ? value->get<std::string>() : std::string();
}

std::optional<int> number_of(const Json& object, const char* key) {
  const Json* value = member(object, key);
  if (!value || !value->is_number_integer()) return std::nullopt;
  return value->get<int>();
}

void print_line(std::FILE* to, std::string text) {
  if (text.empty() || text.back() != '\n') text += '\n';
  print_text(to, text);
}

// "memory_bytes: 3.9 GiB was asked for; the policy gives at most 128 MiB, which only an administrator can raise"
std::string clamp_text(const Json& one) {
  return text_of(one, "name") + ": " + text_of(one, "asked") + " was asked for, " + text_of(one, "given") +
         " is given: the limit of the policy, which only an administrator can change";
}

std::string cut_text(const Json& answer, const std::string& stream, const Json& sizes) {
  const Json* bytes = member(sizes, "bytes");
  const bool known = bytes && bytes->is_number_unsigned();
  const std::string of = known ? " of " + std::to_string(bytes->get<uint64_t>()) + " bytes" : "";
  return "only a part of " + stream + of + " is shown; all of it: warder logs --" + stream + " " +
         text_of(answer, "execution_id");
}

void print_answer(const Json& answer) {
  if (const Json* output = member(answer, "output"); output && output->is_array()) {
    for (const auto& line : *output)
      if (line.is_string()) print_line(stdout, line.get<std::string>());
  }
  if (const Json* result = member(answer, "result"))
    print_line(stdout, result->is_string() ? result->get<std::string>() : dump_json(*result));
  if (const auto text = text_of(answer, "stderr"); !text.empty()) print_line(stderr, text);
  if (const Json* lines = member(answer, "stderr"); lines && lines->is_array()) {
    for (const auto& line : *lines)
      if (line.is_string()) print_line(stderr, line.get<std::string>());
  }
  const auto traceback = text_of(answer, "traceback"), error = text_of(answer, "error");
  if (!traceback.empty()) {
    print_line(stderr, traceback);
  } else if (!error.empty()) {
    print_line(stderr, "warder run: " + error);
  }
  if (const auto remedy = text_of(answer, "remedy"); !remedy.empty()) print_line(stderr, "  " + remedy);
  if (const Json* clamped = member(answer, "clamped"); clamped && clamped->is_array())
    for (const auto& one : *clamped) print_line(stderr, "warder run: " + clamp_text(one));
  if (const Json* cut = member(answer, "truncated"); cut && cut->is_object())
    for (const auto& [stream, sizes] : cut->items())
      print_line(stderr, "warder run: " + cut_text(answer, stream, sizes));
}

// The first text block; execute_code writes its answer there as JSON.
std::string first_text(const Json& result) {
  if (const Json* content = member(result, "content"); content && content->is_array()) {
    for (const auto& block : *content)
      if (text_of(block, "type") == "text") return text_of(block, "text");
  }
  return {};
}

void mention_images(const Json& result) {
  const Json* content = member(result, "content");
  if (!content || !content->is_array()) return;
  for (const auto& block : *content)
    if (text_of(block, "type") == "image")
      print_line(stderr,
                 "warder run: an image (" + text_of(block, "mimeType") + ") was returned, too; --json prints it");
}

Result<int> report(const Json& message, const RunOptions& options) {
  if (const Json* error = member(message, "error")) {
    const Json* data = member(*error, "data");
    return fail(Code::unavailable, "warderd answered: " + text_of(*error, "message"),
                data ? text_of(*data, "remedy") : std::string());
  }
  const Json* result = member(message, "result");
  if (!result) return fail(Code::internal, "warderd answered with neither result nor error");
  const std::string text = first_text(*result);
  const auto parsed = parse_json(text);
  const Json answer = parsed && parsed->is_object() ? *parsed : Json::object();

  if (options.print == RunPrint::json) {
    Json shown = *result;
    if (!answer.empty() && member(*result, "content")->size() == 1) shown = answer;
    print_line(stdout, dump_json(shown));
  } else if (answer.empty()) {
    print_line(stderr, text);
  } else {
    print_answer(answer);
    mention_images(*result);
  }
  if (options.receipt == ReceiptPrint::yes) {
    const Json* meta = member(*result, "_meta");
    const Json* receipt = meta ? member(*meta, "org.warder/receipt") : nullptr;
    print_line(stderr, receipt ? receipt->dump(2, ' ', false, Json::error_handler_t::replace)
                               : std::string("warder run: warderd sent no receipt"));
  }
  std::fflush(stdout);
  if (!answer.empty()) return exit_status(answer);
  const Json* failed = member(*result, "isError");
  return failed && *failed == true ? kExitError : 0;
}

// One request and its answer. There is no time limit here: the daemon limits the time of every execution.
class Conversation {
 public:
  explicit Conversation(Fd daemon) : daemon_(std::move(daemon)) {}

  Result<int> hold(const RunOptions& options) {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGINT);
    ::sigaddset(&set, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    signals_ = Fd(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
    out_.add(run_request(options, kRequestId));
    for (;;) {
      if (out_.flush(daemon_.get()) == LineOutbox::State::broken) return gone();
      pollfd polled[2] = {{daemon_.get(), static_cast<short>(POLLIN | (out_.pending() ? POLLOUT : 0)), 0},
                          {signals_.get(), POLLIN, 0}};
      if (::poll(polled, 2, -1) < 0 && errno != EINTR) return fail_errno(errno, "poll");
      if (polled[1].revents) return cancel();
      if (!(polled[0].revents & ~POLLOUT)) continue;
      const ssize_t got = in_.fill(daemon_.get());
      if (got == -EAGAIN || got == -EINTR) continue;
      if (got <= 0) return gone();
      while (const auto line = in_.next()) {
        if (line->oversized) return fail(Code::internal, "the answer is longer than 16 MiB");
        auto message = parse_json(line->text);
        if (!message) return tl::unexpected(std::move(message).error().within("answer of warderd"));
        if (const Json* id = member(*message, "id"); id && *id == kRequestId) return report(*message, options);
        if (!member(*message, "id") && member(*message, "error")) return report(*message, options);
      }
    }
  }

 private:
  tl::unexpected<Error> gone() const {
    return fail(Code::unavailable, "warderd closed the connection before it answered; the program may have run");
  }
  int cancel() {
    const Json params = {{"requestId", kRequestId}, {"reason", "interrupted by the user"}};
    const Json message = {{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", params}};
    out_.add(dump_json(message));
    (void)out_.flush(daemon_.get());
    return kExitCancelled;
  }

  Fd daemon_, signals_;
  LineReader in_;
  LineOutbox out_;
};

}  // namespace

std::string language_of(std::string_view file) {
  if (file.ends_with(".js") || file.ends_with(".mjs") || file.ends_with(".cjs")) return "javascript";
  if (file.ends_with(".ts") || file.ends_with(".mts") || file.ends_with(".cts")) return "typescript";
  if (file.ends_with(".sh") || file.ends_with(".bash")) return "shell";
  return "python";
}

Result<std::pair<std::string, std::string>> parse_context(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return fail(Code::invalid, "--context '" + std::string(text) + "' is not NAME=VALUE");
  return std::pair(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
}

std::string run_request(const RunOptions& options, int64_t id) {
  Json arguments = {{"code", options.code}, {"language", options.language}};
  if (options.timeout_seconds) arguments["timeout_seconds"] = *options.timeout_seconds;
  if (options.memory_mb) arguments["memory_mb"] = *options.memory_mb;
  for (const auto& [name, value] : options.context) {
    auto parsed = parse_json(value);
    arguments["context_vars"][name] = parsed ? std::move(*parsed) : Json(value);
  }
  Json meta = {{"io.modelcontextprotocol/protocolVersion", "2026-07-28"},
               {"io.modelcontextprotocol/clientCapabilities", Json::object()},
               {"io.modelcontextprotocol/clientInfo", {{"name", "warder run"}, {"version", kWarderVersion}}}};
  Json params = {{"name", "execute_code"}, {"arguments", std::move(arguments)}, {"_meta", std::move(meta)}};
  const Json request = {{"jsonrpc", "2.0"}, {"id", id}, {"method", "tools/call"}, {"params", std::move(params)}};
  return dump_json(request);
}

int exit_status(const Json& answer) {
  const std::string outcome = text_of(answer, "outcome");
  if (outcome == "ok") return 0;
  if (outcome == "exit") return number_of(answer, "exit_status").value_or(kExitError) & 0xff;
  if (outcome == "signal") {
    const auto number = number_of(answer, "signal");
    return number ? 128 + (*number & 0x7f) : kExitError;
  }
  if (outcome == "timeout" || outcome == "cpu_time") return kExitTimeout;
  if (outcome == "memory") return kExitMemory;
  if (outcome == "cancelled") return kExitCancelled;
  if (outcome == "internal") return kExitUnavailable;
  const Json* success = member(answer, "success");
  return outcome.empty() && success && *success == true ? 0 : kExitError;
}

Result<int> run_code(const SocketPath& socket, const RunOptions& options) {
  TRY(Fd daemon, connect_daemon(socket));
  Conversation conversation(std::move(daemon));
  return conversation.hold(options);
}

}  // namespace cli
