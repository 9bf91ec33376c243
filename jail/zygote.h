// Zygote: one warm interpreter of one tenant, from which that tenant's single-use jails are forked (jail/zygote/). It
// never runs a tenant's code, nor that of packages of layers, and reads only fork orders. Its forks have the same
// address layout and hash seed, so two tenants never share a zygote. Source: Zygote::start. Used by: jail/pool/pool.cc,
// Jail::fork. It ends with its last owner; its jails are owners.
#pragma once
#include <memory>

#include "jail/jail.h"
#include "jail/jailer_client/jailer_client.h"

namespace jail {

class Zygote {
 public:
  // True if the language has zygotes.
  static bool exists_for(Language language) { return language != Language::shell; }
  // `spec`: the spec of its jails; the zygote has the same environment and filter. `modules`: Python modules to load,
  // if installed in the host's /usr; empty for a spec with layers (jail/pool/pool.cc). Node's zygotes have proved by
  // then that a copy runs a program correctly. Errors: unavailable, naming the step, or that the interpreter ended
  // before it was ready, or what the copy did wrong.
  static Task<Result<std::shared_ptr<Zygote>>> start(Host& host, Spec spec, std::vector<std::string> modules);

  JailerClient& orders() { return *orders_; }
  Jail& home() { return *home_; }
  int fork_plan() const { return fork_plan_.get(); }  // the plan of all its jails
  bool alive() const { return *alive_; }
  Monotonic::time_point ready_at() const { return home_->ready()->at; }

 private:
  Zygote() = default;
  static Task<Result<>> prove(Host& host, std::shared_ptr<Zygote> zygote, Spec spec);
  std::unique_ptr<Jail> home_;
  Fd fork_plan_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<JailerClient> orders_;
};

}  // namespace jail
