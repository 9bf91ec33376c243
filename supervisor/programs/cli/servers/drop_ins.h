// ServerDropIns: the files of warderd.json.d/ that `warder servers` writes, one for each upstream server:
// 50-server-NAME.json. An entry is checked by the daemon's own reader, together with all other files, before it is
// written.
// Source: the folder beside the configuration of the daemon (--config, /etc/warder/warderd.json, or the user's own).
// Used by: the commands of this folder. Errors: invalid: the configuration has a mistake already, or would have one;
// the name is taken; not_found: this command has not added that server; others of the file system.
#pragma once
#include <optional>
#include <string>

#include "supervisor/daemon/configuration/load.h"
#include "supervisor/programs/cli/admin/command.h"

namespace admin {

enum class NameConflict { refuse, replace };

class ServerDropIns {
 public:
  // Reads the configuration. It may have mistakes: problems().
  static ServerDropIns read(const ParsedCommand& command);

  const configuration::Invocation& invocation() const { return invocation_; }
  const Options& options() const { return options_; }  // of the keys without a mistake
  const configuration::ConfigurationDocument& document() const { return document_; }
  const std::vector<std::string>& problems() const { return notes_.problems; }
  // The main file of the configuration, absolute; it may be missing. Empty: this user has none.
  const std::string& main_file() const { return main_; }
  bool has(const std::string& name) const;
  std::string file_of(const std::string& name) const;

  // Checks the entry as warderd would read it. Returns the server.
  Result<upstream::ServerConfig> check(const std::string& name, const Json& entry, NameConflict on_conflict) const;
  // Writes the file in one step. A file with variables or headers can be read by root and the daemon only. Returns the
  // former text of the file, for restore().
  Result<std::optional<std::string>> write(const std::string& name, const Json& entry);
  // Removes the file. Returns its text. Errors: not_found, naming the file that sets the server; internal: the file is
  // not JSON, or has a key twice; denied: it has further servers.
  Result<std::string> remove(const std::string& name);
  // Undoes write() or remove(), after a reload that failed.
  Result<> restore(const std::string& name, const std::optional<std::string>& text);

 private:
  Result<> write_text(const std::string& name, const std::string& text);

  configuration::Invocation invocation_;
  configuration::ConfigurationDocument document_;
  configuration::Notes notes_;
  Options options_;
  std::string main_, folder_;
};

// The group of the daemon that root starts, for files that only root and the daemon may read. nullopt: this is not
// root.
Result<std::optional<gid_t>> daemon_group(const Options& options);
// Writes `text` to `path` in one step: a reader sees the old file or the whole new one. `group`: of the new file, if
// this is root. Errors: of the file system, naming the path.
Result<> replace_text_file(const std::string& path, const std::string& text, mode_t mode,
                           std::optional<gid_t> group = {});

}  // namespace admin
