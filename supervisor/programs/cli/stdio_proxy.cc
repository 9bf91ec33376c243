#include "supervisor/programs/cli/stdio_proxy.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "supervisor/base/clock.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/programs/cli/lines.h"
#include "supervisor/programs/cli/relay.h"

namespace cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirstDelay = 20ms;  // between attempts to connect; doubled up to kMaxDelay
constexpr auto kMaxDelay = 1s;
constexpr auto kGrace = 2s;      // how long requests wait for a daemon that was connected before
constexpr auto kLastWords = 1s;  // how long the proxy waits for answers after the end of its input

void say(const std::string& text) {
  const std::string line = "warder mcp: " + text + "\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

std::string hello_line() {
  Json params = {{"client_pid", ::getppid()}};
  if (char* cwd = ::getcwd(nullptr, 0)) {
    params["cwd"] = cwd;
    std::free(cwd);
  }
  if (const char* project = ::getenv("CLAUDE_PROJECT_DIR")) params["project_dir"] = project;
  const Json hello = {{"jsonrpc", "2.0"}, {"method", "notifications/org.warder/hello"}, {"params", std::move(params)}};
  return dump_json(hello);
}

class StdioProxy {
 public:
  explicit StdioProxy(const SocketPath& socket)
      : socket_(socket), relay_(hello_line()), out_(open_for_writing(STDOUT_FILENO)) {}

  Result<int> run();

 private:
  Result<> watch_signals();
  bool stop_requested();
  void try_to_connect();
  void lose_connection();
  void give_up();
  void on_answer();  // the daemon answers on this connection
  void read_client();
  void read_daemon();
  bool pass_lines();  // true: a line was passed, call again
  bool flush();       // false: the client has left
  bool has_input() const { return !from_client_.buffered().empty() || from_client_.is_discarding(); }
  bool finished();
  int wait();  // poll(); returns an errno, 0 for success

  enum Polled { kInput, kOutput, kDaemon, kSignals, kPolledCount };

  const SocketPath& socket_;
  Relay relay_;
  const int out_;
  const pid_t parent_ = ::getppid();
  Fd signals_;
  Fd daemon_;
  LineSplitter from_client_{kMaxLineBytes}, from_daemon_{kMaxLineBytes};
  bool input_ended_ = false;
  bool half_closed_ = false;
  bool daemon_ended_ = false;  // the daemon sends no more; lines may still wait in from_daemon_
  bool daemon_deaf_ = false;   // the daemon reads no more
  bool daemon_spoke_ = false;  // the daemon answered on this connection
  bool reachable_ = true;      // as the last message on standard error said
  bool dropped_garbage_ = false;
  std::optional<Monotonic::time_point> refused_since_;  // each connection since then was refused
  std::chrono::milliseconds delay_ = kFirstDelay;
  Trouble trouble_;  // why daemon_ is empty
  Monotonic::time_point retry_at_;
  std::optional<Monotonic::time_point> give_up_at_;
  std::optional<Monotonic::time_point> exit_at_;
  pollfd polled_[kPolledCount] = {};
};

Result<> StdioProxy::watch_signals() {
  // The client's death must end the proxy even if another program holds the proxy's input open. The kernel sends this
  // signal when the *thread* that started the proxy ends (prctl(2)). A client with a thread pool may still run then, so
  // stop_requested() checks whether the proxy has another parent.
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGRTMIN}) ::sigaddset(&set, signal);
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) < 0) return fail_errno(errno, "block signals");
  ::signal(SIGPIPE, SIG_IGN);
  if (::prctl(PR_SET_PDEATHSIG, SIGRTMIN) < 0) return fail_errno(errno, "watch the parent process");
  signals_ = Fd(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!signals_) return fail_errno(errno, "signalfd");
  return {};
}

bool StdioProxy::stop_requested() {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info))
    if (info.ssi_signo != static_cast<uint32_t>(SIGRTMIN) || ::getppid() != parent_) return true;
  return false;
}

void StdioProxy::try_to_connect() {
  auto connected = connect_daemon(socket_);
  if (connected) {
    daemon_ = std::move(*connected);
    daemon_ended_ = daemon_deaf_ = daemon_spoke_ = half_closed_ = false;
    give_up_at_.reset();
    if (!refused_since_ && !std::exchange(reachable_, true)) say("connected to warderd at '" + socket_.path + "'");
    relay_.connected();
    return;
  }
  const Error& error = connected.error();
  const auto now = Monotonic::now();
  retry_at_ = now + delay_;
  delay_ = std::min<std::chrono::milliseconds>(delay_ * 2, kMaxDelay);
  trouble_ = {error.what, error.hint};
  if (give_up_at_ && now < *give_up_at_) return;
  give_up();
}

void StdioProxy::give_up() {
  relay_.give_up(trouble_);
  if (std::exchange(reachable_, false))
    say(trouble_.cause + (trouble_.remedy.empty() ? "" : "; " + trouble_.remedy) +
        " (connecting again until warderd answers)");
}

void StdioProxy::on_answer() {
  daemon_spoke_ = true;
  if (!refused_since_) return;
  refused_since_.reset();
  if (!std::exchange(reachable_, true)) say("connected to warderd at '" + socket_.path + "'");
}

void StdioProxy::lose_connection() {
  const auto now = Monotonic::now();
  daemon_.reset();
  from_daemon_ = LineSplitter(kMaxLineBytes);
  const auto refusal = relay_.refusal();
  relay_.disconnected();
  if (refusal && !refused_since_) refused_since_ = now;
  retry_at_ = daemon_spoke_ ? now : now + delay_;  // wait before connecting again to a daemon that only closes
  if (daemon_spoke_) {
    delay_ = kFirstDelay;
  } else {
    delay_ = std::min<std::chrono::milliseconds>(delay_ * 2, kMaxDelay);
  }
  give_up_at_ = refused_since_.value_or(now) + kGrace;
  trouble_ = {"warderd at '" + socket_.path + "' closed the connection", "start it again with: " + start_hint(socket_)};
  if (refusal) trouble_ = *refusal;
  if (refusal && now >= *give_up_at_) give_up();
}

void StdioProxy::read_client() {
  const ssize_t got = fill(from_client_, STDIN_FILENO);
  if (got > 0 || got == -EAGAIN || got == -EINTR) return;
  input_ended_ = true;
  exit_at_ = Monotonic::now() + kLastWords;
}

void StdioProxy::read_daemon() {
  const ssize_t got = fill(from_daemon_, daemon_.get());
  if (got > 0 || got == -EAGAIN || got == -EINTR) return;
  daemon_ended_ = true;
}

bool StdioProxy::pass_lines() {
  bool passed = false;
  while (relay_.takes_requests()) {
    auto line = from_client_.next();
    if (!line && input_ended_) line = from_client_.rest();
    if (!line) break;
    relay_.from_client(*line);
    passed = true;
  }
  while (daemon_ && !relay_.to_client().full()) {
    const auto line = from_daemon_.next();
    passed = passed || line || daemon_ended_;
    if (line) {
      if (!relay_.from_daemon(*line) && !std::exchange(dropped_garbage_, true))
        say("dropped a line from warderd that is not a JSON-RPC message");
      if (!relay_.refusal()) on_answer();
    } else {
      if (daemon_ended_) lose_connection();
      break;
    }
  }
  return passed;
}

bool StdioProxy::flush() {
  if (daemon_ && !daemon_deaf_) {
    const auto state = relay_.to_daemon().flush(daemon_.get());
    daemon_deaf_ = state == LineOutbox::State::broken;
    if (state == LineOutbox::State::drained && input_ended_ && !has_input() && !std::exchange(half_closed_, true))
      (void)::shutdown(daemon_.get(), SHUT_WR);
  }
  return relay_.to_client().flush(out_) != LineOutbox::State::broken;
}

bool StdioProxy::finished() {
  if (!input_ended_) return false;
  if (!has_input() && relay_.idle() && relay_.to_client().pending() == 0) return true;
  if (Monotonic::now() < *exit_at_) return false;
  if (daemon_) {  // every request gets an answer, also one whose client waits for it without an input
    relay_.drop_queued({"warderd at '" + socket_.path + "' is ending", "call again when it has been restarted",
                        "warderd takes no new calls"});
    say("the input ended, and not all answers came within 1 s; keep the input open until they have come");
    relay_.disconnected();
    trouble_ = {"the input of warder mcp ended before warderd answered",
                "keep the input open until the answer has come"};
  }
  relay_.give_up(trouble_);
  (void)flush();
  return true;
}

int StdioProxy::wait() {
  const bool from_daemon = daemon_ && !daemon_ended_ && !relay_.to_client().full();
  const bool to_daemon = daemon_ && !daemon_deaf_ && relay_.to_daemon().pending() > 0;
  const bool from_client = !input_ended_ && relay_.takes_requests();
  const auto events = [](bool in, bool out) { return static_cast<short>((in ? POLLIN : 0) | (out ? POLLOUT : 0)); };
  // A descriptor without wanted events is left out, because poll(2) always reports POLLHUP. The output always stays in,
  // so that the proxy ends as soon as its reader has left.
  polled_[kInput] = {from_client ? STDIN_FILENO : -1, POLLIN, 0};
  polled_[kOutput] = {out_, events(false, relay_.to_client().pending() > 0), 0};
  polled_[kDaemon] = {from_daemon || to_daemon ? daemon_.get() : -1, events(from_daemon, to_daemon), 0};
  polled_[kSignals] = {signals_.get(), POLLIN, 0};

  std::optional<Monotonic::time_point> until = exit_at_;
  if (!daemon_ && (!until || retry_at_ < *until)) until = retry_at_;
  int timeout = -1;
  if (until) {
    const auto remaining = std::chrono::ceil<std::chrono::milliseconds>(*until - Monotonic::now());
    timeout = static_cast<int>(std::max<int64_t>(remaining.count(), 0));
  }
  return ::poll(polled_, std::size(polled_), timeout) < 0 && errno != EINTR ? errno : 0;
}

Result<int> StdioProxy::run() {
  CHECKED(watch_signals());
  try_to_connect();
  for (;;) {
    do {
      if (!flush()) return 0;  // EPIPE: the reader of the output has left
    } while (pass_lines());
    if (finished()) return 0;
    if (const int err = wait()) return fail_errno(err, "poll");
    constexpr short kRemoved = POLLERR | POLLHUP | POLLNVAL;
    if (polled_[kSignals].revents && stop_requested()) return 0;
    if (polled_[kOutput].revents & kRemoved) return 0;
    if (polled_[kInput].revents) read_client();
    if (polled_[kDaemon].revents & (POLLIN | kRemoved)) read_daemon();
    if (!daemon_ && Monotonic::now() >= retry_at_) try_to_connect();
  }
}

}  // namespace

int run_stdio_proxy(const SocketPath& socket) {
  StdioProxy proxy(socket);
  const auto status = proxy.run();
  if (status) return *status;
  say(status.error().what);
  return 1;
}

}  // namespace cli
