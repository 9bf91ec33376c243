// PII tokens: names that replace personal data and reveal no part of the data. Code or agents that the policy allows
// can restore the data.
//   "mail ada@lovelace.org" <-> "mail [EMAIL_k3v7qd]"
// A token is keyed (BLAKE2b over type and text, per tenant): the same text has the same token, and without the key a
// token can neither be computed nor checked. Text that already looks like a token is replaced as well. So restoring
// gives back exactly the original text, and never the data of a forged token.
// Used by: supervisor/tools, supervisor/tenants/vault.h.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "policies/pii/detect.h"
#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"
#include "supervisor/base/work_meter.h"

namespace policies {

// PiiVault: maps the tokens of one tenant to their texts. MemoryVault loses the tokens when the process ends;
// supervisor/tenants/vault.h is a sealed vault on disk. find() and keep() may be called on any thread, the other
// functions only on the loop's.
class PiiVault {
 public:
  using Key = std::array<unsigned char, 32>;
  virtual ~PiiVault() = default;
  virtual const Key& key() const = 0;
  // The text of a token; empty if the token is unknown or expired.
  virtual std::optional<std::string> find(std::string_view token) = 0;
  // Stores a token, or extends its lifetime. false: the token stands for another text. Errors: exhausted.
  virtual Result<bool> keep(const std::string& token, std::string_view text) = 0;
  // The lifetime of all tokens that keep() stores from now on. Never waits for a job that uses the vault.
  virtual void set_lifetime(std::chrono::seconds lifetime) = 0;
  // Makes all stored tokens outlive the process, if this vault can do so. To be called before a client or program gets
  // the tokens. Waits without blocking the loop; the vault must outlive the task. Errors: exhausted, internal: tokens
  // stored since the last settle() may be lost.
  virtual Task<Result<>> settle() { co_return Result<>{}; }
};

struct VaultLimits {
  size_t tokens = 100'000;
  size_t bytes = 16 << 20;                   // of texts and tokens
  std::chrono::seconds lifetime{24 * 3600};  // counted from the last keep() of the token
};

class MemoryVault : public PiiVault {
 public:
  using Time = std::chrono::sys_seconds;          // retention time (supervisor/base/elapsed_clock.h)
  explicit MemoryVault(VaultLimits limits = {});  // with a random key
  MemoryVault(const Key& key, VaultLimits limits) : lifetime_(limits.lifetime), limits_(limits), key_(key) {}
  ~MemoryVault() override;  // wipes the key and the texts
  MemoryVault(const MemoryVault&) = delete;
  MemoryVault& operator=(const MemoryVault&) = delete;
  const Key& key() const override { return key_; }
  std::optional<std::string> find(std::string_view token) override;
  Result<bool> keep(const std::string& token, std::string_view text) override;
  void set_lifetime(std::chrono::seconds lifetime) override { lifetime_ = lifetime; }
  size_t size() const { return entries_.size(); }
  void forget_all();
  void pass_time_for_test(std::chrono::seconds by) { passed_ += by; }

 protected:
  struct Entry {
    std::string text;
    Time until;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;
  Time now() const;
  // While the caller holds mutex():
  // Stores a token until a given time. Errors: exhausted.
  Result<> put(const std::string& token, std::string_view text, Time until);
  Result<bool> keep_locked(const std::string& token, std::string_view text);
  void forget_expired();
  const Entries& entries() const { return entries_; }
  std::chrono::seconds lifetime() const { return lifetime_; }
  std::mutex& mutex() { return mutex_; }

 private:
  std::atomic<std::chrono::seconds> lifetime_;
  std::mutex mutex_;  // of all that follows, but the key
  VaultLimits limits_;
  Key key_{};
  Entries entries_;
  size_t bytes_ = 0;
  std::chrono::seconds passed_{0};
};

struct Sanitized {
  std::string text;
  std::map<std::string, std::string> tokens;   // the tokens in this text, and their texts
  std::map<std::string, std::string> escaped;  // tokens for text that only looked like a token
  std::vector<std::string> types;              // sorted: "credit_card", "email"
};

struct SanitizeOptions {
  // Handling of text that already looks like a token. escape: it is replaced by a new token, so that restoring is
  // exact. keep: tokens that the vault knows stay, so that twice sanitised text stays the same.
  enum class Tokens { escape, keep };
  Tokens tokens = Tokens::escape;
  std::vector<std::string> types;  // only these; empty: all types of the detector
};

// Sanitizer: sanitises one text in steps of about a millisecond, on any thread. All arguments must outlive it, and the
// text must not change.
class Sanitizer {
 public:
  Sanitizer(std::string_view text, const PiiDetector& detector, PiiVault& vault, const SanitizeOptions& options)
      : text_(text), vault_(vault), options_(options), scan_(text, detector, options.types) {}
  // Errors: exhausted.
  Result<PiiScan::Step> step();
  // After the last step. The vault knows all tokens of the text; the caller must call settle().
  Sanitized take();

 private:
  enum class Work { scan, tokens, replace };
  void find_tokens();
  Result<> replace(const PiiFinding& finding);

  std::string_view text_;
  PiiVault& vault_;
  const SanitizeOptions& options_;
  PiiScan scan_;
  Work work_ = Work::scan;
  std::vector<PiiFinding> tokens_, findings_;
  size_t at_ = 0;    // position in the text
  size_t next_ = 0;  // index in found_
  Sanitized clean_;
  std::set<std::string> types_;
};

// Runs a Sanitizer to its end. Errors: exhausted; those of the meter.
Result<Sanitized> sanitize(std::string_view text, const PiiDetector& detector, PiiVault& vault, WorkMeter& meter,
                           const SanitizeOptions& options = {});
// The number of tokens in the text, of any vault.
size_t count_tokens(std::string_view text);
// Replaces every token that the vault knows by its text, once; other tokens stay. Errors: exhausted: the result would
// have more than `max_bytes` (a short token may stand for a long text); those of the meter.
Result<std::string> restore(std::string_view text, PiiVault& vault, WorkMeter& meter, size_t max_bytes = 64 << 20);

// The same for all texts in a value. sanitize_value() also replaces names of members; tokens that the vault knows stay.
Result<> sanitize_value(Json& value, const PiiDetector& detector, PiiVault& vault, WorkMeter& meter);
Result<> restore_value(Json& value, PiiVault& vault, WorkMeter& meter, size_t max_bytes);

}  // namespace policies
