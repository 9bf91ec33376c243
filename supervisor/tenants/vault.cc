#include "supervisor/tenants/vault.h"

#include <fcntl.h>
#include <sodium.h>

#include <utility>

namespace tenants {

// The data of open() on the thread. The job owns it, so it stays valid if the waiting task is cancelled.
struct SealedVault::Opening {
  std::shared_ptr<SealedVault> vault;
  Result<Fd> tenant;
  VaultKeys::Key seal;

  ~Opening() { sodium_memzero(seal.data(), seal.size()); }
  Result<> read() const {
    if (!tenant) return tl::unexpected<Error>(tenant.error());
    auto remember = [this](std::string_view token, std::string_view text, Time until) {
      // A token beyond the limits, which may have been lowered, is dropped.
      if (until > vault->now()) (void)vault->put(std::string(token), text, until);
    };
    std::lock_guard lock(vault->mutex());
    TRY(vault->log_, VaultLog::open(tenant->get(), seal, remember));
    vault->damage_ = vault->log_->damage();
    vault->forget_expired();
    return {};
  }
};

Task<Result<std::shared_ptr<SealedVault>>> SealedVault::open(Loop& loop, WorkerThread& disk, int tenant, VaultKeys keys,
                                                             policies::VaultLimits limits) {
  auto opening = std::make_shared<Opening>();
  opening->vault.reset(new SealedVault(loop, disk, keys, limits));
  opening->seal = keys.seal;
  sodium_memzero(&keys, sizeof keys);
  Fd own(::fcntl(tenant, F_DUPFD_CLOEXEC, 0));
  if (own) {
    opening->tenant = std::move(own);
  } else {
    opening->tenant = fail_errno(errno, "open the tenant's folder once more");
  }
  return finish(std::move(opening));
}

Task<Result<std::shared_ptr<SealedVault>>> SealedVault::finish(std::shared_ptr<Opening> opening) {
  const WorkerThread::Job job = [opening] { return opening->read(); };
  Result<> read = co_await opening->vault->disk_.run(job);
  if (!read) co_return tl::unexpected<Error>(std::move(read).error().within("the vault for personal data"));
  std::shared_ptr<SealedVault> vault = std::move(opening->vault);
  if (!vault->damage_.empty()) {
    vault->is_unwritten_ = true;
    vault->tasks_.spawn(vault->write());
  }
  co_return vault;
}

Result<bool> SealedVault::keep(const std::string& token, std::string_view text) {
  std::lock_guard lock(mutex());
  const auto it = entries().find(token);
  if (it != entries().end() && it->second.text == text && it->second.until - now() > lifetime() * 7 / 8) return true;
  TRY(const bool is_saved, keep_locked(token, text));
  if (!is_saved) return false;
  pending_.add(token, text, now() + lifetime());
  has_pending_ = true;
  return true;
}

// Another task may have added the same token, and the thread may be writing it now. Then settle() waits for that write.
Task<Result<>> SealedVault::settle() {
  const bool is_new = is_unwritten_ || has_pending_;
  if (!is_new && !is_on_thread_) co_return Result<>{};
  auto mine = std::make_shared<Settling>();
  (is_new ? waiting_ : waiting_for_thread_).push_back(mine);
  if (is_new && !is_writing_) tasks_.spawn(write());
  co_await mine->done;
  co_return mine->result;
}

Task<> SealedVault::write() {
  is_writing_ = true;
  do {
    waiting_for_thread_ = std::exchange(waiting_, {});
    // The vault owns this task, so the job must not own the vault.
    const WorkerThread::Job job = [weak = weak_from_this(), all = is_unwritten_]() -> Result<> {
      const auto vault = weak.lock();
      return vault ? vault->write_pending(all) : Result<>{};
    };
    is_on_thread_ = true;
    Result<> written = co_await disk_.run(job);
    is_on_thread_ = false;
    is_unwritten_ = !written;
    const WaitingCalls answered = std::exchange(waiting_for_thread_, {});
    for (const auto& item : answered) {
      item->result = written;
      item->done.fire();
    }
  } while (!waiting_.empty());
  is_writing_ = false;
}

Result<> SealedVault::write_pending(bool all) {
  VaultRecords records;
  {
    std::lock_guard lock(mutex());
    has_pending_ = false;
    records = std::exchange(pending_, {});
    all = all || log_->is_to_be_rewritten(records.sealed_bytes());
    if (all) {
      records = {};  // entries() includes these records
      forget_expired();
      size_t bytes = 0;
      for (const auto& [token, entry] : entries()) bytes += token.size() + entry.text.size();
      records.reserve(entries().size(), bytes);
      for (const auto& [token, entry] : entries()) records.add(token, entry.text, entry.until);
    }
  }
  return all ? log_->rewrite(records) : log_->append(records);
}

}  // namespace tenants
