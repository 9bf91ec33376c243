// Jail: one single-use set of namespaces with an interpreter in it, from its first order to its last process.
// Source: Jail::build. Ends when it is destroyed, at the latest: killed, reaped and its cgroup removed off the caller's
// path. Used once, never reset.
#pragma once
#include <linux/filter.h>

#include <array>
#include <string>
#include <vector>

#include "jail/guest_channel.h"
#include "jail/host.h"
#include "jail/language.h"
#include "jail/plan.h"
#include "policies/policy.h"

namespace jail {

struct Spec {
  std::string name;  // of the cgroup leaf: [a-z0-9-]+, unique while it lives
  Language language = Language::python;
  std::vector<std::string> command;  // empty: the language's own
  policies::Limits limits;
  policies::Isolation isolation;
  std::map<std::string, std::string> environment;
  const policies::SeccompFilter* filter = nullptr;  // borrowed until build() returns
  uint32_t tenant_slot = 0;                         // separated identity: which of the range's runner ids
};

class Jail {
 public:
  // A finished jail whose interpreter is starting. Errors: unavailable, naming the step that failed; denied when the
  // policy requires what this host does not have, naming it (rule "isolation.<what>").
  static Task<Result<std::unique_ptr<Jail>>> build(Host& host, Spec spec);
  ~Jail();
  Jail(const Jail&) = delete;

  // Mounts the directory on /workspace. Errors: unavailable.
  Task<Result<>> attach(int directory);

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
  // The host's pid of init, for reading /proc; 0 when it is gone.
  int init_pid() const;

  const InitReport& built() const { return built_; }
  uint32_t runner_id() const { return ids_.runner; }
  JailerClient::Ids ids() const { return ids_; }
  double build_ms() const { return build_ms_; }

 private:
  explicit Jail(Host& host) : host_(host) {}
  Host& host_;
  JailerClient::Ids ids_;
  bool map_ids_ = false;
  AsyncFd pidfd_, control_, out_, err_;
  GuestChannel guest_;
  Cgroup cgroup_;
  InitReport built_{};
  double build_ms_ = 0;
};

}  // namespace jail
