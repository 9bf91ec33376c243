// MasterKey: the daemon's one secret, of which every tenant's keys are made: what lies sealed in the state folder says
// nothing without it.
// Source: the systemd credential "warder.key" where there is one, else <state>/master.key (0600, the daemon's or
// root's), made at the first start. Either holds 64 hexadecimal digits. Wiped when destroyed. Errors: invalid: a file
// that is no key, or that others can read.
#pragma once
#include <array>
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

namespace tenants {

// Two keys that nobody can compute from one another.
struct VaultKeys {
  using Key = std::array<unsigned char, 32>;
  Key tokens;  // names of tokens
  Key seal;    // what they stand for
};

class MasterKey {
 public:
  // `credentials`: $CREDENTIALS_DIRECTORY, or empty. `state`: the state folder's descriptor (O_PATH will do).
  static Result<MasterKey> load(int state, const std::string& credentials);
  MasterKey() = default;  // holds no secret: to move one into
  MasterKey(MasterKey&& other) noexcept;
  MasterKey& operator=(MasterKey&& other) noexcept;
  ~MasterKey();

  VaultKeys of_vault(std::string_view tenant) const;

 private:
  std::array<unsigned char, 32> key_{};
};

}  // namespace tenants
