// LoginFiles: the tokens of all logins on the disk, one file each: state/upstream/logins/SERVER/OWNER.sealed, mode
// 0600. A file is sealed with a key that is derived from the daemon's master key (XChaCha20-Poly1305), and bound to its
// server and owner: a file that is moved to another name cannot be read. Files are written whole or not at all. Owner:
// a tenant's account, or empty for a server that all tenants share. Both names are of the kinds that the configuration
// and the policies accept, and so are names of files. Used by: logins.cc, on a worker thread: every function waits for
// the disk. Errors: denied (sealed with another key, or changed), those of base/path.h.
#pragma once
#include <array>
#include <map>
#include <string>
#include <utility>

#include "supervisor/base/fd.h"
#include "supervisor/upstream/oauth/tokens.h"

namespace oauth {

using SealKey = std::array<unsigned char, 32>;
using LoginName = std::pair<std::string, std::string>;  // server, owner

class LoginFiles {
 public:
  // `folder`: of the upstream servers (an O_PATH descriptor is enough). It must stay open.
  LoginFiles(int folder, const SealKey& key) : folder_(folder), key_(key) {}
  ~LoginFiles();
  LoginFiles(const LoginFiles&) = delete;

  // All logins. `problems`: a sentence for each file that cannot be read.
  Result<std::map<LoginName, Tokens>> read_all(std::vector<std::string>& problems) const;
  Result<> write(const LoginName& name, const Tokens& tokens) const;
  // No file is no error.
  Result<> remove(const LoginName& name) const;

 private:
  int folder_;
  SealKey key_;
};

}  // namespace oauth
