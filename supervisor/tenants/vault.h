// SealedVault: what a tenant's tokens stand for, kept in tenants/<tenant>/vault/log so that tokens survive a restart.
// A log that is only appended to: a header that proves the key, then records, each sealed alone (XChaCha20-Poly1305,
// libsodium) and bound to this log: `until`, token, text. A torn record at its end is dropped, as it was never settled;
// other damage loses the records it hit and sets the file aside as log.damaged. Rewritten without what expired when it
// has doubled.
// Errors: denied (sealed with another key), internal and exhausted as the file system says.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "policies/pii_tokens.h"
#include "supervisor/base/fd.h"
#include "supervisor/tenants/master_key.h"

namespace tenants {

class SealedVault : public policies::MemoryVault {
 public:
  // `tenant` is the tenant's folder (O_PATH will do) and must stay open. The log is made by the first settle().
  static Result<std::unique_ptr<SealedVault>> open(int tenant, VaultKeys keys, policies::VaultLimits limits = {});
  ~SealedVault() override;

  // A token that has an eighth of its lifetime behind it is renewed; before, nothing is written.
  Result<> keep(const std::string& token, std::string_view text) override;
  // One write and one fdatasync(2), if something was kept. What fails is tried again the next time.
  Result<> settle() override;
  // What open() found to be damaged; empty: nothing.
  const std::string& damage() const { return damage_; }

 private:
  SealedVault(Fd folder, const VaultKeys& keys, policies::VaultLimits limits);
  Result<> load();
  Result<> read_header(std::string_view log);
  size_t read_records(std::string_view log, size_t at);
  bool read_record(std::string_view sealed);
  void append_record(std::string& to, const std::string& token, std::string_view text, Time until) const;
  Result<> append();
  Result<> rewrite();

  Fd folder_;  // vault/
  VaultKeys::Key seal_;
  Fd log_;               // O_APPEND; none: not made yet
  std::string header_;   // of the log that is there
  std::string pending_;  // sealed records that are not in the log
  uint64_t log_bytes_ = 0;
  uint64_t rewritten_bytes_ = 0;  // of the log when it was last rewritten or read
  std::string damage_;
};

}  // namespace tenants
