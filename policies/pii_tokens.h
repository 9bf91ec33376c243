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
#include <string>
#include <string_view>
#include <vector>

#include "policies/pii_detect.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/result.h"

namespace policies {

// What the tokens of one tenant stand for. The vault in memory forgets with the process; one that is sealed on disk
// keeps this interface.
class PiiVault {
 public:
  using Key = std::array<unsigned char, 32>;
  virtual ~PiiVault() = default;
  virtual const Key& key() const = 0;
  // What the token stands for; nothing when it is unknown or expired.
  virtual std::optional<std::string> find(std::string_view token) = 0;
  // Remembers, or remembers for longer. Errors: exhausted.
  virtual Result<> keep(const std::string& token, std::string_view text) = 0;
};

struct VaultLimits {
  size_t tokens = 100'000;
  size_t bytes = 64 << 20;                   // of texts and tokens
  std::chrono::seconds lifetime{24 * 3600};  // after it was last kept
};

class MemoryVault : public PiiVault {
 public:
  explicit MemoryVault(VaultLimits limits = {});
  ~MemoryVault() override;  // wipes the key and the texts
  MemoryVault(const MemoryVault&) = delete;
  MemoryVault& operator=(const MemoryVault&) = delete;
  const Key& key() const override { return key_; }
  std::optional<std::string> find(std::string_view token) override;
  Result<> keep(const std::string& token, std::string_view text) override;
  size_t size() const { return entries_.size(); }
  void forget_all();
  void pass_time_for_test(std::chrono::seconds by) { passed_ += by; }

 private:
  struct Entry {
    std::string text;
    Monotonic::time_point until;
  };
  Monotonic::time_point now() const { return Monotonic::now() + passed_; }
  void forget_expired();
  VaultLimits limits_;
  Key key_{};
  std::map<std::string, Entry, std::less<>> entries_;
  size_t bytes_ = 0;
  std::chrono::seconds passed_{0};
};

struct Sanitized {
  std::string text;
  std::map<std::string, std::string> tokens;  // to what they stand for: what this text has of them
  std::vector<std::string> types;             // sorted: "credit_card", "email"
};

// All or nothing: on an error no token was made that the vault does not know. Errors: exhausted.
Result<Sanitized> sanitize(std::string_view text, const PiiDetector& detector, PiiVault& vault);
// Every token that the vault knows becomes its text, once; others stay as they are. Errors: exhausted: that would be
// more than `max_bytes` (a short token may stand for a long text).
Result<std::string> restore(std::string_view text, PiiVault& vault, size_t max_bytes = 64 << 20);

}  // namespace policies
