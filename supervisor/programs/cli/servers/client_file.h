// ClientFile: the servers in the configuration file of an MCP client, as entries for warderd, with what cannot work and
// why. Knows Claude Code (~/.claude.json, also its projects), Claude Desktop, Cursor, and VS Code (mcp.json with
// inputs, settings.json; comments are allowed there). Source: the user's file, read by the user who has it. The text is
// not trusted: it is bounded, and each entry is checked by warderd's own reader later. Used by: import.cc. Errors:
// invalid: the file has another form; others of the file system.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/result.h"

namespace admin {

struct ClientServer {
  std::string name;                    // as warderd allows it: [A-Za-z0-9_-]{1,48}
  std::string from;                    // "" or the project that has it
  Json entry;                          // for "servers" of warderd.json; variables are replaced by their values
  std::vector<std::string> obstacles;  // why it cannot work, each with its remedy; empty: it can
  std::vector<std::string> notes;      // what else an administrator should know
};

// Facts about this machine, so that tests can give their own.
struct ImportSurroundings {
  std::function<std::string(const std::string& variable, bool& is_set)> variable;
  // The real path of a program or file, if it exists; else empty. A name without a slash is looked up in PATH.
  std::function<std::string(const std::string& path)> real_path;
  // False: the file belongs to another user: the variables of that user are not known.
  bool own_file = true;
  // For a file of that user.
  static ImportSurroundings here(uid_t owner);
};

// Entries that are disabled are left out.
Result<std::vector<ClientServer>> read_client_servers(std::string_view text, const ImportSurroundings& surroundings);
struct ClientText {
  std::string text;
  uid_t owner = 0;  // the user who has the file
};
// Errors: exhausted: larger than 16 MiB; invalid: no regular file; denied: root named a path with a link.
Result<ClientText> read_client_text(const std::string& path);
// JSON with comments (// and /* */) and commas before a closing bracket, as JSON.
std::string without_comments(std::string_view text);

}  // namespace admin
