// Tokens: personal data replaced by names that tell nothing, and put back for whoever may see it.
//   "mail ada@lovelace.org" <-> "mail [EMAIL_k3v7qd]"
// A token is keyed (BLAKE2b over type and text, per tenant): the same text has the same token, nobody without the key
// can compute or check one. What already looks like a token is replaced as well, so that restoring gives back exactly
// what was there and never what a forged token happens to name.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "policies/pii/detect.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"

namespace policies {

// What the tokens of one tenant stand for. The vault in memory forgets with the process; supervisor/tenants/vault.h is
// one that is sealed on disk.
class PiiVault {
 public:
  using Key = std::array<unsigned char, 32>;
  virtual ~PiiVault() = default;
  virtual const Key& key() const = 0;
  // What the token stands for; nothing when it is unknown or expired.
  virtual std::optional<std::string> find(std::string_view token) = 0;
  // Remembers, or remembers for longer. Errors: exhausted.
  virtual Result<> keep(const std::string& token, std::string_view text) = 0;
  // How long what is kept from now on is remembered.
  virtual void set_lifetime(std::chrono::seconds lifetime) = 0;
  // What was kept so far outlives the process, if this vault can do that. Before tokens are given to anybody.
  // Waits without holding the loop; the vault must outlive the task. Errors: exhausted, internal: what was kept since
  // the last time may be forgotten.
  virtual Task<Result<>> settle() { co_return Result<>{}; }
};

struct VaultLimits {
  size_t tokens = 100'000;
  size_t bytes = 16 << 20;                   // of texts and tokens
  std::chrono::seconds lifetime{24 * 3600};  // after it was last kept
};

class MemoryVault : public PiiVault {
 public:
  using Time = std::chrono::sys_seconds;          // of the wall clock: a vault on disk outlives the others
  explicit MemoryVault(VaultLimits limits = {});  // with a random key
  MemoryVault(const Key& key, VaultLimits limits) : limits_(limits), key_(key) {}
  ~MemoryVault() override;  // wipes the key and the texts
  MemoryVault(const MemoryVault&) = delete;
  MemoryVault& operator=(const MemoryVault&) = delete;
  const Key& key() const override { return key_; }
  std::optional<std::string> find(std::string_view token) override;
  Result<> keep(const std::string& token, std::string_view text) override;
  void set_lifetime(std::chrono::seconds lifetime) override { limits_.lifetime = lifetime; }
  size_t size() const { return entries_.size(); }
  void forget_all();
  void pass_time_for_test(std::chrono::seconds by) { passed_ += by; }

 protected:
  struct Entry {
    std::string text;
    Time until;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;
  Time now() const { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()) + passed_; }
  // Remembers until then. Errors: exhausted.
  Result<> put(const std::string& token, std::string_view text, Time until);
  void forget_expired();
  const Entries& entries() const { return entries_; }
  std::chrono::seconds lifetime() const { return limits_.lifetime; }

 private:
  VaultLimits limits_;
  Key key_{};
  Entries entries_;
  size_t bytes_ = 0;
  std::chrono::seconds passed_{0};
};

struct Sanitized {
  std::string text;
  std::map<std::string, std::string> tokens;   // to what they stand for: what this text has of them
  std::map<std::string, std::string> escaped;  // tokens, to text that only looked like one
  std::vector<std::string> types;              // sorted: "credit_card", "email"
};

struct SanitizeOptions {
  // What is done with text that is a token already. escape: replaced by a token of its own, so that restoring is exact.
  // keep: those that the vault knows stay as they are, so that what was sanitised stays the same when it is again.
  enum class Tokens { escape, keep };
  Tokens tokens = Tokens::escape;
  std::vector<std::string> types;  // only these; empty: all that the detector looks for
};

// One text, sanitised in steps of about a millisecond. All that it is given must outlive it, and the text stay as it
// is.
class Sanitizer {
 public:
  Sanitizer(std::string_view text, const PiiDetector& detector, PiiVault& vault, const SanitizeOptions& options)
      : text_(text), vault_(vault), options_(options), scan_(text, detector, options.types) {}
  // Errors: exhausted.
  Result<PiiScan::Step> step();
  // After the last step. The vault knows all tokens of it; settle() is the caller's.
  Sanitized take();

 private:
  enum class Work { scan, tokens, replace };
  void look_for_tokens();
  Result<> replace(const PiiFinding& one);

  std::string_view text_;
  PiiVault& vault_;
  const SanitizeOptions& options_;
  PiiScan scan_;
  Work work_ = Work::scan;
  std::vector<PiiFinding> tokens_, found_;
  size_t at_ = 0;    // of the text
  size_t next_ = 0;  // of found_
  Sanitized clean_;
  std::set<std::string> types_;
};

// A Sanitizer, run to its end. Errors: exhausted.
Result<Sanitized> sanitize(std::string_view text, const PiiDetector& detector, PiiVault& vault,
                           const SanitizeOptions& options = {});
// Every token that the vault knows becomes its text, once; others stay as they are. Errors: exhausted: that would be
// more than `max_bytes` (a short token may stand for a long text).
Result<std::string> restore(std::string_view text, PiiVault& vault, size_t max_bytes = 64 << 20);

}  // namespace policies
