#include "jail/jail.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "supervisor/base/clock.h"
#include "supervisor/base/log.h"

namespace jail {
namespace {

constexpr auto kBuildLimit = std::chrono::seconds(30);  // milliseconds as a rule; seconds only under emulation

Result<> check_requirements(const Host& host, const policies::Isolation& wanted) {
  auto refuse = [](std::string what, std::string_view rule, std::string_view why) {
    return fail(
        Code::denied, fmt::format("the policy requires {}, which this host does not give: {}", what, why),
        fmt::format("provide it, or set isolation.{} to \"preferred\" in the policy; `warder doctor` tells more", rule),
        fmt::format("isolation.{}", rule));
  };
  using policies::Need;
  if (wanted.cgroups == Need::required && !host.cgroups)
    return refuse("cgroup v2 limits", "cgroups", host.no_cgroups_why);
  if (wanted.overlay == Need::required && host.root != RootMode::overlay)
    return refuse("an overlay root", "overlay", host.bind_root_why);
  if (wanted.identity == Need::required && host.identity != Identity::separated)
    return refuse("separate ids for init and runner", "identity", "the daemon runs without privileges");
  if (wanted.idmap == Need::required && !host.map_workspace_ids)
    return refuse("mapped workspace ids", "idmap", host.no_idmap_why);
  if (wanted.landlock == Need::required && host.landlock_abi == 0)
    return refuse("Landlock", "landlock", "the kernel has none");
  return {};
}

// The plan as a sealed memfd: what the jailer and the child see cannot change any more.
Result<Fd> make_plan(const Host& host, const Spec& spec) {
  auto plan = std::make_unique<Plan>();
  plan->version = kPlanVersion;
  plan->identity = host.identity;
  plan->root = host.root;
  plan->landlock_required = spec.isolation.landlock == policies::Need::required;
  plan->tmp_bytes = spec.limits.tmp_bytes;
  plan->tmp_files = spec.limits.tmp_files;

  auto limits =
      resource_limits_of(spec.language, spec.limits, host.cgroups ? Enforcement::with_cgroup : Enforcement::alone);
  if (limits.size() > kMaxResourceLimits) return fail(Code::internal, "too many resource limits for a plan");
  std::copy(limits.begin(), limits.end(), plan->resource_limits);
  plan->resource_limit_count = static_cast<uint32_t>(limits.size());

  if (spec.filter->program.empty() || spec.filter->program.size() > kMaxFilter)
    return fail(Code::internal, "the seccomp filter does not fit a plan");
  std::copy(spec.filter->program.begin(), spec.filter->program.end(), plan->filter);
  plan->filter_length = static_cast<uint32_t>(spec.filter->program.size());
  plan->seccomp_flags = spec.filter->flags;

  size_t used = 0;
  auto put = [&](const std::vector<std::string>& list, uint32_t* offsets, size_t most, uint32_t& count) {
    if (list.size() > most) return false;
    for (const auto& text : list) {
      if (used + text.size() + 1 > kMaxStrings) return false;
      offsets[count++] = static_cast<uint32_t>(used);
      memcpy(plan->strings + used, text.c_str(), text.size() + 1);
      used += text.size() + 1;
    }
    return true;
  };
  auto command = spec.command.empty() ? command_of(spec.language, spec.limits) : spec.command;
  if (!put(command, plan->arguments, kMaxArguments, plan->argument_count) ||
      !put(environment_of(spec.environment), plan->environment, kMaxEnvironment, plan->environment_count))
    return fail(Code::invalid, "the policy's environment is too large", "at most 50 variables and 15 kB in all",
                "environment");

  Fd fd(memfd_create("warder-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return fail_errno(errno, "memfd_create");
  if (::write(fd.get(), plan.get(), sizeof *plan) != sizeof *plan) return fail_errno(errno, "write the plan");
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
    return fail_errno(errno, "seal the plan");
  return fd;
}

struct Pair {
  Fd ours, theirs;
};

Result<Pair> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return fail_errno(errno, "pipe");
  Pair pair{Fd(ends[0]), Fd(ends[1])};
  if (::fcntl(pair.ours.get(), F_SETFL, O_NONBLOCK) < 0) return fail_errno(errno, "pipe");
  // A program that opens /dev/stdout opens the pipe anew, and the runner's id is not ours.
  if (::fchmod(pair.theirs.get(), 0222) < 0) return fail_errno(errno, "chmod a pipe");
  (void)::fcntl(pair.ours.get(), F_SETPIPE_SZ, 256 * 1024);  // fewer wake-ups for large outputs; the default does too
  return pair;
}

Result<Pair> make_packets() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return fail_errno(errno, "socketpair");
  Pair pair{Fd(ends[0]), Fd(ends[1])};
  if (::fcntl(pair.ours.get(), F_SETFL, O_NONBLOCK) < 0) return fail_errno(errno, "socketpair");
  return pair;
}

Error failed_step(const InitReport& report) {
  auto error = fail_errno(report.error, fmt::format("jail step {}", step_name(report.step)), Code::unavailable).value();
  switch (report.step) {
    case Step::usr_overlay:
    case Step::root_overlay:
      error.hint = "the kernel must allow overlayfs in user namespaces, and nothing may be mounted below /usr";
      break;
    case Step::proc:
      error.hint = "a fully visible /proc is needed: a container or ProtectKernelTunables= masks it";
      break;
    case Step::forbid_namespaces:
      error.hint = "/proc/sys must be writable for the daemon's service: ProtectKernelTunables= makes it read-only";
      break;
    case Step::runner_exec:
      error.hint = "is the language's interpreter installed below /usr?";
      break;
    default:
      break;
  }
  return error;
}

// Off the caller's path: wait for the last process, then remove the leaf. Without a pidfd (the request was cancelled
// before the jailer answered) the leaf's own emptiness is what there is to wait for.
Task<> reap(Loop& loop, AsyncFd pidfd, Cgroup cgroup) {
  constexpr int kTries = 200;
  if (pidfd) co_await pidfd.readable();
  for (int i = 0; i < kTries; i++) {
    auto removed = cgroup.remove();
    if (removed) co_return;
    if (removed.error().code != Code::exhausted || i == kTries - 1) log_warning("{}", removed.error().what);
    (void)cgroup.kill();
    co_await sleep_for(loop, std::chrono::milliseconds(5));
  }
}

}  // namespace

Task<Result<std::unique_ptr<Jail>>> Jail::build(Host& host, Spec spec) {
  auto start = Monotonic::now();
  CO_CHECKED(check_requirements(host, spec.isolation));
  auto jail = std::unique_ptr<Jail>(new Jail(host));
  // Without mapped mounts the runner must be the workspace's owner on disk.
  jail->map_ids_ = host.identity == Identity::separated && host.map_workspace_ids;
  jail->ids_.identity = host.identity;
  jail->ids_.init = host.identity == Identity::separated ? host.ids.first : host.daemon_uid;
  jail->ids_.runner = jail->map_ids_ ? host.ids.first + 1 + spec.tenant_slot % (host.ids.count - 1) : host.daemon_uid;

  CO_TRY(Fd plan, make_plan(host, spec));
  CO_TRY(Pair out, make_pipe());
  CO_TRY(Pair err, make_pipe());
  CO_TRY(Pair guest, make_packets());
  CO_TRY(Pair control, make_packets());
  if (host.cgroups) {
    CO_TRY(jail->cgroup_, host.cgroups->make_leaf(spec.name));
    CgroupLimits limits{spec.limits.memory_bytes, spec.limits.tasks + 1 /* init */, spec.limits.cpus};
    CO_CHECKED(jail->cgroup_.set(limits));
  }
  JailerClient::BuildFds fds{plan.get(),       guest.theirs.get(), control.theirs.get(),
                             out.theirs.get(), err.theirs.get(),   host.cgroups ? jail->cgroup_.directory() : -1};
  CO_TRY(Fd pidfd, co_await host.jailer.build(fds, jail->ids_));
  CO_TRY(jail->pidfd_, AsyncFd::adopt(host.loop, std::move(pidfd)));
  for (Pair* pair : {&out, &err, &guest, &control}) pair->theirs.reset();
  CO_TRY(jail->out_, AsyncFd::adopt(host.loop, std::move(out.ours)));
  CO_TRY(jail->err_, AsyncFd::adopt(host.loop, std::move(err.ours)));
  CO_TRY(jail->control_, AsyncFd::adopt(host.loop, std::move(control.ours)));
  CO_TRY(AsyncFd packets, AsyncFd::adopt(host.loop, std::move(guest.ours)));
  jail->guest_ = GuestChannel(std::move(packets));

  Jail* building = jail.get();
  Deadline limit(host.loop, kBuildLimit, [building] { building->kill(); });
  auto report = co_await jail->next_report();
  if (!report) co_return fail(Code::unavailable, "a jail ended, or was ended, while it was being built");
  if (report->event != InitEvent::built) co_return tl::unexpected<Error>(failed_step(*report));
  jail->built_ = *report;
  jail->build_ms_ = ms_since(start);
  co_return jail;
}

Jail::~Jail() {
  kill();
  if (pidfd_ || cgroup_) host_.loop.spawn(reap(host_.loop, std::move(pidfd_), std::move(cgroup_)));
}

Task<Result<>> Jail::attach(int directory) {
  JailerClient::Workspace workspace;
  workspace.directory = directory;
  workspace.owner_uid = host_.daemon_uid;
  workspace.owner_gid = host_.daemon_gid;
  workspace.map_ids = map_ids_;
  auto done = co_await host_.jailer.attach(pidfd_.get(), workspace, ids_.runner);
  co_return done;
}

Task<std::optional<InitReport>> Jail::next_report() {
  for (;;) {
    InitReport report{};
    ssize_t n = ::recv(control_.get(), &report, sizeof report, MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      co_await control_.readable();
      continue;
    }
    if (n != static_cast<ssize_t>(sizeof report)) co_return std::nullopt;
    co_return report;
  }
}

void Jail::kill() {
  if (!pidfd_) return;
  if (cgroup_) (void)cgroup_.kill();  // the order to the jailer follows anyway
  host_.jailer.end(pidfd_.get());
}

Task<> Jail::gone() {
  if (pidfd_) co_await pidfd_.readable();
}

int Jail::init_pid() const {
  // proc(5), "fdinfo" of a pidfd: "Pid:\t123", -1 when the process is gone.
  FILE* info = std::fopen(fmt::format("/proc/self/fdinfo/{}", pidfd_.get()).c_str(), "re");
  if (!info) return 0;
  int pid = 0;
  char line[128];
  while (std::fgets(line, sizeof line, info)) {
    if (std::sscanf(line, "Pid: %d", &pid) == 1) break;
  }
  std::fclose(info);
  return pid > 0 ? pid : 0;
}

}  // namespace jail
