// Schema: the tables of the journal, in parts that their owners bring along. Each part counts its own versions; what
// it lacks is applied in one transaction at start. And what becomes of a file that is not ours, damaged, or of a later
// version: it is set aside under another name, never written to, never a reason not to start.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "supervisor/journal/database.h"

namespace journal {

// `steps[n]` brings the tables from version n to n + 1; steps that were released never change.
struct Part {
  std::string name;  // "executions"
  std::vector<const char*> steps;
};

// Errors: internal, a step fails; unavailable, the file knows later steps than we do.
Result<> migrate(Database& database, const std::vector<Part>& parts);

struct Opened {
  Database database;
  std::string set_aside;  // empty, or a sentence about the file that was there and where it is now
};
// The file at `path`, checked and migrated. Errors: the folder cannot be written, the disk is full.
Result<Opened> open_checked(const std::string& path, const std::vector<Part>& parts);

}  // namespace journal
