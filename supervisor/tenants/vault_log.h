// VaultLog: the file of a tenant's vault, tenants/<tenant>/vault/log. A log that is only appended to: a header that
// proves the key, then records, each sealed alone (XChaCha20-Poly1305, libsodium) and bound to this log: `until`,
// token, text. A torn record at its end is dropped, as it was never settled; other damage loses the records it hit, and
// the next rewrite() sets the file aside as log.damaged. One thread at a time uses it. append() and rewrite() wait for
// the disk: they belong on a WorkerThread. Errors: denied (sealed with another key), internal and exhausted as the file
// system says.
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

// Records on their way to the log, in the clear. Wiped when they are gone.
class VaultRecords {
 public:
  VaultRecords() = default;
  VaultRecords(VaultRecords&& other) noexcept;
  VaultRecords& operator=(VaultRecords&& other) noexcept;
  ~VaultRecords() { wipe(); }

  void add(std::string_view token, std::string_view text, std::chrono::sys_seconds until);
  // Room for records of that many bytes of tokens and texts, so that adding them copies nothing again.
  void reserve(size_t records, size_t bytes);
  bool empty() const { return count_ == 0; }
  size_t sealed_bytes() const;  // in the log
  void for_each(const std::function<void(std::string_view plain)>& use) const;

 private:
  void make_room(size_t bytes);
  void wipe();
  std::string plain_;
  size_t count_ = 0;
};

class VaultLog {
 public:
  // Called for each record that is there, in its order.
  using Found = std::function<void(std::string_view token, std::string_view text, std::chrono::sys_seconds until)>;
  // `tenant` is the tenant's folder (O_PATH will do). The file is made by the first rewrite().
  static Result<std::shared_ptr<VaultLog>> open(int tenant, const VaultKeys::Key& seal, const Found& found);
  ~VaultLog();
  VaultLog(const VaultLog&) = delete;
  VaultLog& operator=(const VaultLog&) = delete;

  // What open() found to be damaged; empty: nothing.
  const std::string& damage() const { return damage_; }
  // Whether the next records have to come with all others, by rewrite(): there is no good file, or it would have
  // doubled since it was last rewritten.
  bool is_to_be_rewritten(size_t more_bytes) const;
  // One write and one fdatasync(2). After a failure the log has to be rewritten.
  Result<> append(const VaultRecords& records);
  // A new log of these records, in the old one's place at once or not at all.
  Result<> rewrite(const VaultRecords& all);

 private:
  VaultLog(Fd folder, const VaultKeys::Key& seal) : folder_(std::move(folder)), seal_(seal) {}
  Result<> read(const Found& found);
  Result<> read_header(std::string_view log);
  size_t read_records(std::string_view log, size_t at, const Found& found);
  bool read_record(std::string_view sealed, const Found& found) const;
  std::string sealed(const VaultRecords& records, std::string_view header) const;

  Fd folder_;  // vault/
  VaultKeys::Key seal_;
  Fd log_;              // O_APPEND; none: not made yet, or not to be trusted any more
  std::string header_;  // of the log that is there
  uint64_t log_bytes_ = 0;
  uint64_t rewritten_bytes_ = 0;  // of the log when it was last rewritten or read
  bool is_damaged_ = false;       // and still in its place
  std::string damage_;
};

}  // namespace tenants
