// Jail: one single-use set of namespaces with an interpreter in it, from its first order to its last process. Used
// once, never reset.
// Source: Jail::build, build_home and fork. Used by: jail/execution/execution.cc, jail/execution/running_execution.h,
// jail/pool/pool.h, jail/execution/session.cc, jail/zygote.h.
// Errors: build() and attach() name the step that failed (unavailable), or the wall that this host lacks (denied).
// The destructor ends the jail: it is killed, reaped and its cgroup removed while the caller continues.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jail/applied.h"
#include "jail/host.h"
#include "jail/init_report.h"
#include "jail/language.h"
#include "jail/plan_parts.h"
#include "jail/spec.h"
#include "jail/talk/guest_channel.h"
#include "jail/usage/code_priority.h"
#include "jail/usage/process_tree.h"
#include "jail/workspace_mount.h"
#include "policies/isolation.h"
#include "policies/limits.h"
#include "policies/package_layer.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/json/json_fwd.h"

namespace jail {

// The message that a runner sends once, before it can have seen any code.
struct Ready {
  Monotonic::time_point at;
  uint64_t cpu_us = 0;  // CPU time of the runner so far
};

// Errors: denied when the policy requires what this host does not have, naming it (rule "isolation.<what>").
Result<> check_requirements(const Host& host, const policies::Isolation& isolation);
// Errors: denied when the layers of the spec are missing, or cannot be mounted on this host (rule "layers").
Result<> check_layers(const Host& host, const Spec& spec);
// `own_bytes`: memory that init and the interpreter hold already. memory.max is the program's limit plus this.
CgroupLimits cgroup_limits_of(const policies::Limits& limits, uint64_t own_bytes);

class Zygote;

class Jail {
 public:
  // Builds a jail; its interpreter is still starting. Errors: unavailable, naming the step that failed; denied when the
  // policy requires what this host does not have, naming it (rule "isolation.<what>").
  static Task<Result<std::unique_ptr<Jail>>> build(Host& host, Spec spec);
  // Builds the home of a zygote (Role::zygote): runs spec.command with power over its own namespaces only.
  static Task<Result<std::unique_ptr<Jail>>> build_home(Host& host, Spec spec);
  // Like build(), but the interpreter is a fork of the zygote. The jail keeps the zygote.
  static Task<Result<std::unique_ptr<Jail>>> fork(Host& host, std::shared_ptr<Zygote> zygote, Spec spec,
                                                  JailPurpose purpose);
  ~Jail();
  Jail(const Jail&) = delete;

  // Mounts the workspace; returns at once if it is mounted already. Errors: unavailable, and those of
  // OverlayFolders::make().
  Task<Result<>> attach(WorkspaceMount workspace);
  // The jail's listener, after attach(); empty: its Spec has none.
  const Fd& listener() const { return listener_; }
  // Where the program's changes are; nullptr: the workspace is not staged.
  const std::shared_ptr<OverlayFolder>& staging() const { return staging_; }

  // From now on the jail is in Host::disk_users. After attach(); only the first call counts.
  void use_disk(DiskAccount account);
  // nullptr: use_disk() was not called, or the jail ends.
  DiskUse* disk_use() { return disk_use_.get(); }
  // The program has answered, and the jail ends soon: its files count no more.
  void stop_using_disk() { disk_use_.reset(); }

  // Waits for the runner's first message, `ready`. Errors: unavailable when the runner ends or sends another message.
  Task<Result<>> wait_until_ready();
  // Records that message. False if it is another message, or comes a second time.
  bool take_ready(const Json& message);
  const std::optional<Ready>& ready() const { return ready_; }

  // The next message of jail-init: `exited`, or `failed` when the interpreter could not be started. Empty when init
  // ended without a message (it was killed).
  Task<std::optional<InitReport>> next_report();
  // Ends every process. Returns at once; wait for the end with exited().
  void kill();
  // Lowers the priority of the jail's code; see CodePriority::inspect(). With a cgroup it does nothing: cpu.weight is
  // fair. `priority` is of the execution, the session or the server.
  void lower_priority(CodePriority& priority, const TreeUsage& usage);
  // Waits until every process of the jail is gone (pid_namespaces(7): init ends last).
  Task<> exited();

  GuestChannel& guest() { return guest_; }
  AsyncFd& out() { return out_; }
  AsyncFd& err() { return err_; }
  Cgroup& cgroup() { return cgroup_; }  // empty if there are no cgroups
  // For hosts without cgroups. Opens the files of /proc ahead of time; call it once the interpreter is ready.
  void watch_lone_process();
  std::optional<LoneProcess> lone_process(Threads allowed);
  // See LoneProcessFiles::own_cpu_us(). Empty without watch_lone_process().
  std::optional<uint64_t> lone_cpu_us() const { return lone_process_.own_cpu_us(); }
  // The host's pid of init, for reading /proc. Once init is gone, another process may get this number.
  int init_pid() const { return init_pid_; }

  const InitReport& built() const { return built_; }
  // The socket of view_network() for the network namespace of a jail with Spec::tests_host, once. Errors:
  // unavailable, with the reason why init could not open it.
  Result<Fd> take_network_socket();
  // The facts of the build, for receipts. Recorded at the first call.
  const Applied& applied();
  JailerClient::Ids ids() const { return ids_; }
  const policies::PackageLayers& layers() const { return layers_; }
  double build_ms() const { return build_ms_; }

 private:
  struct Ends;
  explicit Jail(Host& host) : host_(host) {}
  Result<Ends> prepare(const Spec& spec);
  Task<Result<>> begin(Ends ends, Fd pidfd, Language language, Monotonic::time_point start);
  Task<std::optional<InitReport>> report_after_network();
  static Task<Result<std::unique_ptr<Jail>>> build_as(Host& host, Spec spec, Role role);
  Host& host_;
  std::shared_ptr<Zygote> zygote_;
  std::shared_ptr<OverlayFolder> staging_;
  policies::PackageLayers layers_;  // owned, so that their files stay on disk while the jail lives
  JailerClient::Ids ids_;
  RunnerIds::Lease runner_id_;
  bool map_ids_ = false;
  bool attached_ = false, killed_ = false, listens_ = false;
  Fd listener_;
  int init_pid_ = 0;
  AsyncFd pidfd_, control_, out_, err_;
  GuestChannel guest_;
  Cgroup cgroup_;
  LoneProcessFiles lone_process_;
  bool shows_network_ = false;
  Fd network_socket_;
  int network_error_ = 0;  // errno of init
  InitReport built_{};
  std::optional<Applied> applied_;
  std::optional<Ready> ready_;
  double build_ms_ = 0;
  std::unique_ptr<DiskUse> disk_use_;
};

}  // namespace jail
