// VaultLog: the file of a tenant's vault, tenants/<tenant>/vault/log. Used by: SealedVault.
// Between rewrites the log is only appended to. It has a header that proves the key, then records with `until`, token
// and text. Each record is sealed alone (XChaCha20-Poly1305, libsodium) and bound to this log. A torn record at the end
// is dropped: no settle() has reported it as written. Other damage loses the damaged records, and the next rewrite()
// renames the file to log.damaged. One thread at a time may use a VaultLog. append() and rewrite() wait for the disk:
// call them on a WorkerThread.
// Errors: denied (sealed with another key), internal and exhausted from the file system.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"
#include "supervisor/tenants/master_key.h"

namespace tenants {

// Plain-text records that will be written to the log. The destructor wipes their memory.
class VaultRecords {
 public:
  VaultRecords() = default;
  VaultRecords(VaultRecords&& other) noexcept;
  VaultRecords& operator=(VaultRecords&& other) noexcept;
  ~VaultRecords() { wipe(); }

  void add(std::string_view token, std::string_view text, std::chrono::sys_seconds until);
  // Reserves memory for `records` records with `bytes` of tokens and texts, so that add() does not copy earlier
  // records.
  void reserve(size_t records, size_t bytes);
  bool empty() const { return count_ == 0; }
  size_t sealed_bytes() const;  // size of the records in the log
  void for_each(const std::function<void(std::string_view plain)>& use) const;

 private:
  void make_room(size_t bytes);
  void wipe();
  std::string plain_;
  size_t count_ = 0;
};

class VaultLog {
 public:
  // Called for each record in the log, in the log's order.
  using TokenHandler =
      std::function<void(std::string_view token, std::string_view text, std::chrono::sys_seconds until)>;
  // `tenant` is the tenant's folder (an O_PATH descriptor is enough). The first rewrite() makes the file.
  static Result<std::shared_ptr<VaultLog>> open(int tenant, const VaultKeys::Key& seal, const TokenHandler& on_token);
  ~VaultLog();
  VaultLog(const VaultLog&) = delete;
  VaultLog& operator=(const VaultLog&) = delete;

  // The damage that open() found, as text; empty: no damage.
  const std::string& damage() const { return damage_; }
  // Whether the next write must be a rewrite() with all records: there is no good file, or `more_bytes` would make it
  // larger than twice its size after the last rewrite plus 1 MiB.
  bool is_to_be_rewritten(size_t more_bytes) const;
  // One write and one fdatasync(2). After a failure the log has to be rewritten.
  Result<> append(const VaultRecords& records);
  // Replaces the log by a new one with these records, in one step.
  Result<> rewrite(const VaultRecords& all);

 private:
  VaultLog(Fd folder, const VaultKeys::Key& seal) : folder_(std::move(folder)), seal_(seal) {}
  Result<> read(const TokenHandler& on_token);
  Result<> read_header(std::string_view log);
  size_t read_records(std::string_view log, size_t at, const TokenHandler& on_token);
  bool read_record(std::string_view sealed, const TokenHandler& on_token) const;
  std::string sealed(const VaultRecords& records, std::string_view header) const;

  Fd folder_;  // vault/
  VaultKeys::Key seal_;
  Fd log_;              // O_APPEND; empty: the log does not exist yet, is damaged, or a write failed
  std::string header_;  // of the current log
  uint64_t log_bytes_ = 0;
  uint64_t rewritten_bytes_ = 0;  // size of the log when it was last rewritten or read
  bool is_damaged_ = false;       // the file `log` is damaged and not renamed yet
  std::string damage_;
};

}  // namespace tenants
