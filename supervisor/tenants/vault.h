// SealedVault: the texts that a tenant's PII tokens stand for, in a sealed log (vault_log.h), so that tokens survive a
// restart. Used by: supervisor/daemon/.
// A thread beside the loop writes the log. Each write takes all records that are pending when it begins, and all tasks
// that wait for these records share one fdatasync(2). A vault has one write at a time, so records reach the disk in
// their order.
// Errors: denied (sealed with another key), internal and exhausted from the file system.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "policies/pii/tokens.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/worker_thread.h"
#include "supervisor/tenants/vault_log.h"

namespace tenants {

class SealedVault : public policies::MemoryVault, public std::enable_shared_from_this<SealedVault> {
 public:
  // Reads the existing log, on the thread. `tenant` is the tenant's folder (an O_PATH descriptor is enough); open()
  // duplicates the descriptor. The loop and `disk` must outlive the vault. The first settle() makes a missing log.
  static Task<Result<std::shared_ptr<SealedVault>>> open(Loop& loop, WorkerThread& disk, int tenant, VaultKeys keys,
                                                         policies::VaultLimits limits = {});

  // Adds or renews a token. A known token with the same text is renewed, and written again, only after 1/8 of its
  // lifetime.
  Result<bool> keep(const std::string& token, std::string_view text) override;
  // Done when all tokens added so far are on the disk. After a failure, the next settle() writes all tokens again.
  Task<Result<>> settle() override;
  // The damage that open() found, as text; empty: no damage.
  const std::string& damage() const { return damage_; }

 private:
  struct Settling {  // one waiting call of settle()
    Result<> result;
    Event done;
  };
  using WaitingCalls = std::vector<std::shared_ptr<Settling>>;
  struct Opening;
  static Task<Result<std::shared_ptr<SealedVault>>> finish(std::shared_ptr<Opening> opening);
  SealedVault(Loop& loop, WorkerThread& disk, const VaultKeys& keys, policies::VaultLimits limits)
      : MemoryVault(keys.tokens, limits), disk_(disk), tasks_(loop) {}
  Task<> write();
  // Runs on the thread. `all`: writes all tokens, not only the pending ones.
  Result<> write_pending(bool all);

  WorkerThread& disk_;
  std::shared_ptr<VaultLog> log_;  // the thread's while it writes
  std::string damage_;
  VaultRecords pending_;  // by mutex(): records that the thread does not have yet
  std::atomic<bool> has_pending_{false};
  bool is_unwritten_ = false;        // the last write failed, or the log is damaged: the next write must be a rewrite
  bool is_writing_ = false;          // write() runs
  bool is_on_thread_ = false;        // write() runs, and waits for the thread
  WaitingCalls waiting_;             // calls that wait for the next write
  WaitingCalls waiting_for_thread_;  // calls that wait for the write on the thread
  Scope tasks_;                      // last: cancelled first
};

}  // namespace tenants
