// Jail: one single-use set of namespaces with an interpreter in it, from its first order to its last process.
// Source: Jail::build. Ends when it is destroyed, at the latest: killed, reaped and its cgroup removed off the caller's
// path. Used once, never reset.
#pragma once
#include <linux/filter.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jail/applied.h"
#include "jail/guest_channel.h"
#include "jail/host.h"
#include "jail/language.h"
#include "jail/plan.h"
#include "jail/process_tree.h"
#include "policies/policy.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/json_fwd.h"

namespace jail {

struct Spec {
  std::string name;  // of the cgroup leaf: [a-z0-9-]+, unique while it lives
  Language language = Language::python;
  std::vector<std::string> command;  // empty: the language's own
  // What descriptor 3 is: packets of the guest protocol, or, for programs that know none, a stream of bytes
  // (guest().take_socket()).
  enum class Guest { packets, stream };
  Guest guest = Guest::packets;
  policies::Limits limits;
  policies::Isolation isolation;
  unsigned cpu_weight = 100;  // cpu.weight of the leaf, from birth: 1 to 10000
  std::map<std::string, std::string> environment;
  std::shared_ptr<const policies::SeccompFilter> filter;
  bool tests_host = false;  // of the self-test: built on a host that was found unfit, too
};

// How an execution came by its jail.
enum class Start {
  cold,  // built for it
  exec,  // built ahead, with an interpreter of its own
  fork,  // forked from its tenant's zygote
};
constexpr std::string_view start_name(Start start) {
  return start == Start::cold ? "cold" : start == Start::exec ? "exec" : "fork";
}

// What a runner says once, before it can have seen any code.
struct Ready {
  Monotonic::time_point at;
  uint64_t cpu_us = 0;  // CPU time of the runner so far
};

// How an execution came by its jail, for its receipt.
struct Origin {
  Start start = Start::cold;
  double waited_ms = 0;      // from ready to dispatch
  double zygote_age_ms = 0;  // fork: since the zygote was ready
};

// Errors: denied when the policy requires what this host does not have, naming it (rule "isolation.<what>").
Result<> check_requirements(const Host& host, const policies::Isolation& wanted);
// `own_bytes`: what init and interpreter hold already, granted on top of what the program may use.
CgroupLimits cgroup_limits_of(const policies::Limits& limits, uint64_t own_bytes);

class Zygote;

class Jail {
 public:
  // A finished jail whose interpreter is starting. Errors: unavailable, naming the step that failed; denied when the
  // policy requires what this host does not have, naming it (rule "isolation.<what>").
  static Task<Result<std::unique_ptr<Jail>>> build(Host& host, Spec spec);
  // The home of a zygote (Role::zygote): runs spec.command with power over its own namespaces only.
  static Task<Result<std::unique_ptr<Jail>>> build_home(Host& host, Spec spec);
  // As build(), but the interpreter is a fork of the zygote's. The zygote lives at least as long as the jail. `wanted`:
  // an execution waits for it.
  static Task<Result<std::unique_ptr<Jail>>> fork(Host& host, std::shared_ptr<Zygote> zygote, Spec spec, bool wanted);
  ~Jail();
  Jail(const Jail&) = delete;

  // Mounts the directory on /workspace; nothing when that was done. Errors: unavailable.
  Task<Result<>> attach(int directory);

  // Waits for the runner's first message, `ready`. Errors: unavailable when it ends, or says anything else.
  Task<Result<>> wait_until_ready();
  // Notes that message; false when it is none, or comes a second time.
  bool take_ready(const Json& message);
  const std::optional<Ready>& ready() const { return ready_; }

  // The next word of jail-init: `exited`, or `failed` when the interpreter could not be started; nothing when init
  // is gone without a word (killed).
  Task<std::optional<InitReport>> next_report();
  // Ends every process. Returns at once; gone() follows.
  void kill();
  // Waits until every process of the jail is gone (pid_namespaces(7): init ends last).
  Task<> gone();

  GuestChannel& guest() { return guest_; }
  AsyncFd& out() { return out_; }
  AsyncFd& err() { return err_; }
  Cgroup& cgroup() { return cgroup_; }  // empty where there is none
  // For where no cgroup counts. Opens what it reads ahead of time, once the interpreter is ready.
  void watch_lone_process();
  std::optional<LoneProcess> lone_process(Threads allowed);
  // The host's pid of init, for reading /proc. Once init is gone it may be another's.
  int init_pid() const { return init_pid_; }

  const InitReport& built() const { return built_; }
  // For receipts. Made when it is first asked for.
  const Applied& applied();
  JailerClient::Ids ids() const { return ids_; }
  double build_ms() const { return build_ms_; }

 private:
  struct Ends;
  explicit Jail(Host& host) : host_(host) {}
  Result<Ends> prepare(const Spec& spec);
  Task<Result<>> begin(Ends ends, Fd pidfd, Monotonic::time_point start);
  static Task<Result<std::unique_ptr<Jail>>> build_as(Host& host, Spec spec, Role role);
  Host& host_;
  std::shared_ptr<Zygote> zygote_;
  JailerClient::Ids ids_;
  RunnerIds::Lease runner_id_;
  bool map_ids_ = false;
  bool attached_ = false, killed_ = false;
  int init_pid_ = 0;
  AsyncFd pidfd_, control_, out_, err_;
  GuestChannel guest_;
  Cgroup cgroup_;
  LoneProcessFiles lone_process_;
  InitReport built_{};
  std::optional<Applied> applied_;
  std::optional<Ready> ready_;
  double build_ms_ = 0;
};

}  // namespace jail
