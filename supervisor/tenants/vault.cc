#include "supervisor/tenants/vault.h"

#include <sodium.h>

#include <utility>

namespace tenants {

Result<std::unique_ptr<SealedVault>> SealedVault::open(Loop& loop, WorkerThread& disk, int tenant, VaultKeys keys,
                                                       policies::VaultLimits limits) {
  std::unique_ptr<SealedVault> vault(new SealedVault(loop, disk, keys, limits));
  auto remember = [&vault](std::string_view token, std::string_view text, Time until) {
    // One too many for limits that were lowered is forgotten.
    if (until > vault->now()) (void)vault->put(std::string(token), text, until);
  };
  auto log = VaultLog::open(tenant, keys.seal, remember);
  sodium_memzero(&keys, sizeof keys);
  if (!log) return tl::unexpected<Error>(std::move(log).error().within("the vault for personal data"));
  vault->log_ = *std::move(log);
  vault->damage_ = vault->log_->damage();
  vault->forget_expired();
  if (!vault->damage_.empty()) {
    vault->is_unwritten_ = true;
    vault->tasks_.spawn(vault->write());
  }
  return vault;
}

Result<> SealedVault::keep(const std::string& token, std::string_view text) {
  const auto known = entries().find(token);
  if (known != entries().end() && known->second.text == text && known->second.until - now() > lifetime() * 7 / 8)
    return {};
  CHECKED(MemoryVault::keep(token, text));
  pending_.add(token, text, now() + lifetime());
  return {};
}

// A token that somebody else has just kept may be on its way: then its write is waited for, too.
Task<Result<>> SealedVault::settle() {
  const bool is_new = is_unwritten_ || !pending_.empty();
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
    const WorkerThread::Job job = next_write();
    is_on_thread_ = true;
    Result<> written = co_await disk_.run(job);
    is_on_thread_ = false;
    is_unwritten_ = !written;
    const Waiting answered = std::exchange(waiting_for_thread_, {});
    for (const auto& one : answered) {
      one->result = written;
      one->done.fire();
    }
  } while (!waiting_.empty());
  is_writing_ = false;
}

WorkerThread::Job SealedVault::next_write() {
  const bool all = is_unwritten_ || log_->is_to_be_rewritten(pending_.sealed_bytes());
  auto records = std::make_shared<VaultRecords>(std::exchange(pending_, {}));
  if (!all) return [log = log_, records] { return log->append(*records); };
  *records = {};  // all have them, too
  forget_expired();
  size_t bytes = 0;
  for (const auto& [token, entry] : entries()) bytes += token.size() + entry.text.size();
  records->reserve(entries().size(), bytes);
  for (const auto& [token, entry] : entries()) records->add(token, entry.text, entry.until);
  return [log = log_, records] { return log->rewrite(*records); };
}

}  // namespace tenants
