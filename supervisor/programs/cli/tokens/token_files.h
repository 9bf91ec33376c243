// TokenFiles: the files of warderd.json.d/ that `warder token add` writes, one for each token: 50-token-NAME.json. Only
// root and the daemon can read them.
// Source: the configuration of the daemon, as ../servers/drop_ins.h reads it. Used by: the commands of this folder.
// Errors: invalid: the configuration has a mistake already; the name is taken or wrong; no rule fits the token;
// not_found: this command has not made that token; others of the file system.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "policies/store.h"
#include "supervisor/daemon/configuration/load.h"
#include "supervisor/programs/cli/servers/drop_ins.h"

namespace admin {

class TokenFiles {
 public:
  static Result<TokenFiles> read(const ParsedCommand& command);

  const ServerDropIns& configuration() const { return files_; }
  const std::vector<credentials::StoredToken>& tokens() const { return loaded_.options.tokens; }
  // The tenant and policy of that token. Errors: denied: no rule fits it.
  Result<policies::Assignment> assignment_of(const std::string& name) const;

  // Checks a new token, as the daemon would read it. Returns its tenant and policy.
  Result<policies::Assignment> check_new(const std::string& name, const Json& entry);
  Result<> write(const std::string& name, const Json& entry) const;
  Result<> remove(const std::string& name) const;
  std::string file_of(const std::string& name) const;

 private:
  explicit TokenFiles(ServerDropIns files) : files_(std::move(files)) {}
  bool has(const std::string& name) const;

  ServerDropIns files_;
  configuration::LoadedConfiguration loaded_;
};

}  // namespace admin
