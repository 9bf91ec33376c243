#include "jail/jail.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail/failed_step.h"
#include "jail/fd_message.h"
#include "jail/pidfd.h"
#include "jail/sealed_plan.h"
#include "jail/zygote.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/fd_pair.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"

namespace jail {
namespace {

constexpr auto kBuildLimit = std::chrono::seconds(30);  // usually milliseconds; seconds only under emulation

Result<FdPair> make_output() {
  TRY(FdPair pair, make_pipe(Code::internal));
  // A program that opens /dev/stdout opens the pipe again, and the runner's host id is not the daemon's.
  if (::fchmod(pair.theirs.get(), 0222) < 0) return fail_errno(errno, "chmod a pipe");
  (void)::fcntl(pair.ours.get(), F_SETPIPE_SZ, 256 * 1024);  // fewer wake-ups for large outputs; may fail
  return pair;
}

// Waits for the last process, then removes the leaf, while the caller continues. If there is no pidfd (the request was
// cancelled before the jailer answered), it only retries the removal until the leaf is empty.
Task<> reap(Loop& loop, AsyncFd pidfd, Cgroup cgroup, RunnerIds::Lease, std::shared_ptr<OverlayFolder>) {
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

Result<> check_requirements(const Host& host, const policies::Isolation& isolation) {
  auto refuse = [](std::string requirement, std::string_view rule, std::string_view why) {
    return fail(Code::denied,
                fmt::format("the policy requires {}, which this host does not have: {}", requirement, why),
                fmt::format("provide it on this host, or set isolation.{} to \"preferred\" in the policy", rule),
                fmt::format("isolation.{}", rule));
  };
  using policies::Need;
  if (isolation.cgroups == Need::required && !host.cgroups)
    return refuse("cgroup v2 limits", "cgroups", host.no_cgroups_why);
  if (isolation.overlay == Need::required && host.root != RootMode::overlay)
    return refuse("an overlay root", "overlay", host.bind_root_why);
  if (isolation.identity == Need::required && host.identity != Identity::separated)
    return refuse("separate ids for init and runner", "identity", "the daemon runs without privileges");
  if (isolation.idmap == Need::required && !host.map_workspace_ids)
    return refuse("mapped workspace ids", "idmap", host.no_idmap_why);
  if (isolation.landlock == Need::required && host.landlock_abi == 0)
    return refuse("Landlock", "landlock", "the kernel does not support it");
  return {};
}

Result<> check_layers(const Host& host, const Spec& spec) {
  if (spec.layers.size() != spec.layers_named)
    return fail(Code::denied, "a package layer of the policy is missing on this machine",
                "ask the administrator to build it (warder layer build), or to remove it from the policy", "layers");
  if (!spec.layers.empty() && host.root != RootMode::overlay)
    return fail(Code::denied,
                fmt::format("the policy has package layers, and this host cannot mount them: {}", host.bind_root_why),
                "remove `layers` from the policy, or load overlayfs on this host", "layers");
  return {};
}

CgroupLimits cgroup_limits_of(const policies::Limits& limits, uint64_t own_bytes) {
  return CgroupLimits{limits.memory_bytes + own_bytes, limits.tasks + 1 /* init */, limits.cpus};
}

// Both ends of every pipe and socket that goes into a jail.
struct Jail::Ends {
  FdPair out, err, guest, control;
};

// Prepares what every kind of jail needs before its order: descriptors and the leaf.
Result<Jail::Ends> Jail::prepare(const Spec& spec) {
  Ends ends;
  TRY(ends.out, make_output());
  TRY(ends.err, make_output());
  TRY(ends.guest, make_sockets(spec.guest == Spec::Guest::stream ? SOCK_STREAM : SOCK_SEQPACKET, Code::internal));
  TRY(ends.control, make_sockets(SOCK_SEQPACKET, Code::internal));
  if (host_.cgroups) {
    TRY(cgroup_, host_.cgroups->make_leaf(spec.name));
    CHECKED(cgroup_.set(cgroup_limits_of(spec.limits, 0)));
    if (spec.cpu_weight != Spec{}.cpu_weight) CHECKED(cgroup_.set_weight(spec.cpu_weight));
  }
  return ends;
}

// After the order was carried out: takes the daemon's ends and waits for init's report.
Task<Result<>> Jail::begin(Ends ends, Fd pidfd, Language language, Monotonic::time_point start) {
  CO_TRY(pidfd_, AsyncFd::adopt(host_.loop, std::move(pidfd)));
  init_pid_ = pid_of(pidfd_.get());
  for (FdPair* pair : {&ends.out, &ends.err, &ends.guest, &ends.control}) pair->theirs.reset();
  CO_TRY(out_, AsyncFd::adopt(host_.loop, std::move(ends.out.ours)));
  CO_TRY(err_, AsyncFd::adopt(host_.loop, std::move(ends.err.ours)));
  CO_TRY(control_, AsyncFd::adopt(host_.loop, std::move(ends.control.ours)));
  CO_TRY(AsyncFd packets, AsyncFd::adopt(host_.loop, std::move(ends.guest.ours)));
  guest_ = GuestChannel(host_.loop, std::move(packets));

  bool late = false;
  Deadline limit(host_.loop, kBuildLimit, [this, &late] {
    late = true;
    kill();
  });
  auto first = shows_network_ ? report_after_network() : next_report();
  auto report = co_await std::move(first);
  if (!report && late) co_return tl::unexpected<Error>(not_built_within(kBuildLimit));
  if (!report) co_return tl::unexpected<Error>(ended_before_program());
  if (report->event != InitEvent::built)
    co_return tl::unexpected<Error>(failed_step(report->step, report->error, interpreter_of(language)));
  built_ = *report;
  build_ms_ = ms_since(start);
  co_return Result<>{};
}

// The first report of init, without the descriptor of the socket, which the jail owns.
Task<std::optional<InitReport>> Jail::report_after_network() {
  co_await control_.readable();
  InitReport report{};
  auto received = receive_message(control_.get(), &report, sizeof report, 1);
  if (!received || !received->open) co_return std::nullopt;
  if (report.event != InitEvent::network) co_return report;
  network_error_ = report.error;
  if (!received->fds.empty()) network_socket_ = std::move(received->fds.front());
  auto next = co_await next_report();
  co_return next;
}

Result<Fd> Jail::take_network_socket() {
  if (network_socket_) return std::move(network_socket_);
  return fail_errno(network_error_ == 0 ? EBADF : network_error_, "open a netlink socket in a jail", Code::unavailable);
}

Task<Result<std::unique_ptr<Jail>>> Jail::build_as(Host& host, Spec spec, Role role) {
  auto start = Monotonic::now();
  if (host.unfit && !spec.tests_host) co_return tl::unexpected<Error>(*host.unfit);
  CO_CHECKED(check_requirements(host, spec.isolation));
  CO_CHECKED(check_layers(host, spec));
  auto jail = std::unique_ptr<Jail>(new Jail(host));
  jail->listens_ = spec.listens;
  jail->layers_ = spec.layers;
  // Without mapped mounts, the runner must have the host id that owns the workspace on disk.
  jail->map_ids_ = host.identity == Identity::separated && host.map_workspace_ids;
  jail->shows_network_ = spec.tests_host && role == Role::jail;
  jail->ids_.identity = host.identity;
  jail->ids_.init = host.identity == Identity::separated ? host.ids.init() : host.daemon_uid;
  jail->ids_.runner = host.daemon_uid;
  if (jail->map_ids_) {
    jail->runner_id_ = host.runner_ids.take();
    if (!jail->runner_id_) co_return fail(Code::exhausted, "every host id of the jails' range is in use");
    jail->ids_.runner = jail->runner_id_.id();
  }
  CO_TRY(Fd plan, seal_plan(host, spec, role));
  CO_TRY(Ends ends, jail->prepare(spec));
  JailerClient::BuildFds fds{plan.get(),
                             ends.guest.theirs.get(),
                             ends.control.theirs.get(),
                             ends.out.theirs.get(),
                             ends.err.theirs.get(),
                             jail->cgroup_.directory()};
  CO_TRY(Fd pidfd, co_await host.jailer.build(fds, jail->ids_));
  CO_CHECKED(co_await jail->begin(std::move(ends), std::move(pidfd), spec.language, start));
  co_return jail;
}

Task<Result<std::unique_ptr<Jail>>> Jail::build(Host& host, Spec spec) {
  auto jail = co_await build_as(host, std::move(spec), Role::jail);
  co_return jail;
}

Task<Result<std::unique_ptr<Jail>>> Jail::build_home(Host& host, Spec spec) {
  auto jail = co_await build_as(host, std::move(spec), Role::zygote);
  co_return jail;
}

Task<Result<std::unique_ptr<Jail>>> Jail::fork(Host& host, std::shared_ptr<Zygote> zygote, Spec spec,
                                               JailPurpose purpose) {
  auto start = Monotonic::now();
  if (host.unfit && !spec.tests_host) co_return tl::unexpected<Error>(*host.unfit);
  CO_CHECKED(check_requirements(host, spec.isolation));
  auto jail = std::unique_ptr<Jail>(new Jail(host));
  jail->listens_ = spec.listens;
  const Jail& home = zygote->home();
  jail->ids_ = home.ids_;
  jail->map_ids_ = home.map_ids_;
  jail->zygote_ = zygote;
  jail->layers_ = home.layers_;
  CO_TRY(Ends ends, jail->prepare(spec));
  int go[2];
  if (::pipe2(go, O_CLOEXEC) < 0) co_return fail_errno(errno, "pipe");
  Fd go_read(go[0]), go_write(go[1]);
  JailerClient::ForkFds fds{zygote->fork_plan(),   ends.guest.theirs.get(), ends.control.theirs.get(),
                            ends.out.theirs.get(), ends.err.theirs.get(),   go_read.get()};
  CO_TRY(Fd pidfd, co_await zygote->orders().fork(fds, host.identity, purpose));
  // The fork starts in its zygote's cgroup, and is moved before it runs: only the daemon may write there.
  if (jail->cgroup_) CO_CHECKED(jail->cgroup_.take_process(pid_of(pidfd.get())));
  if (::write(go_write.get(), "g", 1) != 1) co_return fail_errno(errno, "start a fork", Code::unavailable);
  CO_CHECKED(co_await jail->begin(std::move(ends), std::move(pidfd), spec.language, start));
  co_return jail;
}

Jail::~Jail() {
  disk_use_.reset();
  kill();
  if (pidfd_ || cgroup_)
    host_.loop.spawn(
        reap(host_.loop, std::move(pidfd_), std::move(cgroup_), std::move(runner_id_), std::move(staging_)));
}

Task<Result<>> Jail::attach(WorkspaceMount workspace) {
  if (attached_) co_return Result<>{};
  JailerClient::Workspace order;
  order.directory = workspace.directory;
  order.owner_uid = host_.daemon_uid;
  order.owner_gid = host_.daemon_gid;
  order.map_ids = map_ids_;
  order.read_only = workspace.access == WorkspaceAccess::read_only;
  if (workspace.access == WorkspaceAccess::staged) {
    CO_TRY(staging_, co_await workspace.staging->make());
    order.staging = staging_->directory();
  }
  order.listens = listens_;
  CO_TRY(listener_, co_await host_.jailer.attach(pidfd_.get(), order, ids_.runner));
  attached_ = true;
  co_return Result<>{};
}

void Jail::use_disk(DiskAccount account) {
  if (!disk_use_ && pidfd_ && !killed_)
    disk_use_ = std::make_unique<DiskUse>(host_.disk_users, pidfd_.get(), std::move(account));
}

const Applied& Jail::applied() {
  if (!applied_) applied_ = applied_to(host_, *this);
  return *applied_;
}

void Jail::watch_lone_process() {
  if (!cgroup_ && !lone_process_) lone_process_ = LoneProcessFiles(init_pid_);
}

std::optional<LoneProcess> Jail::lone_process(Threads allowed) {
  watch_lone_process();
  return lone_process_.read(allowed);
}

Task<Result<>> Jail::wait_until_ready() {
  auto message = co_await guest_.receive();
  if (!message) co_return tl::unexpected<Error>(std::move(message).error());
  if (!message->has_value() || !take_ready(**message))
    co_return fail(Code::unavailable, "the interpreter ended, or sent another message, before it was ready");
  co_return Result<>{};
}

bool Jail::take_ready(const Json& message) {
  auto text = [&](const char* key) {
    auto it = message.find(key);
    return it != message.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  if (ready_ || text("type") != "ready") return false;
  auto cpu = message.find("cpu_us");
  ready_ = Ready{Monotonic::now(), cpu != message.end() && cpu->is_number_unsigned() ? cpu->get<uint64_t>() : 0};
  return true;
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
  const NamedWork named_work(LoopWork::jail);
  if (!pidfd_ || killed_) return;
  if (cgroup_) (void)cgroup_.kill();  // the order to the jailer follows in any case
  killed_ = host_.jailer.end(pidfd_.get());
}

void Jail::lower_priority(CodePriority& priority, const TreeUsage& usage) {
  if (cgroup_ || killed_ || !pidfd_) return;
  const bool same_id = ids_.runner == host_.daemon_uid;
  priority.inspect({init_pid_, pidfd_.get(), same_id ? nullptr : &host_.jailer}, usage);
}

Task<> Jail::exited() {
  if (pidfd_) co_await pidfd_.readable();
}

}  // namespace jail
