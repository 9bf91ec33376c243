// SealedVault: what a tenant's tokens stand for, kept in a sealed log (vault_log.h) so that tokens survive a restart.
// The log is written on a thread beside the loop: all that were kept when a write begins go with it, and all who wait
// for one of them share its one fdatasync(2). One write of a vault at a time, so they reach the disk in their order.
// Errors: denied (sealed with another key), internal and exhausted as the file system says.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "policies/pii/tokens.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/worker_thread.h"
#include "supervisor/tenants/vault_log.h"

namespace tenants {

class SealedVault : public policies::MemoryVault {
 public:
  // Reads the log that is there, on the thread. `tenant` is the tenant's folder (O_PATH will do), of which it takes a
  // descriptor of its own; the loop and `disk` must outlive the vault. The log is made by the first settle().
  static Task<Result<std::unique_ptr<SealedVault>>> open(Loop& loop, WorkerThread& disk, int tenant, VaultKeys keys,
                                                         policies::VaultLimits limits = {});

  // A token that has an eighth of its lifetime behind it is renewed; before, nothing is written.
  Result<> keep(const std::string& token, std::string_view text) override;
  // What was kept so far is on the disk. After a failure the next one writes all again.
  Task<Result<>> settle() override;
  // What open() found to be damaged; empty: nothing.
  const std::string& damage() const { return damage_; }

 private:
  struct Settling {  // of one who waits
    Result<> result;
    Event done;
  };
  using Waiting = std::vector<std::shared_ptr<Settling>>;
  struct Opening;
  static Task<Result<std::unique_ptr<SealedVault>>> finish(std::shared_ptr<Opening> opening);
  SealedVault(Loop& loop, WorkerThread& disk, const VaultKeys& keys, policies::VaultLimits limits)
      : MemoryVault(keys.tokens, limits), disk_(disk), tasks_(loop) {}
  Task<> write();
  WorkerThread::Job next_write();

  WorkerThread& disk_;
  std::shared_ptr<VaultLog> log_;  // the thread's while it writes
  std::string damage_;
  VaultRecords pending_;       // kept, and not given to the thread
  bool is_unwritten_ = false;  // the last write failed, or the log was found damaged: all has to be written again
  bool is_writing_ = false;    // write() runs
  bool is_on_thread_ = false;  // ... and waits for the thread
  Waiting waiting_;            // for the next write
  Waiting waiting_for_thread_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace tenants
