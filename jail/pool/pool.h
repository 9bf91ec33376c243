// Pool: finished jails that wait for an execution, so that the execution need not wait for a jail. Each holds its own
// interpreter, warm and locked down, or a fork of its tenant's zygote. A jail is used once and never returned.
// Source: Jail::build and Jail::fork. The pool is refilled when no execution runs, by demand, within the policy's
// bounds and one memory budget. Used by: jail/execution/execution.cc. An empty pool is no error: take() returns no
// jail.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "jail/host.h"
#include "jail/pool/teardown_queue.h"
#include "jail/spec.h"
#include "jail/workspace_mount.h"
#include "policies/pool_rules.h"

namespace jail {

class Jail;

class Pool {
 public:
  struct Limits {
    uint64_t memory_bytes = 0;  // of all waiting jails, estimated by known sizes of jails of the same kind
    uint32_t processors = 1;    // executions that may run at the same time before refilling stops
  };
  struct PooledJail {
    std::unique_ptr<Jail> jail;
    Origin origin;
  };

  // The host must outlive the pool.
  Pool(Host& host, Limits limits);
  ~Pool();

  // Keeps rules.min_idle jails for executions of this kind from now on, before the first request.
  void expect(const Spec& spec, const policies::PoolRules& rules);
  // A waiting jail that fits `spec` exactly; only the limits that a cgroup holds may differ, because they can still
  // change. If no jail waits but the tenant has a zygote: a new fork. Empty: the caller builds a jail. `workspace` is
  // attached to the tenant's forks while they wait; its directory is borrowed.
  Task<std::optional<PooledJail>> take(std::string tenant, Spec spec, policies::PoolRules rules,
                                       WorkspaceMount workspace);
  // Ends a used jail; the caller does not wait for its end.
  void retire(std::unique_ptr<Jail> jail, TeardownQueue::Remainder remaining);
  // Ends all waiting jails; later jails are built new. For changed policies.
  void clear();
  // Ends all waiting jails and zygotes, and builds others in their place, for the same kinds of execution. For what a
  // jail shows of the daemon: /servers.
  void renew();

  // The waiting jails, by language.
  struct Stock {
    uint32_t jails = 0;
    uint32_t wanted = 0;
    uint32_t zygotes = 0;
    uint64_t bytes = 0;            // memory that they hold, as far as known
    uint32_t starting = 0;         // jails and zygotes that are being built
    uint32_t fewest = 0, max = 0;  // bounds of `wanted`: the policies' min_idle and max_idle
  };
  std::map<Language, Stock> stock() const;
  // What cannot be built ahead of time now, and why. Executions still start, in another way.
  std::set<std::string> troubles() const;

  // An object of this type exists while an execution runs; the pool is then not refilled at the execution's cost.
  class Running {
   public:
    explicit Running(Pool& pool) : pool_(pool) { pool_.running_++; }
    ~Running() {
      pool_.running_--;
      pool_.wake();
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    Pool& pool_;
  };

 private:
  struct WaitingJail;
  struct Shelf;
  // An empty tenant: jails with an interpreter of their own, for any tenant. Else: forks of that tenant's zygote.
  Shelf& shelf_of(const std::string& tenant, const Spec& spec, const policies::PoolRules& rules,
                  WorkspaceAccess access);
  std::optional<PooledJail> take_waiting(Shelf& shelf);
  std::optional<PooledJail> take_of_javascript(const std::string& tenant, Spec spec, const policies::PoolRules& rules,
                                               WorkspaceAccess access);
  Task<Result<std::unique_ptr<Jail>>> build(Shelf& shelf, JailPurpose purpose);
  Task<> start_zygote(std::string key);
  Shelf* neediest();
  bool affordable(const Shelf& shelf) const;
  Task<> keep_filled();
  Task<> add_entry(std::string key);
  Task<> watch(std::string key, WaitingJail* waiting);
  Task<> discard(std::string key, const WaitingJail* waiting);
  static void back_off(Shelf& shelf, const Error& error);
  void tend();
  void wake();

  Host& host_;
  Limits limits_;
  uint32_t running_ = 0;
  uint64_t next_name_ = 0;
  std::string building_;  // key of the shelf that a jail or zygote is built for; empty: absent
  uint64_t cleared_ = 0;  // calls of clear() and renew(): a jail begun before the last call is not used
  std::map<std::string, Shelf> shelves_;
  Event* idle_ = nullptr;  // of the filler task, while it has no work
  TeardownQueue used_;
  Deadline tending_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace jail
