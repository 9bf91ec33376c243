// Journal file: finds and opens a daemon's journal.db, read-only, for commands that need no daemon. The file belongs to
// the daemon's user and holds text of agents: its contents are not trusted.
// Used by: audit.cc, audit_entries.cc, history.cc. Errors: unavailable, with the remedy.
#pragma once
#include <string>

#include "supervisor/base/result.h"
#include "supervisor/records/journal/database.h"

namespace admin {

inline constexpr char kStandardState[] = "/var/lib/warder";

// The journal's file for `named`: a daemon's state folder, its journal folder, or the file itself.
std::string journal_file(const std::string& named);
// Opens the file and begins a transaction: later writes of a daemon are not seen.
Result<journal::Database> open_journal(const std::string& file);

}  // namespace admin
