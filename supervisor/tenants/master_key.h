// MasterKey: the daemon's one secret. Every tenant's keys are derived from it, and the sealed files in the state folder
// cannot be read without it.
// Used by: the vaults (vault.h), the logins at upstream servers (supervisor/upstream/oauth/).
// Source: the systemd credential "warder.key" if it exists, else <state>/master.key (0600, owned by the daemon's user
// or root), made at the first start. Either file holds 64 hexadecimal digits. The key is wiped when destroyed.
// Errors: invalid, the file holds no key, or other users can use master.key.
#pragma once
#include <array>
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

namespace tenants {

// Two independent keys: neither can be computed from the other.
struct VaultKeys {
  using Key = std::array<unsigned char, 32>;
  Key tokens;  // makes the names of tokens
  Key seal;    // seals the texts that the tokens stand for
};

class MasterKey {
 public:
  // `credentials`: $CREDENTIALS_DIRECTORY, or empty. `state`: the state folder's descriptor (O_PATH will do).
  static Result<MasterKey> load(int state, const std::string& credentials);
  MasterKey() = default;  // all zeros, until a key is moved into it
  MasterKey(MasterKey&& other) noexcept;
  MasterKey& operator=(MasterKey&& other) noexcept;
  ~MasterKey();

  VaultKeys of_vault(std::string_view tenant) const;
  // Seals the logins at upstream servers.
  VaultKeys::Key of_logins() const;

 private:
  std::array<unsigned char, 32> key_{};
};

}  // namespace tenants
