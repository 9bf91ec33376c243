// Pool: finished jails that wait for their execution, so that the answer need not wait for one. Each holds an
// interpreter of its own, warm and locked down, or a fork of its tenant's zygote. Used once, never handed back.
// Source: Jail::build, off the caller's path; refilled when nothing runs, as many as demand asks for within the
// policy's bounds and one memory budget. Used by: jail/execution.cc. Running out is no error: take() gives nothing.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "jail/jail.h"
#include "jail/teardown_queue.h"

namespace jail {

class Pool {
 public:
  struct Limits {
    uint64_t memory_bytes = 0;  // of all waiting jails together, by what one of the same shelf is known to hold
    uint32_t processors = 1;    // executions that may run beside one another before refilling stops
  };
  struct Taken {
    std::unique_ptr<Jail> jail;
    Origin origin;
  };

  // The host must outlive the pool.
  Pool(Host& host, Limits limits);
  ~Pool();

  // Keeps rules.min_idle jails for such executions from now on, before anybody asked.
  void expect(const Spec& spec, const policies::PoolRules& rules);
  // A jail that waits and fits `spec` exactly, but for what can still be changed: the limits that a cgroup holds. When
  // none waits but the tenant has a zygote, a fork that is on its way. Nothing: build one.
  // `workspace`: the directory that forks, which serve one tenant, are given while they wait; borrowed.
  Task<std::optional<Taken>> take(std::string tenant, Spec spec, policies::PoolRules rules, int workspace);
  // Ends a used jail, which is nobody's to wait for.
  void retire(std::unique_ptr<Jail> jail, TeardownQueue::Left left) { used_.end(std::move(jail), left); }
  // Ends what waits; what is taken afterwards is built anew. For changed policies.
  void clear();

  // What waits now, by language.
  struct Stock {
    uint32_t jails = 0;
    uint32_t wanted = 0;
    uint32_t zygotes = 0;
    uint64_t bytes = 0;  // what they hold, as far as known
  };
  std::map<Language, Stock> stock() const;
  // What cannot be built ahead now, and why. Executions start nevertheless, in another way.
  std::set<std::string> troubles() const;

  // Held while an execution runs: the pool is not refilled at its cost.
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
  struct Waiting;
  struct Shelf;
  // An empty tenant: jails with an interpreter of their own, for anybody. Else: forks of that tenant's zygote.
  Shelf& shelf_of(const std::string& tenant, const Spec& spec, const policies::PoolRules& rules);
  std::optional<Taken> take_waiting(Shelf& shelf);
  std::optional<Taken> take_of_javascript(const std::string& tenant, Spec spec, const policies::PoolRules& rules);
  enum class For { stock, execution };
  Task<Result<std::unique_ptr<Jail>>> build(Shelf& shelf, For whom);
  Task<> start_zygote(std::string key);
  Shelf* neediest();
  bool affordable(const Shelf& shelf) const;
  Task<> keep_filled();
  Task<> add_one(std::string key);
  Task<> watch(std::string key, Waiting* waiting);
  Task<> discard(std::string key, const Waiting* waiting);
  static void back_off(Shelf& shelf, const Error& error);
  void tend();
  void wake();

  Host& host_;
  Limits limits_;
  uint32_t running_ = 0;
  uint64_t next_name_ = 0;
  uint64_t cleared_ = 0;  // times: what was begun before is not used afterwards
  std::map<std::string, Shelf> shelves_;
  Event* idle_ = nullptr;  // of the filler, while it has nothing to do
  TeardownQueue used_;
  Deadline tending_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace jail
