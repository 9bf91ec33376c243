// Jailed: a server in its own jail. Its standard input is the stream socket that takes the place of the guest
// channel. A shell waits for the workspace and then becomes the server.
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>

#include "jail/jail.h"
#include "jail/proxy_environment.h"
#include "jail/usage/process_tree.h"
#include "policies/policy.h"
#include "supervisor/base/log.h"
#include "supervisor/upstream/process.h"

namespace upstream {
namespace {

using namespace std::chrono_literals;

constexpr auto kWatchEvery = 500ms;
// A line on descriptor 3 says that the workspace is mounted; then descriptor 3 becomes the standard input. `read` reads
// single bytes, so it takes no bytes of the server's input.
constexpr char kBecome[] = R"(read -r go <&3 && cd /workspace && exec "$@" <&3 3<&-)";

// Node reserves far more memory than it uses, so it gets the rules of JavaScript jails.
jail::Language like(const std::string& program) {
  const std::string_view name = std::string_view(program).substr(program.rfind('/') + 1);
  return name.starts_with("node") || name == "npx" ? jail::Language::javascript : jail::Language::shell;
}

class Jailed : public ServerProcess {
 public:
  Jailed(jail::Host& host, std::unique_ptr<jail::Jail> jail, std::unique_ptr<ServerNetwork::Use> network,
         uint64_t memory_bytes)
      : loop_(host.loop),
        trees_(host.trees),
        jail_(std::move(jail)),
        network_(std::move(network)),
        memory_bytes_(memory_bytes),
        tasks_(host.loop) {
    in_ = jail_->guest().take_socket();
    if (!jail_->cgroup()) tasks_.spawn(watch());
    if (jail::DiskUse* const use = jail_->disk_use()) {
      use->set_pace(jail::DiskUse::kServer);
      use->set_end([this] {
        at_disk_floor_ = true;
        jail_->kill();
      });
    }
  }
  AsyncFd& in() override { return in_; }
  AsyncFd& out() override { return jail_->out(); }
  AsyncFd& err() override { return jail_->err(); }

  Task<std::string> ended() override {
    auto report = co_await jail_->next_report();
    if (at_disk_floor_)
      co_return "was ended because the disk of all tenants is nearly full, and it had taken most of it";
    if (over_memory_) co_return fmt::format("used more than {} MB of memory", memory_bytes_ >> 20);
    if (!report || report->event != jail::InitEvent::exited) co_return "was ended";
    if (WIFEXITED(report->wait_status)) co_return fmt::format("ended with status {}", WEXITSTATUS(report->wait_status));
    co_return fmt::format("was ended by signal {}", WTERMSIG(report->wait_status));
  }

 private:
  // Runs if the jail has no cgroup that limits memory and shares the processors.
  Task<> watch() {
    for (;;) {
      co_await sleep_for(loop_, kWatchEvery);
      const jail::TreeUsage usage = co_await trees_.read(jail_->init_pid());
      if (!usage.is_read) continue;
      jail_->lower_priority(priority_, usage);
      if (usage.memory_bytes <= memory_bytes_) continue;
      over_memory_ = true;
      jail_->kill();
    }
  }

  Loop& loop_;
  jail::TreeReader& trees_;
  std::unique_ptr<jail::Jail> jail_;
  std::unique_ptr<ServerNetwork::Use> network_;  // nullptr: it has no network
  AsyncFd in_;
  uint64_t memory_bytes_;
  jail::CodePriority priority_;
  bool over_memory_ = false, at_disk_floor_ = false;
  Scope tasks_;  // last: cancelled first
};

}  // namespace

Task<Result<std::unique_ptr<ServerProcess>>> start_in_jail(jail::Host& host, const ServerConfig& config,
                                                           Variables secrets, JailedStart start) {
  static uint64_t started = 0;
  jail::Spec spec;
  spec.name = fmt::format("server-{}", ++started);
  spec.language = like(config.command.front());
  spec.command = {"/bin/sh", "-c", kBecome, "sh"};
  spec.command.insert(spec.command.end(), config.command.begin(), config.command.end());
  spec.guest = jail::Spec::Guest::stream;
  spec.limits = start.policy.limits.standard;
  spec.limits.tasks = config.processes > 0 ? config.processes : start.policy.limits.maximum.tasks;
  if (config.memory_bytes > 0) spec.limits.memory_bytes = config.memory_bytes;
  spec.limits.cpu = std::chrono::milliseconds(0);  // no limit: a server runs for a long time
  spec.isolation = start.policy.isolation;
  spec.filter = start.policy.filter;
  spec.environment = config.environment;
  for (auto& [name, value] : secrets) spec.environment[name] = std::move(value);
  spec.listens = config.egress.is_on() && start.network;
  if (spec.listens) jail::add_proxy(spec.environment);
  const uint64_t memory_bytes = spec.limits.memory_bytes;
  CO_TRY(std::unique_ptr<jail::Jail> jail, co_await jail::Jail::build(host, std::move(spec)));
  jail::WorkspaceMount folder;
  folder.directory = start.folder;
  auto visible = co_await jail->attach(std::move(folder));
  if (!visible && visible.error().err == EPERM && !config.folder.empty())
    co_return fail(
        Code::unavailable,
        "its folder did not exist when the daemon started, or contains the daemon's own files, so jails cannot "
        "receive it",
        "restart the daemon, or name another folder");
  CO_CHECKED(std::move(visible));
  jail->use_disk(std::move(start.disk));
  std::unique_ptr<ServerNetwork::Use> network;
  if (jail->listener()) {
    CO_TRY(network, co_await start.network->open(config, start.tenant, jail->listener().get()));
  }
  auto process = std::make_unique<Jailed>(host, std::move(jail), std::move(network), memory_bytes);
  if (::send(process->in().get(), "\n", 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
    co_return fail_errno(errno, "start a server in its jail", Code::unavailable);
  co_return std::unique_ptr<ServerProcess>(std::move(process));
}

}  // namespace upstream
