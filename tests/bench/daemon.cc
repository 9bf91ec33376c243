#include "tests/bench/daemon.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "supervisor/base/clock.h"
#include "supervisor/base/json/json_value.h"

namespace bench {
namespace {

// The policies, but with nothing built ahead: what a cold start costs is measured here (latency.py measures the rest).
std::string without_pool(const std::string& policies, const std::filesystem::path& directory) {
  namespace fs = std::filesystem;
  fs::path copy = directory / "policies";
  fs::copy(policies, copy, fs::copy_options::recursive);
  Json policy = Json::parse(std::ifstream(copy / "default.json"));
  policy["pool"] = {{"min_idle", 0}, {"max_idle", 0}, {"zygotes", false}, {"preload", Json::array()}};
  std::ofstream(copy / "default.json") << policy;
  return copy;
}

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::start(const std::string& program, const std::string& policies,
                                              const std::vector<std::string>& options) {
  auto daemon = std::unique_ptr<Daemon>(new Daemon);
  const std::string directory = daemon->directory_.path();
  if (::chmod(directory.c_str(), 0711) < 0)
    return fail_errno(errno, "chmod");  // started as root it becomes another user

  // sd_notify(3) to an abstract address: no file that a daemon of another user could not reach.
  Fd notifications(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const std::string name = "warder-bench-" + std::to_string(::getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (!notifications || ::bind(notifications.get(), reinterpret_cast<sockaddr*>(&address), length) < 0)
    return fail_errno(errno, "a socket for the daemon's notification");

  Command command;
  command.words = {program,
                   "--socket",
                   daemon->socket(),
                   "--state",
                   directory + "/state",
                   "--policies",
                   without_pool(policies, directory),
                   "--bus",
                   "off"};
  command.words.insert(command.words.end(), options.begin(), options.end());
  command.environment.push_back("NOTIFY_SOCKET=@" + name);
  command.output = directory + "/log";
  TRY(Process process, Process::start(command));
  daemon->process_.emplace(std::move(process));
  CHECKED(daemon->wait_until_ready(notifications.get()));
  std::string pid = std::to_string(daemon->process_->pid());
  std::ifstream("/proc/" + pid + "/task/" + pid + "/children") >>
      daemon->jailer_;  // the first child, and now the only one
  return daemon;
}

Result<> Daemon::wait_until_ready(int notifications) {
  auto until = Monotonic::now() + kPatience;
  while (Monotonic::now() < until) {
    pollfd events[2] = {{notifications, POLLIN, 0}, {process_->pidfd(), POLLIN, 0}};
    if (::poll(events, 2, 1000) <= 0) continue;
    if (events[1].revents) return fail(Code::internal, "warderd ended before it was ready:\n" + log_end());
    char text[1024];
    ssize_t n = ::recv(notifications, text, sizeof text, MSG_DONTWAIT);
    if (n > 0 && std::string_view(text, static_cast<size_t>(n)).find("READY=1") != std::string_view::npos) return {};
  }
  return fail(Code::internal, "warderd was not ready in time:\n" + log_end());
}

Daemon::~Daemon() {
  if (!process_) return;
  process_->signal(SIGTERM);
  (void)process_->wait();
}

double Daemon::cpu_us() const { return cpu_us_of(process_->pid()) + (jailer_ > 0 ? cpu_us_of(jailer_) : 0); }

std::string Daemon::log() const {
  std::ifstream file(directory_.path() / "log");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string Daemon::log_end() const {
  constexpr size_t kMaxListedBytes = 4000;
  const std::string text = log();
  return text.size() > kMaxListedBytes ? text.substr(text.size() - kMaxListedBytes) : text;
}

bool Daemon::logged(std::string_view text) const { return log().find(text) != std::string::npos; }

}  // namespace bench
