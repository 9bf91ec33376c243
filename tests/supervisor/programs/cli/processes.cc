#include "tests/supervisor/programs/cli/processes.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstring>
#include <stdexcept>

namespace cli_test {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void give_up(const std::string& subject) { throw std::runtime_error(subject); }

int remainder(Clock::time_point until) {
  const auto wait = std::chrono::ceil<Wait>(until - Clock::now()).count();
  return static_cast<int>(wait < 0 ? 0 : wait);
}

bool ready(int fd, short events, Clock::time_point until) {
  pollfd polled = {fd, events, 0};
  int count = 0;
  do count = ::poll(&polled, 1, remainder(until));
  while (count < 0 && errno == EINTR);
  return count > 0;
}

}  // namespace

std::string warder_program() {
  const char* requested = ::getenv("WARDER_UNDER_TEST");
  return requested ? requested : WARDER_PROGRAM;
}

bool LineInput::fill(Clock::time_point until) {
  if (!ready(fd_.get(), POLLIN, until))
    give_up("nothing came in time; waiting behind: '" + buffer_.substr(0, 200) + "'");
  char chunk[64 << 10];
  const ssize_t got = ::read(fd_.get(), chunk, sizeof chunk);
  if (got > 0) buffer_.append(chunk, static_cast<size_t>(got));
  return got > 0;
}

std::optional<std::string> LineInput::line(Wait wait) {
  const auto until = Clock::now() + wait;
  size_t searched = 0;
  for (;;) {
    const size_t newline = buffer_.find('\n', searched);
    if (newline != std::string::npos) {
      std::string match = buffer_.substr(0, newline);
      buffer_.erase(0, newline + 1);
      return match;
    }
    searched = buffer_.size();
    if (!fill(until)) return std::nullopt;
  }
}

Json LineInput::message(Wait wait) {
  const auto text = line(wait);
  if (!text) give_up("the stream ended instead of another message");
  return Json::parse(*text);
}

std::string LineInput::rest(Wait wait) {
  const auto until = Clock::now() + wait;
  while (fill(until)) {
  }
  return std::exchange(buffer_, {});
}

bool LineInput::quiet_for(Wait wait) { return buffer_.empty() && !ready(fd_.get(), POLLIN, Clock::now() + wait); }

bool writable_within(int fd, Wait wait) { return ready(fd, POLLOUT, Clock::now() + wait); }

void write_all(int fd, std::string_view text, Wait wait) {
  const auto until = Clock::now() + wait;
  while (!text.empty()) {
    if (!ready(fd, POLLOUT, until)) give_up("nobody takes what is written");
    const ssize_t wrote = ::write(fd, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
    if (wrote < 0 && errno != EAGAIN) give_up(std::string("write: ") + std::strerror(errno));
    if (wrote > 0) text.remove_prefix(static_cast<size_t>(wrote));
  }
}

Process::Process(std::vector<std::string> arguments, std::vector<std::string> environment) {
  ::signal(SIGPIPE, SIG_IGN);
  int to[2], from[2], errors[2];
  if (::pipe2(to, O_CLOEXEC) < 0 || ::pipe2(from, O_CLOEXEC) < 0 || ::pipe2(errors, O_CLOEXEC) < 0) give_up("pipe2");
  const std::string program = arguments.front().find('/') == std::string::npos ? warder_program() : arguments.front();
  if (program != arguments.front()) arguments.insert(arguments.begin(), program);
  std::vector<char*> argv, envp;
  for (auto& argument : arguments) argv.push_back(argument.data());
  environment.insert(environment.begin(), "PATH=/usr/bin:/bin");
  for (auto& variable : environment) envp.push_back(variable.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) give_up("fork");
  if (pid_ == 0) {
    ::dup2(to[0], 0);
    ::dup2(from[1], 1);
    ::dup2(errors[1], 2);
    ::signal(SIGPIPE, SIG_DFL);
    ::execve(program.c_str(), argv.data(), envp.data());
    ::_exit(126);
  }
  ::close(to[0]);
  ::close(from[1]);
  ::close(errors[1]);
  in = Fd(to[1]);
  out = LineInput(Fd(from[0]));
  err = LineInput(Fd(errors[0]));
}

Process::~Process() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Process::signal(int number) { ::kill(pid_, number); }

Ended Process::wait(Wait wait) {
  const auto start = Clock::now();
  Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!ready(process.get(), POLLIN, start + wait)) give_up("the program does not end");
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
          std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start)};
}

bool ends_within(pid_t pid, Wait wait) {
  Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const bool ended = ready(process.get(), POLLIN, Clock::now() + wait);
  if (!ended) ::kill(pid, SIGKILL);
  return ::waitpid(pid, nullptr, 0) == pid && ended;
}

Peer::Peer(Fd fd) : lines(std::move(fd)) {}

FakeDaemon::FakeDaemon() : path_((directory_.path() / "mcp.sock").string()) {}

void FakeDaemon::start() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
  listener_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) < 0) give_up("bind");
  if (::listen(listener_.get(), 8) < 0) give_up("listen");
}

void FakeDaemon::stop() {
  listener_.reset();
  ::unlink(path_.c_str());
}

Peer FakeDaemon::accept(Wait wait) {
  if (!ready(listener_.get(), POLLIN, Clock::now() + wait)) give_up("nobody connects");
  Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  return Peer(std::move(fd));
}

Peer FakeDaemon::accept_proxy() {
  Peer peer = accept();
  const Json hello = peer.request();
  if (hello.value("method", "") != "notifications/org.warder/hello")
    give_up("the first line is not hello: " + hello.dump());
  return peer;
}

Json request(const Json& id, const std::string& method, Json params) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}};
}

Json modern_request(const Json& id, const std::string& method, Json params) {
  params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28";
  params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = Json::object();
  return request(id, method, std::move(params));
}

Json result(const Json& id, Json value) { return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(value)}}; }

}  // namespace cli_test
