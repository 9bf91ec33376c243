// Zygote: one warm interpreter of one tenant, from which that tenant's single-use jails are forked (jail/zygote/). It
// never runs a tenant's code and reads nothing but fork orders. What forks share is their address layout and hash seed,
// so no two tenants ever share a zygote.
// Source: Zygote::start. Used by: jail/pool.cc, Jail::fork. Ends with its last owner; its jails are owners.
#pragma once
#include <memory>

#include "jail/jail.h"
#include "jail/jailer_client.h"

namespace jail {

class Zygote {
 public:
  // Whether there are any of this language.
  static bool exists_for(Language language) { return language != Language::shell; }
  // `spec`: what its jails will be; its environment and filter are the zygote's and theirs. `modules`: Python modules
  // to load, where installed. One of JavaScript has proved by then that a copy of it runs a program right.
  // Errors: unavailable, naming the step, or that the interpreter ended before it was ready, or what the copy did.
  static Task<Result<std::shared_ptr<Zygote>>> start(Host& host, Spec spec, std::vector<std::string> modules);

  JailerClient& orders() { return *orders_; }
  Jail& home() { return *home_; }
  int fork_plan() const { return fork_plan_.get(); }  // of every jail of it
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
